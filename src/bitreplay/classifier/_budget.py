"""Budgets of memory as people write them: "64 KB", "1.5 KiB per class", "500 kbit", or a number of bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitreplay._floor.arguments import integer
from bitreplay.errors import InputError

# Bytes. Decimal as in all tables here; the binary units have names of their own.
UNITS = {"B": 1.0, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30} | {
    "bit": 1 / 8, "kbit": 1e3 / 8, "Mbit": 1e6 / 8, "Gbit": 1e9 / 8
}  # fmt: skip
LARGEST = 2.0**63
PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)(\s+per\s+class)?\s*")
EXPECTED = 'a number of bytes, or text such as "64 KB", "1.5 KiB per class" or "500 kbit"'


@dataclass(frozen=True)
class Budget:
    """Bytes for all classes together, or for each.

    Examples
    --------
    >>> Budget.parse("64 KB"), Budget.parse("1.5 KiB per class")
    (Budget(nbytes=64000, per_class=False), Budget(nbytes=1536, per_class=True))
    >>> Budget.parse("64 kb")
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: budget has no unit 'kb'; units are B, KB, kB, MB, GB, KiB, MiB, GiB, bit, kbit, Mbit, \
Gbit
    """

    nbytes: int
    per_class: bool = False

    @classmethod
    def parse(cls, budget: Any) -> Budget:
        """Read a budget; anything unclear is refused."""
        if not isinstance(budget, str):
            if not isinstance(budget, int | np.integer) or isinstance(budget, bool):
                raise InputError(f"budget must be {EXPECTED}; got {budget!r}")
            return cls(integer("budget", budget, 1))
        match = PATTERN.fullmatch(budget)
        if match is None:
            raise InputError(f"budget must be {EXPECTED}; got {budget!r}")
        number, unit, per_class = match.groups()
        if unit not in UNITS:
            raise InputError(f"budget has no unit {unit!r}; units are {', '.join(UNITS)}")
        nbytes = float(number) * UNITS[unit]
        if not 1 <= nbytes < LARGEST:
            raise InputError(f"budget must be at least one byte, and less than 2^63; got {budget[:80]!r}")
        return cls(int(nbytes), per_class is not None)

    def __str__(self) -> str:
        return in_bytes(self.nbytes) + (" per class" if self.per_class else "")


def in_bytes(number: float) -> str:
    """A size in decimal units.

    Examples
    --------
    >>> in_bytes(640), in_bytes(64_000), in_bytes(1_536), in_bytes(999_960), in_bytes(12_345_678)
    ('640 B', '64 KB', '1.5 KB', '1 MB', '12.3 MB')
    """
    for unit, size in (("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        text = f"{number / size:.0f}" if unit == "B" else f"{number / size:.1f}".removesuffix(".0")
        if float(text) < 1000:
            break
    return f"{text} {unit}"
