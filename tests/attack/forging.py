"""Forged files: whatever stands in them, their checksum is right."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HUGE = (2 * 10**8, 10**12, 2**31, 2**63, 10**30, -5, -1, 0, 1, 2, 3)
ODD: tuple[Any, ...] = (
    *HUGE,
    *(None, True, "", "x", "thermometer", "\x1b[31m", "\ud800", [], {}, [[]], [1, 2], {"kind": "identity"}),
    *(0.5, -0.5, 1e308, 5e-324),
)
RAW = ("Infinity", "-Infinity", "NaN", "1e999", "[" * 2000, "1" * 5000)  # words that JSON's reader may take
DTYPES = {"BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "F16": 2, "BF16": 2, "F32": 4, "I32": 4, "F64": 8, "I64": 8}


Parts = tuple[dict[str, Any], dict[str, Any], dict[str, bytes]]


def take_apart(file: Path | bytes) -> Parts:
    """Content, description and bytes of the tensors of a file."""
    raw = file if isinstance(file, bytes) else file.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    content = json.loads(header.pop("__metadata__")["bitreplay"])
    header.pop("checksum")
    return content, header, {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}


def put_together(content: str, described: dict[str, Any], data: dict[str, bytes]) -> bytes:
    """A file of ours, with a right checksum."""
    header: dict[str, Any] = {"__metadata__": {"bitreplay": content}}
    at, blob = 0, b""
    for name, piece in {**data, "checksum": bytes(32)}.items():
        entry = {"dtype": "U8", "shape": [32]} if name == "checksum" else dict(described[name])
        header[name] = {**entry, "data_offsets": entry.get("forged_offsets", [at, at + len(piece)])}
        header[name].pop("forged_offsets", None)
        at, blob = at + len(piece), blob + piece
    text = json.dumps(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + blob
    digest = hashlib.sha256(whole).digest()
    return whole[:-32] + digest


def sealed(raw: bytes) -> bytes:
    """The same bytes with a right checksum, if they say where it is."""
    try:
        start = 8 + struct.unpack("<Q", raw[:8])[0]
        begin, end = (start + int(at) for at in json.loads(raw[8:start])["checksum"]["data_offsets"])
    except (struct.error, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return raw
    if not (start <= begin and end - begin == 32 and end <= len(raw)):
        return raw
    return raw[:begin] + hashlib.sha256(raw[:begin] + bytes(32) + raw[end:]).digest() + raw[end:]


def mutated(rng: np.random.Generator, raw: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Another file from this one, mostly with a right checksum.

    Half of them are forged; of the others `change` has altered the bytes of a tensor, the text of the description, or
    the whole.
    """
    try:
        content, described, data = take_apart(raw)
        what = rng.integers(16)
        if what < 8:
            return forge(rng, (content, described, data))
        if what < 12:
            name = list(described)[rng.integers(len(described))]
            data[name] = _same_length(change(data[name]), len(data[name])) if what < 11 else change(data[name])
            return put_together(json.dumps(content, ensure_ascii=False), described, data)
        if what < 14:
            text = change(json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass"))
            return put_together(text.decode("utf-8", "replace"), described, data)
    except Exception:  # what is no file of ours any more is changed as bytes
        pass
    changed = change(raw)
    return changed if rng.random() < 0.1 else sealed(changed)


def bytes_changed(rng: np.random.Generator, raw: bytes) -> bytes:
    """One to four bytes replaced, or a piece removed or doubled: where no fuzzer's own mutations are at hand."""
    changed = bytearray(raw)
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(len(changed) + 1))
        length = int(rng.integers(1, 9))
        what = rng.integers(4)
        if what < 2:
            changed[at : at + 1] = bytes([rng.integers(256)])
        elif what == 2:
            del changed[at : at + length]
        else:
            changed[at:at] = changed[at : at + length]
    return bytes(changed)


def _same_length(piece: bytes, length: int) -> bytes:
    return piece[:length] + bytes(max(0, length - len(piece)))


def forge(rng: np.random.Generator, original: Parts) -> bytes:
    """A file with one to three changes: values of its description, or shapes, kinds and content of tensors."""
    content = json.loads(json.dumps(original[0]))
    described, data = json.loads(json.dumps(original[1])), dict(original[2])
    raw: str | None = None
    for _ in range(rng.integers(1, 4)):
        what = rng.integers(8)
        if what < 5:
            holder, key = _somewhere(rng, content)
            if rng.random() < 0.1:
                holder[key], raw = "@raw@", str(rng.choice(RAW))
            elif rng.random() < 0.1 and isinstance(holder, dict):
                del holder[key]
            elif isinstance(holder[key], int) and rng.random() < 0.5:
                holder[key] = int(HUGE[rng.integers(len(HUGE))])
            else:
                holder[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])
        else:
            name = str(rng.choice(list(described)))
            if name in data:
                _change_tensor(rng, name, described, data)
    text = json.dumps(content, ensure_ascii=False)
    return put_together(text if raw is None else text.replace('"@raw@"', raw), described, data)


def _somewhere(rng: np.random.Generator, value: Any) -> tuple[Any, Any]:
    """A place in nested dictionaries and lists: its holder and its key."""
    holder, key = None, None
    while isinstance(value, dict | list) and value and (holder is None or rng.random() < 0.85):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        holder, key = value, keys[rng.integers(len(keys))]
        value = value[key]
    return holder, key


def _change_tensor(rng: np.random.Generator, name: str, described: dict[str, Any], data: dict[str, bytes]) -> None:
    entry, piece = described[name], data[name]
    what = rng.integers(7)
    if what == 0:
        del data[name]
    elif what == 1:
        entry["shape"] = [int(HUGE[rng.integers(len(HUGE))]) for _ in range(rng.integers(0, 4))]
    elif what == 2:  # a shape that fits the bytes
        size = DTYPES.get(entry["dtype"], 1)
        entry["shape"] = [[len(piece) // size], [1, len(piece) // size], [0, 10**9], [10**9, 0]][rng.integers(4)]
        if 0 in entry["shape"]:
            data[name] = b""
    elif what == 3:
        entry["dtype"] = str(rng.choice([*DTYPES, "F4", "C64"]))
    elif what == 4 and piece:  # NaN, infinity, or anything
        kinds = {"F32": [np.nan, np.inf, -np.inf, 0, -1]}
        values = np.frombuffer(piece, "<f4" if entry["dtype"] == "F32" and len(piece) % 4 == 0 else "u1").copy()
        choice = kinds["F32"][rng.integers(5)] if values.dtype.kind == "f" else rng.integers(256)
        values[rng.integers(len(values))] = choice
        data[name] = values.tobytes()
    elif what == 5:
        data[name] = piece[: rng.integers(len(piece) + 1)]
    else:
        entry["forged_offsets"] = [int(HUGE[rng.integers(len(HUGE))]) for _ in range(2)]
