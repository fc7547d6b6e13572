"""The sampler against a slow one, written bit by bit from its description: the same seed gives the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from bitreplay._kernels.sampler import STRETCH
from bitreplay.memory import BinaryMemory
from bitreplay.memory._sampler import draw_seed
from bitreplay.mixture import Mixture

MASK = 2**64 - 1


def splitmix64(position: int) -> int:
    """The output at a position of splitmix64 started from 0 (Steele, Lea and Flood, 2014)."""
    z = position * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


def xoshiro256plusplus(a: int, b: int, c: int, d: int) -> Iterator[int]:
    """The generator of Blackman and Vigna (2019), as they published it."""

    def rotate(x: int, k: int) -> int:
        return (x << k | x >> (64 - k)) & MASK

    while True:
        yield (rotate((a + d) & MASK, 23) + a) & MASK
        t = b << 17 & MASK
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c, d = c ^ t, rotate(d, 45)


def test_the_slow_generators_give_the_published_numbers() -> None:
    assert splitmix64(1) == 0xE220A8397B1DCDAF
    numbers = xoshiro256plusplus(1, 2, 3, 4)
    assert [next(numbers) for _ in range(4)] == [41943041, 58720359, 3588806011781223, 3591011842654386]


def draw_bit(probability: Fraction, digits: list[int]) -> int | None:
    """Whether a random binary fraction lies below a probability, or None if more digits are needed to tell."""
    low = sum(Fraction(digit, 2 ** (i + 1)) for i, digit in enumerate(digits))
    high = low + Fraction(1, 2 ** len(digits))
    if high <= probability and not (high == probability == 1):
        return 1
    if low >= probability and not low == probability == 0:
        return 0
    return None


def slow_rows(codes: np.ndarray, bits: int, shares: list[float], seed: int, n: int) -> list[list[int]]:
    """Draw `n` rows: stretch after stretch, block of 512 bits after block, binary digit after digit."""
    n_features, levels = codes.shape[1], 2**bits - 1
    rows = []
    for r in range(n):
        if r % STRETCH == 0:
            key = splitmix64(seed) + (r // STRETCH << 6) & MASK
            words = [xoshiro256plusplus(*(splitmix64(key + 8 * i + w & MASK) for i in range(4))) for w in range(8)]
            chooser = splitmix64(key ^ MASK)
        chooser = chooser + 1 & MASK
        u = (splitmix64(chooser) >> 11) * 2.0**-53 * sum(shares)
        k = next(k for k in range(len(shares)) if sum(shares[: k + 1]) > u)
        row: list[int] = []
        for begin in range(0, n_features, 512):
            # What lies beyond the last feature has probability 0.
            mine = [int(codes[k, j]) if j < n_features else 0 for j in range(begin, begin + 512)]
            digits: list[list[int]] = [[] for _ in mine]
            drawn: list[int | None] = [None] * 512
            # It is asked whether any bit is still open after eight digits, and then after every second one.
            while len(digits[0]) < 8 or len(digits[0]) % 2 or (None in drawn and len(digits[0]) < 64):
                numbers = [next(generator) for generator in words]
                for j in range(512):
                    digits[j].append(numbers[j // 64] >> (j % 64) & 1)
                    if drawn[j] is None:
                        drawn[j] = draw_bit(Fraction(mine[j], levels), digits[j])
            row += [drawn[j] or 0 for j in range(min(512, n_features - begin))]
        rows.append(row)
    return rows


@pytest.mark.parametrize(("bits", "n_features", "n"), [(1, 9, 70), (3, 70, 70), (5, 520, 4), (16, 70, 6)])
def test_rows_are_those_of_the_slow_sampler(bits: int, n_features: int, n: int) -> None:
    codes = np.random.default_rng(bits).integers(0, 2**bits, (2, n_features))
    codes[0, :2] = 0, 2**bits - 1
    memory = BinaryMemory(bits)
    memory.add("cup", Mixture((codes / (2**bits - 1)).astype(np.float32), np.array([0.75, 0.25]), 5))
    drawn, _ = memory.sample(n, generator=bits)
    assert drawn.tolist() == slow_rows(codes, bits, [0.75, 0.25], draw_seed(bits), n)
