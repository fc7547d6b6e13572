"""The file of a memory or a classifier: safetensors with a checksum, written atomically.

`docs/format.md` describes every byte. Reading never executes anything: tensors and JSON only. Any defect of a file
raises a `FileFormatError` before anything is built from it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from bitreplay._floor.files import write_bytes
from bitreplay.errors import FileFormatError

FORMAT_VERSION = 1
KEY = "bitreplay"  # the one metadata entry of the file: JSON
CHECKSUM = "checksum"  # the tensor with the SHA-256 of the file, taken with these 32 bytes zero

LONGEST_HEADER = 100_000_000  # bytes; safetensors' own limit
MOST_AXES = 8  # ours: no tensor of ours has more than four
DTYPES = {  # those of safetensors that NumPy has; all are little-endian
    "BOOL": "?",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    **{f"{kind}{8 * size}": f"<{kind.lower()}{size}" for kind in "IU" for size in (1, 2, 4, 8)},
}

Tensors = dict[str, npt.NDArray[Any]]


def write_file(path: str | os.PathLike[str], kind: str, content: Mapping[str, Any], tensors: Tensors) -> None:
    """Write tensors and JSON content to `path`, atomically.

    Examples
    --------
    >>> import tempfile
    >>> from bitreplay._floor.container import read_file, write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(f"{folder}/sensor", "sensor", {"place": "left"}, {"offsets": np.array([3, 1, 2])})
    ...     content, tensors = read_file(f"{folder}/sensor")
    >>> content["kind"], content["place"], tensors["offsets"]
    ('sensor', 'left', array([3, 1, 2]))
    """
    description = json.dumps(
        {"kind": kind, "format_version": FORMAT_VERSION, **content},
        separators=(",", ":"),
        allow_nan=False,
        ensure_ascii=False,  # safetensors would escape the escapes: seven bytes for a letter of two
        default=_plain,
    )
    blank = {**tensors, CHECKSUM: np.zeros(32, dtype=np.uint8)}
    raw = memoryview(safetensors.numpy.save(blank, metadata={KEY: description}))
    begin, end = _checksum_span(_header(raw), raw)
    write_bytes(path, (raw[:begin], hashlib.sha256(raw).digest(), raw[end:]))


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Read a file written by :func:`write_file`: its JSON content (with `kind`) and its tensors."""
    with Path(path).open("rb") as file:
        room = memoryview(bytearray(os.fstat(file.fileno()).st_size))  # tensors are views of it, and may be written to
        raw = room[: file.readinto(room)]
    name = os.fspath(path)
    try:
        header = _header(raw)
        content = _json(header["__metadata__"][KEY])
        version = content["format_version"]
    except (KeyError, TypeError, ValueError, IndexError, RecursionError):
        raise FileFormatError(f"{name} is not a bitreplay file, or its beginning is damaged") from None
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise FileFormatError(f"{name} is not a bitreplay file: its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise FileFormatError(
            f"{name} has format version {version}, but this bitreplay reads up to {FORMAT_VERSION}: please upgrade it"
        )
    try:
        begin, end = _checksum_span(header, raw)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FileFormatError(f"{name} is damaged: its checksum is missing") from None
    digest = hashlib.sha256(raw[:begin])  # piece by piece: a copy of the file would double what reading it takes
    digest.update(bytes(32))
    digest.update(raw[end:])
    if digest.digest() != raw[begin:end]:
        raise FileFormatError(f"{name} is truncated or altered: its checksum does not match its content")
    try:
        tensors = _tensors(header, raw)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FileFormatError(f"{name} is not a valid safetensors file: {error}") from None
    del tensors[CHECKSUM]
    return content, tensors


def _plain(value: Any) -> Any:
    """What JSON does not know: numbers of NumPy, which options from a grid of parameters are."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written to a file")


def _json(text: str | bytes | memoryview) -> Any:
    """JSON as the standard has it: Python would also read NaN, Infinity, other encodings and halves of characters."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not a number of JSON")

    words = text if isinstance(text, str) else str(text, "utf-8")
    value = json.loads(words, parse_constant=refuse)
    if "\\ud" in words or "\\uD" in words:  # half of a character could not be written again
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _header(raw: memoryview) -> dict[str, Any]:
    """The JSON header that opens every safetensors file: its length in 8 bytes, then itself."""
    length = int.from_bytes(raw[:8], "little")
    if not 0 < length <= min(len(raw) - 8, LONGEST_HEADER):
        raise ValueError("header longer than the file")
    header = _json(raw[8 : 8 + length])
    if not isinstance(header, dict):
        raise TypeError("header is not an object")
    return header


def _tensors(header: Mapping[str, Any], raw: memoryview) -> Tensors:
    """All tensors, as views of the file's bytes: each where it says, as large as its shape, and none upon another."""
    data = raw[8 + int.from_bytes(raw[:8], "little") :]
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    tensors, expected = {}, 0
    for name, entry in sorted(entries.items(), key=lambda item: tuple(map(int, item[1]["data_offsets"]))):
        shape, dtype = entry["shape"], np.dtype(DTYPES[entry["dtype"]])
        begin, end = entry["data_offsets"]
        if not all(type(number) is int and number >= 0 for number in (*shape, begin, end)) or len(shape) > MOST_AXES:
            raise ValueError(f"the tensor {name!r} has no shape or place")
        if begin != expected or end - begin != math.prod(shape) * dtype.itemsize or end > len(data):
            raise ValueError(f"the tensor {name!r} does not lie where it says")
        array = np.frombuffer(data[begin:end], dtype=dtype).reshape(shape)
        tensors[name] = array if array.flags.aligned else array.copy()
        expected = end
    if expected != len(data):
        raise ValueError("bytes that belong to no tensor")
    return tensors


def _checksum_span(header: Mapping[str, Any], raw: memoryview) -> tuple[int, int]:
    """Where in the file the 32 bytes of the checksum are."""
    entry = header[CHECKSUM]
    data = 8 + int.from_bytes(raw[:8], "little")
    begin, end = (data + int(offset) for offset in entry["data_offsets"])
    if entry["dtype"] != "U8" or end - begin != 32 or not data <= begin <= end <= len(raw):
        raise ValueError("no such 32 bytes")
    return begin, end
