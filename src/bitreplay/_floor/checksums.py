"""Checksums of files by blocks: they say whether a file is as it was written, at three gigabytes a second.

They find damage, not malice: whoever can write into the cache can also write its checksums.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from pathlib import Path
from typing import Any

BLOCK = 2**20  # bytes per checksum: a damaged file is known as such at its first damaged block
SETTLED = 10**8  # nanoseconds: a file that changed this recently may change again within one tick of its clock

KEYS = {"description", "files"}, {"description", "files", "checksums"}  # of a note; up to 0.2.0 without the last

_intact: dict[str, tuple[object, ...]] = {}  # files that were read through, as they then were


def note_files(folder: Path) -> dict[str, Any]:
    """Sizes and checksums of all files in a folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "bits").write_bytes(b"mug")
    ...     _ = (folder / "note").write_text(json.dumps({"description": "", **note_files(folder)}))
    ...     before = files_are_as_noted(folder, "note")
    ...     _ = (folder / "bits").write_bytes(b"mub")
    ...     before, files_are_as_noted(folder, "note")
    (True, False)
    """
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        "files": {name: path.stat().st_size for name, path in files.items()},
        "checksums": {name: _checksums(path) for name, path in files.items()},
    }


def files_are_as_noted(folder: Path, note: str, *, verify: bool = True) -> bool:
    """Whether all files are there as a note in the folder says; without `verify` only their sizes are compared."""
    try:
        noted = json.loads((folder / note).read_bytes())
        sizes, checksums = noted["files"], noted.get("checksums", {})
        if set(noted) not in KEYS or ("checksums" in noted and set(sizes) != set(checksums)):
            return False
        if any((folder / name).stat().st_size != size for name, size in sizes.items()):
            return False
        return not verify or all(_is_intact(folder / name, expected) for name, expected in checksums.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _checksums(path: Path) -> str:
    """CRC-32 of each block of a file, eight hexadecimal digits each."""
    with path.open("rb") as file:
        return "".join(f"{zlib.crc32(block):08x}" for block in iter(lambda: file.read(BLOCK), b""))


def _is_intact(path: Path, expected: str) -> bool:
    """Whether a file has these checksums. A file that has not changed since it was last asked for is not read again."""
    stat = os.stat(path)
    state = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, expected)
    if _intact.get(str(path)) == state:
        return True
    at = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            if expected[at : at + 8] != f"{zlib.crc32(block):08x}":
                return False
            at += 8
    if at != len(expected):
        return False
    if time.time_ns() - stat.st_ctime_ns > SETTLED:
        _intact[str(path)] = state
    return True
