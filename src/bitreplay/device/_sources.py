"""Where the C sources of the library are."""

from __future__ import annotations

from pathlib import Path


def library_folder() -> Path:
    """The folder of the C library, for compiling it yourself.

    Examples
    --------
    >>> sorted(path.name for path in library_folder().glob("*.h"))
    ['bitreplay.h', 'bitreplay_internal.h']
    """
    return Path(__file__).parent / "c"
