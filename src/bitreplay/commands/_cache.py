"""`bitreplay cache`: what is cached to save time, and how to remove it."""

from __future__ import annotations

import time
from typing import Literal

from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from bitreplay import caches

Kind = Literal["datasets", "backbones", "features", "bits"]


def cache(
    action: Literal["list", "clean"] = "list", *, kind: Kind | None = None, older_than_days: float | None = None
) -> None:
    """List what is cached (decoded images, trained networks, features, bits), or remove it.

    Everything in the cache can be computed again; results of runs are not stored there.

    Parameters
    ----------
    action : {"list", "clean"}
        What to do: `bitreplay cache clean` removes entries.
    kind : {"datasets", "backbones", "features", "bits"}, optional
        Only this kind.
    older_than_days : float, optional
        Only entries that have not been used for this long.
    """
    console = Console()
    if action == "clean":
        freed = caches.clean(kind, older_than_days=older_than_days)
        console.print(
            f"removed {decimal(freed)} from {caches.cache_root()}", highlight=False, markup=False, soft_wrap=True
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("kind", "what", "size", "last used"):
        table.add_column(column, justify="right" if column == "size" else "left")
    total = 0
    for entry in caches.entries():
        idle = (time.time() - entry.last_used) / 86400
        if kind in (None, entry.kind) and idle >= (older_than_days or 0):
            total += entry.nbytes
            table.add_row(entry.kind, escape(entry.description), decimal(entry.nbytes), f"{idle:.1f} days ago")
    console.print(table)
    console.print(f"{decimal(total)} in {caches.cache_root()}", highlight=False, markup=False, soft_wrap=True)
