"""IntegerHead: the closed form, its linear part, or a linear classifier, with weights of a few bits.

It decides between fixed classes, from weights that were computed in floating point. A row of weights is integers of 2
to 8 bits with one scale; a class's score is the product of its first row with the bits plus the squares of the products
of its other rows. `bitreplay_head_scores` computes the same, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.bits import BitsLike, pack
from bitreplay.device._records import Words
from bitreplay.errors import InputError
from bitreplay.memory import BinaryMemory

Integers = npt.NDArray[np.int64]

ROWS = 1024  # embeddings scored at once
SHIFT = 16  # further binary digits of the scales of squared rows: they keep more than a weight's own 8 bits
MOST_DIGITS = 14  # ours: binary digits behind the point of a product; squares then have 28
PRODUCT_BITS = 24  # a product of a squared row, with these digits, is below 2^24: see bitreplay_head.c
LARGEST = 2**31 - 1
CUTS = np.linspace(
    0.3, 1, 15
)  # ours: benchmarks/device_heads.py; what of a row's largest weight is its largest integer


@dataclass(frozen=True, eq=False)
class IntegerHead:
    """A head in integers; :meth:`of_rows` makes one."""

    weights: npt.NDArray[np.int8]  # (classes, 1 + squares, D): a linear row, and rows whose products are squared
    biases: npt.NDArray[np.int32]  # (classes, 1 + squares); a product is (sum of weights + bias) * scale
    scales: npt.NDArray[np.int32]
    weight_bits: int
    shift: int  # binary digits dropped from products before they are squared,
    score_shift: int  # and from scores in the end

    @classmethod
    def of_rows(
        cls,
        weights: npt.ArrayLike,
        offsets: npt.ArrayLike,
        weight_bits: int = 8,
        expected: npt.ArrayLike | None = None,
    ) -> IntegerHead:
        """Round rows of weights.

        The common part of the first rows of all classes does not affect the decision and is subtracted first, so that
        the bits are spent on what distinguishes the classes: scores match the rows up to a part shared by all classes.

        Parameters
        ----------
        weights : array of shape (classes, 1 + squares, D)
            As :attr:`bitreplay.ClosedForm.rows` gives them; with ``squares = 0`` a linear classifier.
        offsets : array of shape (classes, 1 + squares)
            Added to the products.
        weight_bits : int
            Bits per weight, 2 to 8.
        expected : array of shape (D,), optional
            How often each bit is set, as :func:`mean_bits` gives it. Offsets then compensate for the average effect of
            rounding.

        Examples
        --------
        >>> head = IntegerHead.of_rows([[[1.0, -0.5]], [[-1.0, 0.25]]], [[0.0], [0.5]], weight_bits=4)
        >>> head.weights[:, 0].tolist()
        [[7, -3], [-7, 3]]
        >>> head.predict([[1, 0], [0, 0], [0, 1]]).tolist()
        [0, 1, 1]
        """
        w, o = np.asarray(weights, dtype=np.float64), np.asarray(offsets, dtype=np.float64)
        weight_bits = integer("weight_bits", weight_bits, 2, 8)
        if w.ndim != 3 or not w.size or o.shape != w.shape[:2]:
            raise InputError(f"rows must be (classes, 1 + squares, D) with an offset each; got {w.shape} and {o.shape}")
        for name, number, most in (
            ("classes", len(w), 65535),
            ("squares", w.shape[1] - 1, 255),
            ("D", w.shape[2], 65535),
        ):
            if number > most:
                raise InputError(f"a head in integers has at most {most} {name}; got {number}")
        if not np.isfinite(w).all() or not np.isfinite(o).all():
            raise InputError("weights and offsets must be finite")
        if len(w) > 1:
            w, o = w.copy(), o.copy()
            w[:, 0] -= w[:, 0].mean(axis=0)
            o[:, 0] -= o[:, 0].mean()
        units, whole = _round(w, 2 ** (weight_bits - 1) - 1)
        if expected is not None:
            often = np.asarray(expected, dtype=np.float64)
            if often.shape != w.shape[2:] or not ((often >= 0) & (often <= 1)).all():
                raise InputError(f"expected must be {w.shape[2]} numbers from 0 to 1, one for every bit")
            o = o - (units[..., None] * whole - w) @ often
        units = np.where(units > 0, units, np.abs(o) / 1024)  # a row of zeros still has its offset
        biases = np.divide(o, units, out=np.zeros_like(o), where=units > 0)
        if np.abs(biases).max() >= 2**30:
            raise InputError("an offset is more than 2^30 times as large as the weights of its row can resolve")
        return cls._fixed(whole, np.rint(biases).astype(np.int64), units, weight_bits)

    @classmethod
    def _fixed(
        cls, weights: Integers, biases: Integers, units: npt.NDArray[np.float64], weight_bits: int
    ) -> IntegerHead:
        """Choose the binary digits: as many as the largest possible product allows."""
        reach = np.maximum(  # of each row: what its sum can be at most, whatever the bits
            np.abs(np.maximum(weights, 0).sum(axis=2) + biases), np.abs(np.minimum(weights, 0).sum(axis=2) + biases)
        )
        linear, squared = units[:, :1], units[:, 1:]
        for digits in range(MOST_DIGITS, -MOST_DIGITS, -1):
            scales = np.rint(np.concatenate([linear * 4.0**digits, squared * 2.0 ** (digits + SHIFT)], axis=1))
            products = reach * scales
            if scales.max() <= LARGEST and (products[:, 1:] < 2.0 ** (PRODUCT_BITS + SHIFT) - 2**SHIFT).all():
                break
        else:
            raise InputError("the weights are too large for 32-bit scales: divide them, and the offsets, by a constant")
        parts = [[int(p) for p in row] for row in products]
        most = max(row[0] + sum(((p >> SHIFT) + 1) ** 2 for p in row[1:]) for row in parts)
        score_shift = max(0, most.bit_length() - 31)
        return cls(
            weights.astype(np.int8), biases.astype(np.int32), scales.astype(np.int32), weight_bits, SHIFT, score_shift
        )

    @property
    def n_classes(self) -> int:
        """Classes."""
        return len(self.weights)

    @property
    def squares(self) -> int:
        """Rows of a class whose products are squared."""
        return int(self.weights.shape[1]) - 1

    @property
    def n_features(self) -> int:
        """D."""
        return int(self.weights.shape[2])

    @property
    def size_bits(self) -> int:
        """Bits in flash: planes of whole words, and 64 for scale and bias of every row."""
        return math.prod(self.weights.shape[:2]) * (32 * -(-self.n_features // 32) * self.weight_bits + 64)

    @property
    def planes(self) -> Words:
        """The weights as a device has them, (rows, weight_bits, words): two's complement, the sign's plane first."""
        rows = self.weights.reshape(-1, self.n_features).view(np.uint8)
        planes = np.zeros((len(rows), self.weight_bits, 32 * -(-self.n_features // 32)), dtype=np.uint8)
        for b in range(self.weight_bits):
            planes[:, b, : self.n_features] = rows >> (self.weight_bits - 1 - b) & 1
        return np.packbits(planes, axis=2, bitorder="little").view("<u4").astype(np.uint32)

    def scores(self, samples: BitsLike) -> npt.NDArray[np.int32]:
        """Scores of shape (rows, classes)."""
        bits = pack(samples)
        if bits.n_features != self.n_features:
            raise InputError(f"this head takes {self.n_features} bits; got {bits.n_features}")
        rows = self.weights.reshape(-1, self.n_features).T.astype(np.float32)  # exact: sums are below 2^24
        biases, scales = (values.reshape(-1).astype(np.int64) for values in (self.biases, self.scales))
        scores = np.empty((len(bits), self.n_classes), dtype=np.int32)
        for begin in range(0, len(bits), ROWS):
            part = slice(begin, begin + ROWS)
            products = ((bits[part].unpack(np.float32) @ rows).astype(np.int64) + biases) * scales
            products = products.reshape(-1, self.n_classes, 1 + self.squares)
            squared = np.square(products[..., 1:] >> self.shift).sum(axis=2)
            scores[part] = (products[..., 0] + squared) >> self.score_shift
        return scores

    def predict(self, samples: BitsLike) -> npt.NDArray[np.uint32]:
        """The number of the class with the best score; ties go to the first."""
        return np.asarray(self.scores(samples).argmax(axis=1), dtype=np.uint32)

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, IntegerHead):
            return NotImplemented
        arrays = ("weights", "biases", "scales")
        numbers = ("weight_bits", "shift", "score_shift")
        return all(np.array_equal(getattr(self, a), getattr(other, a)) for a in arrays) and all(
            getattr(self, n) == getattr(other, n) for n in numbers
        )

    __hash__ = None  # type: ignore[assignment]


def mean_bits(memory: BinaryMemory) -> npt.NDArray[np.float64]:
    """How often each bit is set if all classes of a memory are equally frequent.

    Examples
    --------
    >>> memory = BinaryMemory(bits=3)
    >>> memory.enrol({"mug": [[0, 1]], "cup": [[1, 1]]})
    >>> mean_bits(memory).tolist()
    [0.5, 1.0]
    """
    mixtures = [memory.mixture(label) for label in memory.labels]
    return np.asarray(np.mean([m.weights @ m.prototypes for m in mixtures], axis=0), dtype=np.float64)


def _round(weights: npt.NDArray[np.float64], top: int) -> tuple[npt.NDArray[np.float64], Integers]:
    """The unit of each row, and its weights in units, from -top to top.

    A few large weights are clipped if that makes all others finer: of some units, the one with the smallest squared
    error is chosen.
    """
    largest = np.abs(weights).max(axis=2)
    units, least = np.zeros_like(largest), np.full(largest.shape, np.inf)
    whole = np.zeros(weights.shape, dtype=np.int64)
    for cut in CUTS:
        unit = np.where(largest > 0, cut * largest / top, 1.0)
        rounded = np.clip(np.rint(weights / unit[..., None]), -top, top)
        error = np.square(rounded * unit[..., None] - weights).sum(axis=2)
        better = (error < least) & (largest > 0)
        units, least = np.where(better, unit, units), np.where(better, error, least)
        whole[better] = rounded[better]
    return units, whole
