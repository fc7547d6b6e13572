"""Logarithms and exponentials in integers: tables and shifts, the same on every machine.

A score is a number of nats times 4096. Everything else here follows from that choice: a probability of 1/3000 is as
small as a 16-bit entry can say, and the scores of 65,535 bits fit into 32 bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

SCALE = 4096  # ours: a nat; rounding an entry of a table then changes the log-probability of a bit by 0.0001 at most
ONE = 1 << 15  # Q15: the responsibility of a sample that belongs to one prototype alone
LEVELS = 255  # ours: prototypes are kept in a byte per value while they are fitted; 1/255 is far below their noise

WHOLE_NATS = 11  # exp(-11) is half of 1 / ONE: what lies farther back has no share
LN_2 = 181704  # ln 2 * 2^18
LN_TABLE: Integers = np.rint(SCALE * np.log1p(np.arange(65) / 64)).astype(np.int64)
EXP_WHOLE: Integers = np.rint(ONE * np.exp(-np.arange(WHOLE_NATS))).astype(np.int64)
EXP_PARTS: Integers = np.rint(ONE * np.exp(-(np.arange(64) + 0.5) / 64)).astype(np.int64)  # the middle of each 1/64


def logarithm(values: npt.ArrayLike) -> Integers:
    """4096 times the natural logarithm of integers from 1 to 2^32 - 1, to within 2.

    The highest bit counts whole powers of two; the next six look up a table of 65 values; ten more lie between two of
    them.

    Examples
    --------
    >>> logarithm([1, 2, 1000]).tolist(), np.round(4096 * np.log([1, 2, 1000])).tolist()
    ([0, 2839, 28294], [0.0, 2839.0, 28294.0])
    """
    x = np.asarray(values, dtype=np.int64)
    power = np.frexp(x.astype(np.float64))[1].astype(np.int64) - 1  # exact: 32 bits fit into a float's 53
    fraction = (x << (31 - power) >> 15) & 0xFFFF
    at, between = fraction >> 10, fraction & 1023
    low, high = LN_TABLE[at], LN_TABLE[at + 1]
    return np.asarray((power * LN_2 + 32 >> 6) + low + ((high - low) * between + 512 >> 10))


def exponential(gaps: npt.ArrayLike) -> Integers:
    """2^15 exp(-gap / 4096) of integers of at least 0, to within 1 %; 0 from eleven nats on.

    Examples
    --------
    >>> exponential([0, 4096, 8192, 45056]).tolist()  # 32768 times 1, 0.368, 0.135 and nothing, less 0.8 %
    [32513, 11961, 4400, 0]
    """
    gap = np.asarray(gaps, dtype=np.int64)
    inside = np.minimum(gap, WHOLE_NATS * SCALE - 1)
    value = EXP_WHOLE[inside >> 12] * EXP_PARTS[(inside >> 6) & 63] >> 15
    return np.where(gap < WHOLE_NATS * SCALE, value, 0)


def scaled_logarithms(n_levels: int, clamp: float) -> npt.NDArray[np.int16]:
    """4096 log(mu) for mu = 0, 1/n, ..., 1 with n = `n_levels`, each kept in [clamp, 1 - clamp].

    The logarithm of 1 - mu is the entry as far from the other end, so one table serves set and unset bits.

    Examples
    --------
    >>> scaled_logarithms(3, 0.08).tolist()
    [-10345, -4500, -1661, -342]
    """
    mu = np.clip(np.arange(n_levels + 1) / n_levels, clamp, 1 - clamp)
    return np.asarray(np.rint(SCALE * np.log(mu)), dtype=np.int16)
