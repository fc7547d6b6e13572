"""Numbers as C: constant arrays that the linker puts into flash."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError

__all__ = ["array", "comment", "is_name", "text"]

WIDTH = 116
TYPES = {np.dtype(kind): f"{kind}_t" for kind in ("int8", "uint8", "int16", "uint16", "int32", "uint32")}


def array(name: str, values: npt.NDArray[Any], *, static: bool = True) -> str:
    """A constant array.

    Examples
    --------
    >>> print(array("limits", np.array([3, -1], dtype=np.int16)))
    static const int16_t limits[2] = {
        3, -1,
    };
    <BLANKLINE>
    """
    flat = np.asarray(values).reshape(-1)
    flat = flat if flat.size else np.zeros(1, flat.dtype)  # C has no arrays of nothing
    if flat.dtype == np.float32:
        kind, cells = "float", [f"{float(value).hex()}f" for value in flat]  # exact
    elif flat.dtype == np.uint32:
        kind, cells = "uint32_t", [f"0x{value:X}u" for value in flat.tolist()]
    elif flat.dtype == np.int32:  # -2147483648 is no number in C, but a minus and one that is too large
        kind, cells = "int32_t", [str(value) if value > -(2**31) else "INT32_MIN" for value in flat.tolist()]
    else:
        kind, cells = TYPES[flat.dtype], [str(value) for value in flat.tolist()]
    body = textwrap.fill(", ".join(cells) + ",", WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f"{'static ' if static else ''}const {kind} {name}[{len(cells)}] = {{\n{body}\n}};\n"


def text(value: str) -> str:
    r"""A string literal of ASCII; other bytes of its UTF-8, and what C might take for a trigraph, are escaped.

    Examples
    --------
    >>> print(text('größe "XL"'))
    "gr\303\266\303\237e \042XL\042"
    """
    plain = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in '"\\?'}
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in value.encode()) + '"'


def comment(value: str) -> str:
    """Text that can stand in a comment.

    Examples
    --------
    >>> comment("a */ b")
    'a * / b'
    """
    return value.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def is_name(name: Any) -> str:
    """A name that C takes, in small letters; it becomes part of others."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        raise InputError(f"name must be small letters, digits and underscores, a letter first; got {name!r}")
    return name
