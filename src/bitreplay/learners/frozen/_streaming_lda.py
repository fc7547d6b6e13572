"""Streaming linear discriminant analysis (Hayes and Kanan, "Lifelong Machine Learning with Deep Streaming LDA", 2020).

One mean per class and one covariance for all of them, which grows by the scatter of new samples about their class's
mean. The paper's sample-by-sample update only approximates that scatter; here it is exact, with the shift of a known
class's mean included, so that the order of samples and tasks does not matter. Discriminants are solved for when needed.
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
from bitreplay.learners.frozen._nearest_mean import class_means, running_means


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
    streams: ClassVar[bool] = True
    memory_arrays: ClassVar[tuple[str, ...]] = ("means", "covariance")
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def __post_init__(self) -> None:
        number("shrinkage", self.shrinkage, most=1, above=0)
        integer("seed", self.seed, 0)

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return False

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        before = (self.learned["means"], self.learned["counts"]) if known else None
        means, counts = running_means(X, y, len(new), before)
        places, which = np.unique(y, return_inverse=True)
        again = places < known
        fresh = class_means(X, which, len(places)) if again.any() else means[places]
        centred = X - fresh[which]
        scatter = (centred.T @ centred).astype(np.float64)
        if before is not None:
            scatter += self.learned["covariance"].astype(np.float64) * int(before[1].sum())
            if again.any():  # what the mean of a known class moved by
                at, added = places[again], np.bincount(which)[again]
                moved = (fresh[again] - before[0][at]).astype(np.float64)
                moved *= np.sqrt(before[1][at] * added / (before[1][at] + added))[:, None]
                scatter += moved.T @ moved
        covariance = scatter / counts.sum()
        kept = {"means": means, "covariance": covariance.astype(np.float32), "counts": counts}
        return kept if again.any() else {**kept, **self._solved(means, covariance)}  # later, in a stream

    def ready(self) -> None:
        """Solve for the discriminants, if that has been put off."""
        if len(self.classes) and "weights" not in self.learned:
            covariance = self.learned["covariance"].astype(np.float64)
            self.learned = {**self.learned, **self._solved(self.learned["means"], covariance)}

    def working_set_bits(self) -> int:
        """Bits of the discriminants."""
        self.ready()
        return super().working_set_bits()

    def _to_arrays(self) -> Arrays:
        self.ready()
        return super()._to_arrays()

    def _from_arrays(self, arrays: Arrays) -> Arrays:
        return super()._from_arrays({**arrays, "counts": arrays["counts"]})  # a state of before has none

    def _solved(self, means: Features, covariance: npt.NDArray[np.float64]) -> Arrays:
        centres = means.astype(np.float64)
        blended = (1 - self.shrinkage) * covariance
        blended[np.diag_indices_from(blended)] += self.shrinkage
        weights = linalg.solve(blended, centres.T, assume_a="pos").T
        biases = -np.einsum("cd,cd->c", centres, weights) / 2
        return {"weights": weights.astype(np.float32), "biases": biases.astype(np.float32)}

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        self.ready()
        return linear_scores(X, (self.learned["weights"], self.learned["biases"]))
