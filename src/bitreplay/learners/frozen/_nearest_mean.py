"""Nearest class mean: the class whose mean feature is nearest. The simplest method that cannot forget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, one_of
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._method import Features, FrozenMethod, Labels

Metric = Literal["cosine", "euclidean"]
Real = TypeVar("Real", np.float32, np.float64)


@dataclass(kw_only=True, eq=False)
class NearestMean(FrozenMethod):
    """The class whose mean is nearest to the features. It stores one float mean per class: n_c * d * 32 bits.

    Parameters
    ----------
    metric : {"cosine", "euclidean"}
        How distance is measured.
    seed : int
        Not used: there is no randomness.

    Examples
    --------
    A mean of two numbers is kept per class. The point (9, 0) has the direction of class 7, but lies nearer to class 3:

    >>> for metric in ("cosine", "euclidean"):
    ...     method = NearestMean(metric=metric)
    ...     method.partial_fit(np.array([[1.0, 0.0]]), np.array([7]))
    ...     method.partial_fit(np.array([[4.0, 3.0]]), np.array([3]))
    ...     print(method.predict(np.array([[9.0, 0.0]])), method.memory_bits() == 2 * 2 * 32)
    [7] True
    [3] True
    """

    metric: Metric = "cosine"  # as PyCIL's models/fetril.py compares means; FeTrIL's own code is Euclidean
    seed: int = 0

    name: ClassVar[str] = "NearestMean"
    streams: ClassVar[bool] = True
    memory_arrays: ClassVar[tuple[str, ...]] = ("means",)
    decision_arrays: ClassVar[tuple[str, ...]] = ("means",)

    def __post_init__(self) -> None:
        one_of("metric", self.metric, Metric)
        integer("seed", self.seed, 0)

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return False

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        before = (self.learned["means"], self.learned["counts"]) if len(self.classes) else None
        means, counts = running_means(X, y, len(new), before)
        return {"means": means, "counts": counts}

    def _from_arrays(self, arrays: Arrays) -> Arrays:
        return super()._from_arrays({**arrays, "counts": arrays["counts"]})  # a state of before has none

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        means = self.learned["means"]
        if self.metric == "cosine":
            return np.asarray(X @ unit(means).T)  # the length of X does not change which is nearest
        return np.asarray(X @ means.T - np.square(means).sum(1) / 2)


def class_means(X: Features, which: Labels, n_classes: int) -> Features:
    """Mean of every class; `which` are classes 0 to `n_classes` - 1."""
    sums = np.stack([X[which == c].mean(axis=0, dtype=np.float64) for c in range(n_classes)])
    return sums.astype(np.float32)


def running_means(
    X: Features, y: Labels, n_new: int, before: tuple[Features, Labels] | None
) -> tuple[Features, Labels]:
    """Means and numbers of samples of all classes after more samples; `y` are their places, the new ones last.

    Examples
    --------
    >>> means, counts = running_means(np.array([[1.0], [3.0]]), np.array([0, 0]), 1, None)
    >>> means, counts = running_means(np.array([[5.0], [8.0]]), np.array([0, 1]), 1, (means, counts))
    >>> means.tolist(), counts.tolist()
    ([[3.0], [8.0]], [3, 1])
    """
    width = X.shape[1]
    kept, seen = before or (np.empty((0, width), np.float32), np.empty(0, np.int64))
    means = np.concatenate([kept, np.zeros((n_new, width), np.float32)])
    counts = np.concatenate([seen, np.zeros(n_new, np.int64)])
    places, which = np.unique(y, return_inverse=True)
    added, fresh = np.bincount(which), class_means(X, which, len(places))
    means[places] = fresh
    if len(more := np.flatnonzero(places < len(seen))):
        at = places[more]
        share = (added[more] / (seen[at] + added[more]))[:, None]
        means[at] = kept[at] + share * (fresh[more] - kept[at].astype(np.float64))
    counts[places] += added
    return means, counts


def unit(rows: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Rows at length 1; a row of zeros stays.

    Examples
    --------
    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))
