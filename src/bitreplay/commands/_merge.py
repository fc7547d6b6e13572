"""`bitreplay merge`: add what copies of a model learned elsewhere."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bitreplay.commands._models import Model, existing, memory_of, read, write
from bitreplay.errors import InputError
from bitreplay.images import changing


def merge(model: Path, others: list[Path], *, output: Path | None = None) -> None:
    """Add the classes of other models, which must have the same encoder and thresholds: copies that learned elsewhere.

    Parameters
    ----------
    model : Path
        A model of images, a saved classifier, or a memory.
    others : list of Path
        Others like it; of a class that several know, what each has seen is combined.
    output : Path, optional
        Where to write the changed model; by default it replaces the old one.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    target = model if output is None else output
    for path in (model, *others):
        existing(path)  # before anything is made beside it
    with changing(target):
        held = read(model)
        for path in others:
            held = _merged(held, read(path), path)
        write(target, held)
    console.print(f"{target}: {len(memory_of(held))} classes")


def _merged(held: Model, other: Model, path: Path) -> Model:
    if isinstance(held, tuple):
        if not isinstance(other, tuple):
            raise InputError(f"{path} is not a model of images: it does not say which encoder it was made with")
        return held[0].merged(other[0]), held[1]
    held.merge(memory_of(other))
    return held
