"""Streaming linear discriminant analysis (Hayes and Kanan, "Lifelong Machine Learning with Deep Streaming LDA", 2020).

One mean per class and one covariance for all of them, which grows by the scatter of every new class about its mean.
The paper's sample-by-sample update only approximates that scatter; with whole classes available it is computed exactly,
so that the order of samples and tasks does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bitreplay._floor.arguments import integer, number
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._linear import linear_scores
from bitreplay.learners.frozen._method import Features, FrozenMethod, Labels
from bitreplay.learners.frozen._nearest_mean import class_means

__all__ = ["StreamingLDA"]


@dataclass(kw_only=True, eq=False)
class StreamingLDA(FrozenMethod):
    """Linear discriminants from class means and a shared covariance: (n_c * d + d^2) * 32 bits are stored.

    Parameters
    ----------
    shrinkage : float
        Share of the identity in the covariance, between 0 and 1.
    seed : int
        Not used: there is no randomness.

    Examples
    --------
    The shared covariance shows which features are noise, here the second. A mean alone would be lost in it:

    >>> rng, y = np.random.default_rng(0), np.arange(400) % 2
    >>> X = y[:, None] + rng.normal(scale=(0.2, 20.0), size=(400, 2))
    >>> method = StreamingLDA()
    >>> for label in (0, 1):  # one class per task
    ...     method.partial_fit(X[y == label], y[y == label])
    >>> bool((method.predict(X) == y).mean() > 0.95), method.memory_bits() == (2 * 2 + 2**2) * 32
    (True, True)
    """

    shrinkage: float = 1e-4  # sec. 3 of the paper; shrinkage_param of the released code
    seed: int = 0

    name: ClassVar[str] = "StreamingLDA"
    memory_arrays: ClassVar[tuple[str, ...]] = ("means", "covariance")
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def __post_init__(self) -> None:
        number("shrinkage", self.shrinkage, above=0)
        number("1 - shrinkage", 1 - self.shrinkage, 0)
        integer("seed", self.seed, 0)

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return False

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        means = class_means(X, y - known, len(new))
        centred = X - means[y - known]
        scatter, count = (centred.T @ centred).astype(np.float64), len(X)
        if known:
            before = int(self.learned["count"])
            scatter += self.learned["covariance"].astype(np.float64) * before
            count += before
            means = np.concatenate([self.learned["means"], means])
        covariance = scatter / count
        weights, biases = self._solve(means.astype(np.float64), covariance)
        kept = {"means": means, "covariance": covariance.astype(np.float32), "count": np.array(count)}
        return {**kept, "weights": weights.astype(np.float32), "biases": biases.astype(np.float32)}

    def _solve(
        self, means: npt.NDArray[np.float64], covariance: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        blended = (1 - self.shrinkage) * covariance
        blended[np.diag_indices_from(blended)] += self.shrinkage
        weights = linalg.solve(blended, means.T, assume_a="pos").T
        return weights, -np.einsum("cd,cd->c", means, weights) / 2

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        return linear_scores(X, (self.learned["weights"], self.learned["biases"]))
