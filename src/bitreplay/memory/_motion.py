"""Motion: what a class in motion keeps beside its q-bit codes, so that single samples are not lost in rounding.

A step of one sample in a hundred is far below a code of three bits. While a class is learned bit by bit, its prototypes
are therefore kept in 16 bits, rounded without bias, with the number of samples that each has had (8 bits do as well up
to 500 samples, but the noise of many roundings adds up; benchmarks/stream.py). A class that was small when it began to
move also keeps the samples that came since, packed, and the codes that it had before them: its past.
:meth:`bitreplay.BinaryMemory.settle` rounds to q bits and drops all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.memory._quantisation import FLOAT, Codes, decode, decode_weights, encode, encode_weights
from bitreplay.mixture import Mixture

LEAST = 1e-9  # of a sample: a mixing weight must be above 0
LEVELS = 65535  # ours: 16 bits: as good as float32 and half its size (benchmarks/stream.py)


@dataclass(frozen=True, eq=False)
class Past:
    """A class as it was before it began to move, in q bits."""

    codes: Codes
    weights: npt.NDArray[np.uint16]
    count: int  # samples it had
    n_features: int

    @classmethod
    def of(cls, mixture: Mixture, bits: int) -> Past:
        """The codes of a mixture, which are those that it came from if it is at rest."""
        codes, weights = encode(mixture.prototypes, bits), encode_weights(mixture.weights)
        return cls(codes, weights, mixture.count, mixture.prototypes.shape[1])

    @property
    def bits(self) -> int:
        """Bits per value, q."""
        return FLOAT if self.codes.dtype == np.float32 else self.codes.shape[1]

    @property
    def mixture(self) -> Mixture:
        """The class as it was."""
        prototypes = decode(self.codes, self.bits, self.n_features)
        return Mixture(prototypes, decode_weights(self.weights), self.count)


@dataclass(frozen=True, eq=False)
class Motion:
    """The statistics of one class in motion.

    Parameters
    ----------
    values : ndarray of shape (K, D)
        Prototypes: codes of 16 bits, or float32 in a memory of float32.
    counts : ndarray of float64, shape (K,)
        Samples that each prototype has had; their sum is the class's.
    count : int
        Samples of the class.
    kept : PackedBits
        The samples since the past, as long as they are kept; else none.
    past : Past, optional
        What the class was before the samples that are kept; None if these are all or none of its samples.
    equal : bool
        Whether all prototypes have the same mixing weight, whatever their counts.
    """

    values: npt.NDArray[Any]
    counts: npt.NDArray[np.float64]
    count: int
    kept: PackedBits
    past: Past | None = None
    equal: bool = False

    @classmethod
    def of(
        cls,
        prototypes: npt.NDArray[np.floating],
        counts: npt.NDArray[np.float64],
        count: int,
        kept: PackedBits,
        past: Past | None = None,
        *,
        bits: int,
        rng: np.random.Generator,
        equal: bool = False,
    ) -> Motion:
        """The statistics in the form in which they are kept in a memory of `bits` bits; `rng` rounds without bias."""
        counts = np.maximum(counts, LEAST)
        kept = PackedBits(kept.data.copy(), kept.n_features)  # not a view of all samples of a call
        if bits == FLOAT:
            return cls(prototypes.astype(np.float32), counts, count, kept, past, equal)
        scaled = prototypes.astype(np.float64) * LEVELS
        scaled += rng.random(scaled.shape, np.float32)
        return cls(np.minimum(np.floor(scaled), LEVELS).astype(np.uint16), counts, count, kept, past, equal)

    @property
    def prototypes(self) -> npt.NDArray[np.float32]:
        """(K, D) in [0, 1]."""
        if self.values.dtype == np.float32:
            return np.asarray(self.values)
        return np.asarray(np.divide(self.values, np.float32(LEVELS), dtype=np.float32))

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Mixing weights."""
        return np.full(len(self.counts), 1 / len(self.counts)) if self.equal else self.counts / self.counts.sum()

    @property
    def mixture(self) -> Mixture:
        """The class as it is now."""
        return Mixture(self.prototypes, self.weights, self.count)

    @property
    def size_bits(self) -> int:
        """Bits as the paper counts them, values only: 16 K D, D for every kept sample, q D for every past prototype."""
        rows = len(self.kept) + (len(self.past.weights) * self.past.bits if self.past else 0)
        return 8 * self.values.nbytes + rows * self.kept.n_features

    @property
    def nbytes(self) -> int:
        """Bytes held, counts included."""
        past = self.past.codes.nbytes + self.past.weights.nbytes if self.past else 0
        return self.values.nbytes + self.counts.nbytes + self.kept.data.nbytes + past
