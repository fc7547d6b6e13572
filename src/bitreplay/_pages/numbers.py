"""Numbers formatted for reading."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from bitreplay._pages.methods import MeanAndSpread


def percent(value: MeanAndSpread) -> str:
    """A share in percent, with its spread if there is one.

    Examples
    --------
    >>> percent(MeanAndSpread(0.6634, 0.0041)), percent(MeanAndSpread(0.5, None))
    ('66.3 ± 0.4', '50.0')
    >>> percent(MeanAndSpread(math.nan, None))
    '-'
    """
    if math.isnan(value.mean):
        return "-"
    spread = "" if value.std is None else f" ± {100 * value.std:.1f}"
    return points(value.mean) + spread


def points(share: float) -> str:
    """A share in percent, one decimal, never "-0.0".

    Examples
    --------
    >>> points(0.123456), points(-0.0001)
    ('12.3', '0.0')
    """
    return f"{round(100 * share, 1) + 0.0:.1f}"


def bits(number: float) -> str:
    """A size in decimal units, as the paper writes sizes: 1 kbit = 1000 bits.

    Examples
    --------
    >>> bits(1 * 12544 * 10 * 32), bits(9_999), bits(0), bits(640), bits(999_960), bits(123_456_789)
    ('4.0 Mbit', '10.0 kbit', '0 bit', '640 bit', '1.0 Mbit', '123 Mbit')
    """
    for unit, size in (("bit", 1.0), ("kbit", 1e3), ("Mbit", 1e6), ("Gbit", 1e9), ("Tbit", 1e12)):
        value = number / size
        text = f"{value:.0f}" if unit == "bit" or round(value, 1) >= 100 else f"{value:.1f}"
        if round(float(text)) < 1000:
            break
    return f"{text} {unit}"


def duration(seconds: float) -> str:
    """A time, short.

    Examples
    --------
    >>> duration(0.0421), duration(3.21), duration(75.2), duration(4000)
    ('0.04 s', '3.2 s', '75 s', '67 min')
    """
    for limit, text in ((0.95, f"{seconds:.2f} s"), (9.95, f"{seconds:.1f} s"), (600, f"{seconds:.0f} s")):
        if seconds < limit:
            return text
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def csv_text(lines: Sequence[Sequence[Any]]) -> str:
    """Lines as a CSV file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
