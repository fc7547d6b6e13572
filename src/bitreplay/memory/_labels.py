"""Class labels: what may name a class, so that it survives a file and a reload unchanged."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError

__all__ = ["Label", "as_label", "label_array"]

Label = str | int | float | bool


def as_label(value: Any) -> Label:
    """`value` as a plain Python label; NumPy scalars become the number or text they hold.

    Examples
    --------
    >>> as_label(np.int64(3)), as_label(np.str_("mug"))
    (3, 'mug')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"a class label must be finite; got {value!r}")
    if not isinstance(value, str | int | float):  # bool is an int
        raise InputError(f"a class label must be text or a number; got {value!r} of type {type(value).__name__}")
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"a class label must be text that can be written as UTF-8; got {value!r}")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InputError("a class label must fit in 64 bits")
    return value


def label_array(labels: Iterable[Label]) -> npt.NDArray[Any]:
    """Labels as an array: of numbers or text if they are alike, of objects if they are mixed."""
    values = list(labels)
    kinds = {str if isinstance(v, str) else type(v) for v in values}
    if len(kinds) <= 1 or kinds <= {int, float}:
        array = np.array(values) if values else np.empty(0, dtype=np.int64)
        if array.tolist() == values:  # NumPy drops zeros at the end of text and digits of integers among floats
            return array
    mixed = np.empty(len(values), dtype=object)
    mixed[:] = values
    return mixed
