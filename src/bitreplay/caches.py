"""Caches: expensive results, kept in the user's cache directory under a hash of what determines them.

Decoded images, trained backbones, features and bits: an entry is a folder `<root>/<kind>/<key>`. It appears whole or
not at all, it may vanish at any time, and an entry that is incomplete or damaged (checksums tell) counts as absent.
Names outside `__all__` are for the package itself, which alone makes entries and finds them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitreplay._floor.checksums import files_are_as_noted, note_files
from bitreplay._floor.files import PART, naming_the_disk, part_beside, remove_stray_parts, write_text
from bitreplay._floor.locks import file_lock
from bitreplay.errors import InputError

__all__ = ["cache_root", "clean", "entries"]

META = "meta.json"  # written last: an entry without it is not complete
ADVICE = "set $BITREPLAY_CACHE to a folder on another disk; the same command goes on from here"
IDLE_DAYS = 1.0  # ours: a `.part` folder that nothing was written to for so long belongs to nobody


@dataclass(frozen=True)
class Entry:
    """One entry of the cache, as `bitreplay cache` lists it.

    Examples
    --------
    >>> entry = Entry("features", "4f2a", Path("features/4f2a"), 512, 0.0, "features of digits")
    >>> f"{entry.kind}, {entry.description}: {entry.nbytes} bytes"
    'features, features of digits: 512 bytes'
    """

    kind: str
    key: str
    path: Path
    nbytes: int
    last_used: float  # seconds since the epoch, as `time.time`
    description: str
    finished: bool = True


def cache_root() -> Path:
    """The folder of all caches: `$BITREPLAY_CACHE`, or `bitreplay` in the user's cache directory.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, BITREPLAY_CACHE="large_disk/bitreplay"):
    ...     cache_root() == Path.cwd() / "large_disk" / "bitreplay"
    True
    """
    override = os.environ.get("BITREPLAY_CACHE")
    if override:
        return Path(override).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "bitreplay"


def key(**what: Any) -> str:
    """A short hexadecimal hash of whatever determines an entry: numbers, text, lists and dicts of them.

    The order of the arguments does not matter; tuples and lists are equivalent, as are NumPy's numbers and Python's.

    Examples
    --------
    >>> key(dataset="digits", epochs=3) == key(epochs=3, dataset="digits")
    True
    >>> key(dataset="digits", epochs=3) == key(dataset="digits", epochs=4)
    False
    >>> len(key(dataset="digits"))
    20
    """
    try:
        canonical = json.dumps(what, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"the key of a cache entry is made of numbers, text, lists and dicts: {error}") from None
    return hashlib.sha256(canonical.encode()).hexdigest()[:20]


def folder(kind: str, key: str) -> Path:
    """Where the entry is, or would be; :func:`find` says whether it exists."""
    for name, value in (("kind", kind), ("key", key)):
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", value):
            raise InputError(f"{name} of a cache entry has letters, digits, '_', '-' and '.' only; got {value!r}")
    return cache_root() / kind / key


def find(kind: str, key: str, *, verify: bool = True) -> Path | None:
    """The entry's folder, then marked as used, if all files are as they were written; else it is removed with a word.

    Without `verify` only sizes are compared, for lists.
    """
    path = folder(kind, key)
    if not path.is_dir():
        return None
    judged = _identity(path)
    if not files_are_as_noted(path, META, verify=verify):
        if judged is not None and _identity(path) == judged:  # not removed or made again by another process meanwhile
            _discard(path)
            warnings.warn(f"{path} in the cache is damaged; it is removed and computed again", stacklevel=2)
        return None
    with contextlib.suppress(OSError):  # a cache that can only be read is still a cache
        os.utime(path / META)
    return path


@contextlib.contextmanager
def building(kind: str, key: str, description: str = "") -> Iterator[Path]:
    """Give a new folder to write into, and make it the entry when the block ends without an error.

    If another process finishes the same entry first, that one stays and this one is discarded: equal keys mean equal
    content. An entry that :func:`find` does not accept is replaced.

    For example::

        if find("features", key) is None:
            with building("features", key, "features of digits") as part:
                np.save(part / "features.npy", compute())
        features = np.load(folder("features", key) / "features.npy", mmap_mode="r")
    """
    target = folder(kind, key)
    temporary = part_beside(target)
    with naming_the_disk(cache_root(), ADVICE):
        try:
            temporary.mkdir(parents=True)
        except (FileExistsError, NotADirectoryError, PermissionError) as error:
            raise InputError(
                f"cannot write to {target.parent} ({error.strerror}); set $BITREPLAY_CACHE to a folder that can be"
            ) from None
    remove_stray_parts(target.parent)
    try:
        with naming_the_disk(cache_root(), ADVICE):
            yield temporary
            _finish(temporary, kind, key, description)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def resuming(kind: str, key: str, description: str = "") -> Iterator[Path | None]:
    """As :func:`building`, for long work that should resume where a killed process stopped.

    The folder is found again by the next process that asks for the same entry, and only one process at a time works in
    it; the others wait. Gives None if the entry exists, possibly made in the meantime.
    """
    target = folder(kind, key)
    if find(kind, key) is not None:  # without a lock: a whole entry can be used where nothing can be written
        yield None
        return
    working = target.with_name(f".{target.name}{PART}")
    with contextlib.suppress(OSError):  # the error below says it better
        target.parent.mkdir(parents=True, exist_ok=True)
    remove_stray_parts(target.parent)
    with naming_the_disk(cache_root(), ADVICE), file_lock(target.with_name(f".{target.name}.lock")):
        if find(kind, key) is not None:
            yield None
            return
        working.mkdir(exist_ok=True)
        yield working
        _finish(working, kind, key, description)


def _finish(temporary: Path, kind: str, key: str, description: str) -> None:
    """Record the files of an entry and move it into place."""
    (temporary / META).unlink(missing_ok=True)  # of a process that was killed just before it moved the folder
    write_text(temporary / META, json.dumps({"description": description, **note_files(temporary)}, indent=1))
    _move_into_place(temporary, folder(kind, key), kind, key)


def entries() -> list[Entry]:
    """Everything in the cache, including unfinished entries, by kind and most recently used first.

    Examples
    --------
    >>> import tempfile, unittest.mock
    >>> with tempfile.TemporaryDirectory() as root, unittest.mock.patch.dict(os.environ, BITREPLAY_CACHE=root):
    ...     with building("features", "4f2a", "features of digits") as part:
    ...         np.save(part / "features.npy", np.ones(3))
    ...     [(entry.kind, entry.description, entry.finished) for entry in entries()]
    [('features', 'features of digits', True)]
    """
    found = []
    root = cache_root()
    for path in sorted(root.glob("*/*")) if root.is_dir() else []:
        if path.is_dir():
            with contextlib.suppress(FileNotFoundError):  # cleaned by another process meanwhile
                found.append(_entry(path))
    return sorted(found, key=lambda entry: (entry.kind, -entry.last_used, entry.key))


def clean(kind: str | None = None, *, older_than_days: float | None = None, keys: Iterable[str] | None = None) -> int:
    """Remove entries, all of them or those that meet every condition given; returns the bytes freed.

    Folders that a process may still be building stay: those written to within the last day.

    Parameters
    ----------
    kind : str, optional
        Only entries of this kind.
    older_than_days : float, optional
        Only entries that have not been used for this long.
    keys : iterable of str, optional
        Only entries with these keys.

    Examples
    --------
    >>> import tempfile, unittest.mock
    >>> with tempfile.TemporaryDirectory() as root, unittest.mock.patch.dict(os.environ, BITREPLAY_CACHE=root):
    ...     with building("features", "4f2a", "features of digits") as part:
    ...         np.save(part / "features.npy", np.ones(3))
    ...     clean("datasets"), clean("features") > 0, entries()
    (0, True, [])
    """
    if older_than_days is not None and not older_than_days >= 0:
        raise InputError(f"older_than_days must be a number of days, 0 or more; got {older_than_days!r}")
    wanted = None if keys is None else set(keys)
    freed = 0
    for entry in entries():
        idle = (time.time() - entry.last_used) / 86400
        least = older_than_days or 0.0 if entry.finished else max(IDLE_DAYS, older_than_days or 0.0)
        if kind in (None, entry.kind) and idle >= least and (wanted is None or entry.key in wanted):
            freed += entry.nbytes if _discard(entry.path) else 0
    return freed


def _plain(value: Any) -> Any:
    """What JSON does not know: NumPy's numbers and arrays, and paths."""
    if isinstance(value, np.generic | np.ndarray | Path):
        return str(value) if isinstance(value, Path) else value.tolist()
    raise TypeError(f"{type(value).__name__} is none of them")


def _move_into_place(temporary: Path, target: Path, kind: str, key: str) -> None:
    for _ in range(3):
        with contextlib.suppress(OSError):  # there is something already
            temporary.rename(target)
            return
        if find(kind, key):  # another process was faster
            return
        _discard(target)
    raise OSError(f"cannot move a finished cache entry to {target}")


def _identity(path: Path) -> tuple[int, int] | None:
    """Which folder has this name now; None for none."""
    with contextlib.suppress(OSError):
        return path.stat().st_dev, path.stat().st_ino
    return None


def _discard(path: Path) -> bool:
    """Remove a folder; it is renamed first, so that no one finds half of it."""
    doomed = path if path.name.endswith(PART) else part_beside(path)
    try:
        if doomed != path:
            path.rename(doomed)
        shutil.rmtree(doomed)
    except OSError:
        return False
    return True


def _entry(path: Path) -> Entry:
    finished = not path.name.endswith(PART)
    description, last_used = "unfinished", path.stat().st_mtime
    files = [file.stat() for file in path.rglob("*") if file.is_file()]
    if finished:
        description = ""
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            description = str(json.loads((path / META).read_bytes())["description"])
            last_used = (path / META).stat().st_mtime
    else:
        last_used = max([last_used, *(file.st_mtime for file in files)])
    return Entry(
        path.parent.name, path.name, path, sum(file.st_size for file in files), last_used, description, finished
    )
