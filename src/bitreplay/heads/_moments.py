"""Means and covariances of all classes, **memory → head**, a block of classes at a time.

Of very many classes, neither the decoded prototypes nor anything else of their size is ever in memory beside the head
that is made from them. Whoever needs them twice computes them twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bitreplay.memory import BinaryMemory

Floats = npt.NDArray[Any]  # float64, or float32 where there are many classes

AT_ONCE = 2**18  # ours: values of prototypes that are decoded together; 2^16 to 2^20 take about the same time
MANY_ROWS = 2**14  # ours: from so many prototypes on, products are made in float32, which takes a third of the time


class Moments(NamedTuple):
    """Mean, spread within prototypes, and spread between them, of a run of classes."""

    classes: slice  # places among the memory's labels
    means: Floats  # (classes, D)
    within: Floats  # (classes, D) v_c
    between: Floats  # (classes, K, D) U_c; rows of 0, which add nothing, for a class of fewer prototypes


class Shared(NamedTuple):
    """What all classes have in common."""

    within: npt.NDArray[np.float64]  # (D,) the mean of v_c
    gram: npt.NDArray[np.float64] | None  # (D, D) lower triangle of the sum of U_c^T U_c; None where U has fewer rows
    between: float  # its trace


class Blocks:
    """The moments of all classes of a memory, to be gone through as often as one likes.

    They are computed each time, unless they are few (up to `AT_ONCE` values, or fewer prototypes than features): those
    are one block, which is kept.
    """

    def __init__(self, memory: BinaryMemory) -> None:
        self.n_classes, self.n_features = len(memory), memory.n_features
        self.n_rows = self.n_classes * max(memory.sizes)  # prototypes, if all classes had as many as one has
        self.dtype = np.dtype(np.float32 if self.n_rows > MANY_ROWS else np.float64)
        self._memory = memory
        n_values = self.n_rows * self.n_features
        together = n_values <= AT_ONCE or self.n_rows < self.n_features
        self._kept = list(self._computed(n_values)) if together else None

    def __iter__(self) -> Iterator[Moments]:
        return self._computed(AT_ONCE) if self._kept is None else iter(self._kept)

    def _computed(self, n_values: int) -> Iterator[Moments]:
        for classes, prototypes, weights in self._memory.blocks(n_values):
            mu, pi = prototypes.astype(self.dtype), weights.astype(self.dtype)[:, None]
            means = pi @ mu
            within = pi @ (mu * (1 - mu))
            mu -= means
            mu *= np.sqrt(pi).swapaxes(1, 2)
            yield Moments(classes, means[:, 0], within[:, 0], mu)

    def shared(self) -> Shared:
        """Sums over all classes, in float64 whatever the blocks are in."""
        within, between = np.zeros(self.n_features), 0.0
        total = None if self.n_rows < self.n_features else np.zeros((self.n_features, self.n_features), order="F")
        for block in self:
            within += block.within.sum(axis=0, dtype=np.float64)
            stacked = block.between.reshape(-1, self.n_features)
            between += float(np.vdot(stacked, stacked))
            if total is not None:
                total += gram(stacked.T)
        return Shared(within / self.n_classes, total, between)


def gram(rows: Floats) -> Floats:
    """``rows @ rows.T``; only the lower triangle is right, in half of the time."""
    product = linalg.blas.ssyrk if rows.dtype == np.float32 else linalg.blas.dsyrk
    return np.asarray(product(1.0, rows.T, trans=1, lower=1))
