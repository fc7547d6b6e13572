"""Models in files: `bitreplay show`, `forget` and `merge`, and what other commands need of them.

A file holds a model of images, a classifier of features, or a bare memory.
"""

from __future__ import annotations

import json as notation
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bitreplay._floor.container import Tensors, read_file
from bitreplay._words import printable
from bitreplay.classifier import GBMClassifier
from bitreplay.data import images_below
from bitreplay.errors import InputError, UnknownClassError
from bitreplay.images import Learned, changing, read_model, summary, write_model
from bitreplay.memory import BinaryMemory, Label

Model = tuple[Learned, Tensors] | GBMClassifier | BinaryMemory


def read(path: Path) -> Model:
    """Whatever model a file holds; of one of images with the encoder's weights, if they are in it."""
    content, _ = read_file(existing(path))
    if "images" in content:
        return read_model(path)
    return GBMClassifier.load(path) if "classifier" in content else BinaryMemory.load(path)


def existing(path: Path) -> Path:
    """The path of a model, if there is one."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; a model is one file, which `bitreplay learn` writes")
    if not path.exists():
        raise InputError(f"there is no model {path}; `bitreplay learn {path} FOLDER` creates one from photographs")
    return path


def counted(n: int, one: str, several: str) -> str:
    """A number of things: "1 class", "3 classes"."""
    return f"{n:,} {one if n == 1 else several}"


def write(path: Path, model: Model) -> None:
    """Write a model as it was read."""
    if isinstance(model, tuple):
        write_model(path, *model)
    else:
        model.save(path)


def memory_of(model: Model) -> BinaryMemory:
    """What a model stores of its classes."""
    if isinstance(model, BinaryMemory):
        return model
    memory: BinaryMemory = (model[0].classifier if isinstance(model, tuple) else model).memory_
    return memory


def table_of(model: Model) -> str:
    """The classes of a model and what it is made of, for people."""
    memory = memory_of(model)
    table = summary(model[0].describe()) if isinstance(model, tuple) else memory.summary()
    return f"{table}\n{memory!r}: {memory.size_bits:,} bits as the paper counts them"


def label_named(name: str, memory: BinaryMemory) -> Label:
    """The label with this name: labels may be numbers, but the command line has only text."""
    for label in memory.labels:
        if str(label) == name:
            return label
    known = printable(", ".join(map(str, memory.labels)), keep="")
    raise UnknownClassError(f"the model has no class {name!r}; it has {known or 'none'}")


def pictures_in(paths: Sequence[Path]) -> list[Path]:
    """Files as they are, and all images in folders."""
    files: list[Path] = []
    for path in paths:
        found = images_below(path) if path.is_dir() else [path]
        if not found:
            raise InputError(f"there are no images in {path}")
        if not path.exists():
            raise InputError(f"there is no file {path}")
        files += found
    return files


def show(model: Path, *, json: bool = False) -> None:
    """Show what a model holds: its classes, how many samples each had, bytes, the encoder, and when each was learned.

    Parameters
    ----------
    model : Path
        A model of images, a saved classifier, or a memory (`memory.safetensors`).
    json : bool
        The same as JSON.
    """
    held = read(model)
    if not json:
        whole = f"{table_of(held)}\nthe whole file: {model.stat().st_size:,} bytes"
        Console().print(whole, highlight=False, markup=False, soft_wrap=True)
        return
    memory = memory_of(held)
    classes = [{"name": label, "samples": memory.count(label)} for label in memory.labels]
    about = held[0].describe() if isinstance(held, tuple) else {"classes": classes, "bytes": memory.nbytes}
    print(notation.dumps(about, ensure_ascii=False, indent=1))


def forget(model: Path, classes: list[str], *, output: Path | None = None) -> None:
    """Remove classes from a model, with everything stored about them.

    Parameters
    ----------
    model : Path
        A model of images, a saved classifier, or a memory.
    classes : list of str
        Their names: `bitreplay forget shop.bitreplay mug`.
    output : Path, optional
        Where to write the changed model; by default it replaces the old one.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    target = model if output is None else output
    existing(model)  # before anything is made beside it
    with changing(target):
        begun = time.perf_counter()
        held = read(model)
        for name in classes:
            label = label_named(name, memory_of(held))
            if isinstance(held, BinaryMemory):
                held.remove(label)
            elif isinstance(held, tuple):
                held = held[0].forgotten(label), held[1]
            else:
                held.forget(label)
        write(target, held)
        seconds = time.perf_counter() - begun
    console.print(
        f"{target}: {counted(len(memory_of(held)), 'class', 'classes')} left; forgotten in {1000 * seconds:.0f} ms"
    )


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
