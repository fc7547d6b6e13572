"""One process at a time: a lock on a file, for folders that several processes may work in.

Alongside the flow images → features → bits → memory/head → class: expensive results are computed by one process, and
the others wait for it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from bitreplay.errors import InputError

__all__ = ["file_lock"]


@contextlib.contextmanager
def file_lock(lock: Path) -> Iterator[None]:
    """Wait until no other process holds the lock; if the system has no such locks, it does not wait."""
    try:
        file = lock.open("w")
    except OSError as error:
        raise InputError(
            f"cannot write to {lock.parent} ({error.strerror}); "
            "if that is the cache, set $BITREPLAY_CACHE to a folder that can be written to"
        ) from None
    with file:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)  # the system gives it back even after a kill
        yield
