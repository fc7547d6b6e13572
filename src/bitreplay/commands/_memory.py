"""`bitreplay memory`: show what a memory or classifier file holds; remove classes, merge files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bitreplay.classifier import GBMClassifier
from bitreplay.errors import FileFormatError, InputError
from bitreplay.memory import BinaryMemory, Label

__all__ = ["memory"]


def memory(
    file: Path,
    *,
    remove: list[str] | None = None,
    merge: list[Path] | None = None,
    output: Path | None = None,
) -> None:
    """Show what a memory holds; remove classes from it, or merge it with those of other devices.

    Parameters
    ----------
    file : Path
        A memory (`memory.safetensors`) or a saved classifier.
    remove : list of str, optional
        Classes to remove, with everything stored about them: `--remove mug cup`.
    merge : list of Path, optional
        Memory files made with the same encoder and thresholds.
    output : Path, optional
        Where to write the changed memory; required with `--remove` and `--merge`.
    """
    console = Console()
    held = _read(file)
    if (remove or merge) and output is None:
        raise InputError("--remove and --merge need --output FILE for the changed memory")
    for other in merge or []:
        held.merge(_read(other))
    for name in remove or []:
        held.remove(_label(name, held))

    console.print(held.summary(), highlight=False, markup=False)
    console.print(f"{held!r}: {held.size_bits:,} bits as the paper counts them", highlight=False, markup=False)
    if output is not None:
        held.save(output)
        console.print(f"written: {output}", highlight=False, markup=False, soft_wrap=True)


def _read(path: Path) -> BinaryMemory:
    """A memory, or the memory of a classifier."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        return BinaryMemory.load(path)
    except FileFormatError as error:
        try:
            held: BinaryMemory = GBMClassifier.load(path).memory_
        except FileFormatError:
            raise error from None
        return held


def _label(name: str, held: BinaryMemory) -> Label:
    """The label with this name: labels may be numbers, but the command line has only text."""
    for label in held.labels:
        if str(label) == name:
            return label
    raise InputError(f"the memory has no class {name!r}; it has {', '.join(map(str, held.labels))}")
