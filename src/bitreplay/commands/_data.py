"""`bitreplay data`: which data sets are available, and where to get the others."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bitreplay._words import printable
from bitreplay.data import available


def data() -> None:
    """List the data sets that can be used, where they are, and how to get the others."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("name", "classes", "samples", "where", "how to get it"):
        table.add_column(column, justify="right" if column in ("classes", "samples") else "left", overflow="fold")
    for entry in available():
        numbers = ["" if value is None else f"{value:,}" for value in (entry.classes, entry.samples)]
        where = escape(printable(entry.where)) if entry.where else "[dim]not here[/dim]"
        table.add_row(escape(printable(entry.name)), *numbers, where, escape(entry.how))
    console = Console()
    console.print(table)
    console.print("Any folder of images works too: --dataset FOLDER, with one subfolder per class.")
