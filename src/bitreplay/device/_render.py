"""Numbers as C: constant arrays that the linker puts into flash."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._words import printable
from bitreplay.errors import InputError

WIDTH = 116
# Of each type, what C calls it, and how its values are written.
TYPES: dict[np.dtype[Any], tuple[str, Callable[[Any], str]]] = {
    np.dtype("int8"): ("int8_t", str),
    np.dtype("uint8"): ("uint8_t", str),
    np.dtype("int16"): ("int16_t", str),
    np.dtype("int32"): ("int32_t", lambda value: str(value) if value > -(2**31) else "INT32_MIN"),  # no number in C
    np.dtype("uint32"): ("uint32_t", "0x{:X}u".format),
    np.dtype("float32"): ("float", lambda value: f"{value.hex()}f"),  # exact
}


def array(name: str, values: npt.NDArray[Any], attribute: str = "") -> str:
    """A constant array of one or two dimensions, as C; `attribute` follows its name.

    Examples
    --------
    >>> print(array("limits", np.array([3, -1], dtype=np.int16)))
    static const int16_t limits[2] = {
        3, -1,
    };
    <BLANKLINE>
    >>> print(array("rows", np.array([[1, 2], [3, 4]], dtype=np.uint8)))
    static const uint8_t rows[2][2] = {
        {1, 2},
        {3, 4},
    };
    <BLANKLINE>
    """
    if values.ndim not in (1, 2) or values.dtype not in TYPES:
        raise InputError(f"C gets arrays of one or two dimensions; got {values.dtype} of shape {values.shape}")
    values = values if values.size else np.zeros(1, values.dtype)  # C has no arrays of nothing
    kind, cell = TYPES[values.dtype]
    if values.ndim == 1:
        lines = [_wrapped(", ".join(map(cell, values.tolist())) + ",", "    ")]
    else:
        lines = [_wrapped("{" + ", ".join(map(cell, row)) + "},", "    ") for row in values.tolist()]
    sizes = "".join(f"[{n}]" for n in values.shape)
    named = f"{name}{sizes} {attribute}".strip()
    return f"static const {kind} {named} = {{\n" + "\n".join(lines) + "\n};\n"


def _wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent + " ", break_on_hyphens=False)


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
    r"""Text that is safe in a comment: it neither ends it nor has a trigraph, and hidden characters are written out.

    Examples
    --------
    >>> print(comment("a */ b"), comment("what??/"), comment("two\nlines"))
    a * / b what? ?/ two\nlines
    """
    apart = re.sub(r"\?(?=\?)", "? ", printable(value, keep=""))  # ??/ at the end of a line would join it with the next
    return apart.replace("*/", "* /").replace("/*", "/ *")


def is_name(name: Any) -> str:
    """A lower-case name that is valid in C, and not one of the library's; it becomes part of others."""
    if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        raise InputError(
            f"name must be lower-case letters, digits and underscores, starting with a letter; got {name!r}"
        )
    if name.startswith("bitreplay"):
        raise InputError(f"names that start with bitreplay are the library's: give the model another; got {name!r}")
    return name
