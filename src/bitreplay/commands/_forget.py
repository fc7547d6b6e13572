"""`bitreplay forget`: remove a class from a model's file."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from bitreplay.commands._models import existing, label_named, memory_of, read, write
from bitreplay.images import changing
from bitreplay.memory import BinaryMemory


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
    console.print(f"{target}: {len(memory_of(held))} classes left; forgotten in {1000 * seconds:.0f} ms")
