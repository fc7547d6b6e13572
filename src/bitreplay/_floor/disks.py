"""Full disks: whatever is written somewhere and finds no room says which disk that was."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator

from bitreplay.errors import FullDiskError

# No room, no room for this user (unknown to Windows), no room for a file of this size.
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


@contextlib.contextmanager
def naming_the_disk(place: str | os.PathLike[str], advice: str = "") -> Iterator[None]:
    """Turn the system's word that a disk is full into an error that says which one, and what to do.

    Parameters
    ----------
    place : path
        Where it is written to.
    advice : str
        What helps beside making room.

    Examples
    --------
    >>> with naming_the_disk("/large/cache"):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    ...
    bitreplay.errors.FullDiskError: cannot write to /large/cache: No space left on device; make room there
    """
    try:
        yield
    except FullDiskError:  # said already, by who knew best
        raise
    except OSError as error:
        if error.errno not in FULL:
            raise
        free = ""
        with contextlib.suppress(OSError):
            free = f" ({shutil.disk_usage(place).free / 1e6:,.1f} MB are free)"
        told = FullDiskError(
            f"cannot write to {os.fspath(place)}: {error.strerror}{free}; make room there{advice and f', or {advice}'}"
        )
        told.errno = error.errno  # for whoever catches it as the system's
        raise told from None
