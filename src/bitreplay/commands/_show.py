"""`bitreplay show`: what a model's file holds."""

from __future__ import annotations

import json as notation
from pathlib import Path

from rich.console import Console

from bitreplay.commands._models import memory_of, read, table_of


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
        Console().print(table_of(held), highlight=False, markup=False, soft_wrap=True)
        return
    memory = memory_of(held)
    classes = [{"name": label, "samples": memory.count(label)} for label in memory.labels]
    about = held[0].describe() if isinstance(held, tuple) else {"classes": classes, "bytes": memory.nbytes}
    print(notation.dumps(about, ensure_ascii=False, indent=1))
