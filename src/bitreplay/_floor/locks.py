"""One process at a time: a lock on a file, for folders that several processes may work in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from bitreplay.errors import InputError


@contextlib.contextmanager
def file_lock(lock: Path) -> Iterator[None]:
    """Wait until no other process holds the lock. The system gives it back even after a kill."""
    try:
        file = lock.open("w")
    except OSError as error:
        raise InputError(
            f"cannot write to {lock.parent} ({error.strerror}); "
            "if that is the cache, set $BITREPLAY_CACHE to a folder that can be written to"
        ) from None
    with file:
        _wait_for(file)
        yield  # closing the file gives the lock back


if sys.platform == "win32":  # by the documentation of msvcrt; never run

    def _wait_for(file: IO[Any]) -> None:
        import msvcrt

        while True:
            file.seek(0)
            with contextlib.suppress(OSError):  # it gives up after ten seconds
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                return

else:

    def _wait_for(file: IO[Any]) -> None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
