"""Ridge regression on random features: ACIL (Zhuang et al., NeurIPS 2022), RanPAC (McDonnell et al., NeurIPS 2023).

Features are widened by a fixed random layer with ReLU. One-hot targets are regressed on them, and the required
statistics of the past are exact: the Gram matrix of all samples and their sum by class. The classifier therefore does
not depend on how the classes are divided into tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bitreplay._floor.arguments import integer, number
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._method import Features, FrozenMethod, Labels

ROWS = 4096  # samples that are widened at once
RIDGES = 10.0 ** np.arange(-3, 0.1, 0.5)  # ours: times the mean diagonal of the Gram matrix; RanPAC: decades
HELD_OUT = 0.2  # RanPAC (McDonnell et al., NeurIPS 2023): a fifth of a task's samples decides its ridge


@dataclass(kw_only=True, eq=False)
class RandomRidge(FrozenMethod):
    """Ridge regression on random ReLU features: (width^2 + n_c * width) * 32 bits are stored.

    Parameters
    ----------
    width : int
        Number of random features.
    ridge : float, optional
        Added to the diagonal of the Gram matrix. By default the value that gives the best accuracy on a held-out fifth
        of task 0's samples.
    seed : int
        Seed of the random layer, which is drawn again rather than stored, and of the held-out samples.

    Examples
    --------
    No line separates these two classes, but random features do, although the classes never came together:

    >>> X, y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]), np.array([0, 0, 1, 1])
    >>> method = RandomRidge(width=64, ridge=0.1)
    >>> for label in (0, 1):
    ...     method.partial_fit(X[y == label], y[y == label])
    >>> method.predict(X).tolist(), method.memory_bits() == (64**2 + 2 * 64) * 32
    ([0, 0, 1, 1], True)
    """

    width: int = 8192  # ACIL's released code: buffer size on CIFAR-100
    ridge: float | None = None  # RanPAC, sec. 4: chosen on a fifth of the samples, held out
    seed: int = 0

    name: ClassVar[str] = "RandomRidge"
    memory_arrays: ClassVar[tuple[str, ...]] = ("gram", "sums")
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights",)

    def __post_init__(self) -> None:
        integer("width", self.width, 1)
        if self.ridge is not None:
            number("ridge", self.ridge, above=0)
        integer("seed", self.seed, 0)

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        if known:
            gram, sums, ridge = self.learned["gram"], self.learned["sums"], float(self.learned["ridge"])
            more, new_sums = self._statistics(X, y - known, len(new))
            more += gram
            gram, sums = more, np.concatenate([sums, new_sums])
        else:
            gram, sums, ridge = self._first(X, y, len(new))
        weights = solve_ridge(gram, sums, ridge)
        return {"gram": gram, "sums": sums, "ridge": np.array(ridge), "weights": weights}

    def _first(self, X: Features, y: Labels, n_classes: int) -> tuple[Features, Features, float]:
        """Statistics of task 0 and the ridge for all tasks."""
        if self.ridge is not None:
            return *self._statistics(X, y, n_classes), self.ridge
        held = hold_out(y, self._generator(1))
        gram, sums = self._statistics(X[~held], y[~held], n_classes)
        candidates = (RIDGES * np.trace(gram, dtype=np.float64) / self.width).tolist()
        best = candidates[len(candidates) // 2]  # where nothing can be held out, or there is nothing to tell apart
        if held.any() and n_classes > 1:
            widened = self._widen(X[held])
            right = [(widened @ solve_ridge(gram, sums, r).T).argmax(1) == y[held] for r in candidates]
            best = candidates[int(np.argmax([hits.mean() for hits in right]))]
            more, more_sums = self._statistics(X[held], y[held], n_classes)
            gram += more
            sums += more_sums
        return gram, sums, best

    def _statistics(self, X: Features, y: Labels, n_classes: int) -> tuple[Features, Features]:
        """Gram matrix of the widened samples, and their sum by class."""
        gram = np.zeros((self.width, self.width), dtype=np.float32)
        sums = np.zeros((n_classes, self.width), dtype=np.float32)
        for begin in range(0, len(X), ROWS):
            rows = slice(begin, begin + ROWS)
            widened = self._widen(X[rows])
            gram += widened.T @ widened
            sums += (np.arange(n_classes)[:, None] == y[rows]).astype(np.float32) @ widened
        return gram, sums

    def _widen(self, X: Features) -> Features:
        layer = self._layer(X.shape[1])
        return np.asarray(np.maximum(X @ layer, 0))

    def _layer(self, n_features: int) -> Features:
        """The random layer, weights uniform in +-1/sqrt(d) without bias, as in ACIL's released code."""
        drawn = getattr(self, "_drawn_layer", None)
        if drawn is None or drawn.shape != (n_features, self.width):
            generator = np.random.default_rng([self.seed, n_features])
            drawn = generator.uniform(-1, 1, size=(n_features, self.width)) / np.sqrt(n_features)
            self._drawn_layer: Features = drawn.astype(np.float32)
        return self._drawn_layer

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        weights = self.learned["weights"]
        return np.concatenate([self._widen(X[i : i + ROWS]) @ weights.T for i in range(0, len(X), ROWS)])

    def working_set_bits(self) -> int:
        """The weights, and the random layer."""
        return super().working_set_bits() + 32 * self.n_features * self.width


def solve_ridge(gram: Features, sums: Features, ridge: float) -> Features:
    """``sums (gram + ridge I)^-1``: the weights of ridge regression on one-hot targets."""
    for precision in (np.float32, np.float64):  # twice the time, for a ridge that rounding would drown
        matrix: npt.NDArray[Any] = gram.astype(precision)
        matrix[np.diag_indices_from(matrix)] += ridge
        try:
            factor = linalg.cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
        return np.asarray(linalg.cho_solve(factor, sums.T, check_finite=False).T, dtype=np.float32, order="C")
    raise InputError(f"the ridge {ridge:g} is too small for these features: increase it")


def hold_out(y: Labels, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which samples are held out: a fifth of every class, rounded down.

    Examples
    --------
    >>> y = np.array([0] * 10 + [1] * 5 + [2] * 4)
    >>> held = hold_out(y, np.random.default_rng(0))
    >>> [int(held[y == c].sum()) for c in range(3)]
    [2, 1, 0]
    """
    held = np.zeros(len(y), dtype=np.bool_)
    for c in np.unique(y):
        members = generator.permutation(np.flatnonzero(y == c))
        held[members[: int(HELD_OUT * len(members))]] = True
    return held
