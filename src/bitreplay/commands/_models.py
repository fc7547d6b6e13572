"""Models in files, as several commands use them: of images, of features, or a bare memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bitreplay._floor.container import Tensors, read_file
from bitreplay._words import printable
from bitreplay.classifier import GBMClassifier
from bitreplay.data import images_below
from bitreplay.errors import InputError, UnknownClassError
from bitreplay.images import Learned, read_model, summary, write_model
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
