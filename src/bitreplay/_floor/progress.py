"""A progress bar on the terminal while images are decoded or encoded, if rich is installed and there is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Give a function to be called with the additional work done; a total of 0 is one that is not known."""
    if not shown or not sys.stderr.isatty():
        yield _ignore
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _ignore
        return
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total or None)
        yield lambda done: bar.advance(task, done)


def _ignore(done: int) -> None:
    """Show nothing."""
