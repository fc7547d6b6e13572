"""Arrays in `.npy` files, written row by row in plain writes.

A memory map would be shorter. But it reserves nothing: when the disk is full, the system ends the process in the middle
of an assignment (SIGBUS), and no `try` can catch that. A plain write says that there is no room.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

CHUNK = 2**20  # bytes read at once


class RowWriter:
    """Appends rows to an array file; what was written so far can be noted, and gone on with after a kill.

    `stream` is open for writing and at its end; `checksum` is the CRC-32 of what is in it already.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.npy")
    ...     with RowWriter.begin(path, np.float32, (3, 2)) as rows:
    ...         rows.append(np.ones((2, 2)))
    ...         position = rows.position()
    ...     with RowWriter.go_on(path, position) as rows:  # perhaps in another process
    ...         rows.append(np.zeros((1, 2)))
    ...     np.load(path).tolist()
    [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, stream: BinaryIO, dtype: npt.DTypeLike, checksum: int = 0) -> None:
        self._stream, self._dtype, self._checksum = stream, np.dtype(dtype), checksum

    @classmethod
    def begin(cls, path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> RowWriter:
        """A new file for an array of this shape."""
        stream = path.open("w+b")
        header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
        try:
            np.lib.format.write_array_header_1_0(stream, header)
            stream.flush()
            stream.seek(0)
            return cls(stream, dtype, zlib.crc32(stream.read()))
        except BaseException:
            with contextlib.suppress(OSError):  # it tries once more to write what did not fit
                stream.close()
            raise

    @classmethod
    def go_on(cls, path: Path, position: tuple[int, int]) -> RowWriter:
        """The file as it was at a noted position; ValueError where its content has changed since."""
        length, expected = position
        stream = path.open("r+b")
        try:
            checksum, left = 0, length
            while left > 0 and (part := stream.read(min(CHUNK, left))):
                checksum, left = zlib.crc32(part, checksum), left - len(part)
            if left or checksum != expected:
                raise ValueError("it is not as it was noted")
            stream.truncate(length)  # what was written after the note may be half a row
            stream.seek(0)
            np.lib.format.read_magic(stream)
            dtype = np.lib.format.read_array_header_1_0(stream)[2]
            stream.seek(length)
        except BaseException:
            stream.close()
            raise
        return cls(stream, dtype, checksum)

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Write further rows."""
        content = np.ascontiguousarray(rows, dtype=self._dtype).reshape(-1).view(np.uint8).data
        self._stream.write(content)
        self._checksum = zlib.crc32(content, self._checksum)

    def position(self) -> tuple[int, int]:
        """How far it is, on the disk: bytes, and their CRC-32."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return self._stream.tell(), self._checksum

    def __enter__(self) -> RowWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()  # which writes what is left, and says if there was no room for it


def write_array(path: Path, array: npt.NDArray[Any]) -> None:
    """As ``np.save``, which on a full disk does not say that it is full."""
    with RowWriter.begin(path, array.dtype, array.shape) as rows:
        rows.append(array)
