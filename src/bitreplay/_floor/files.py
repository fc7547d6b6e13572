"""Atomic files: one way of writing for everything that the package writes.

A file is written next to its destination under a temporary name and then moved there. A process killed in the middle
leaves the old file unchanged, and a `.part` file that names the process: it is removed once that process has ended, and
never before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bitreplay.errors import FullDiskError

# No room, no room for this user (unknown to Windows), no room for a file of this size.
FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
PART = ".part"  # ending of what is being written

Buffer = bytes | bytearray | memoryview

_HOST = re.sub(r"\W", "", platform.node())[:32] or "host"  # on a shared disk, processes of other machines write too
_PART_NAME = re.compile(rf"\.bitreplay-{_HOST}-(\d+)-[0-9a-f]+{re.escape(PART)}")


def write_bytes(path: str | os.PathLike[str], content: Buffer | Sequence[Buffer]) -> None:
    """Write a file, given in one or several pieces, whole or not at all.

    A link stays a link, and a file that was there keeps its permissions.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_bytes(f"{folder}/note", b"mug")
    ...     Path(folder, "note").read_bytes(), len(os.listdir(folder))
    (b'mug', 1)
    """
    target = Path(os.path.realpath(path))  # through links: what they point to is replaced, not they
    if target.is_dir() or not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {os.fspath(path)!r}: it must be a file in a folder that exists")
    temporary = part_beside(target)
    try:
        with naming_the_disk(target.parent), temporary.open("xb") as file:
            for piece in (content,) if isinstance(content, bytes | bytearray | memoryview) else content:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file as UTF-8, atomically."""
    write_bytes(path, text.encode())


def part_beside(target: Path) -> Path:
    """A temporary name next to a file or folder being made; it contains the process that makes it."""
    return target.with_name(f".bitreplay-{_HOST}-{os.getpid()}-{secrets.token_hex(6)}{PART}")


def remove_stray_parts(folder: Path) -> None:
    """Remove the parts, files and folders, that killed processes of this machine left in a folder."""
    for path in folder.glob(f".bitreplay-*{PART}"):
        named = _PART_NAME.fullmatch(path.name)
        if named is not None and not _lives(int(named[1])):
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def _lives(process: int) -> bool:
    if sys.platform == "win32":  # there signal 0 is Ctrl-C: nobody is asked, and what was left stays
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


@contextlib.contextmanager
def naming_the_disk(place: str | os.PathLike[str], advice: str = "") -> Iterator[None]:
    """Turn the system's word that a disk is full into an error that says which one, and what to do.

    `advice` is what helps besides making room.

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
    except FullDiskError:  # said already, where more was known
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
