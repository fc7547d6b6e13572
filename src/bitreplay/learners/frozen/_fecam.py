"""FeCAM (Goswami et al., NeurIPS 2023): nearest mean by a Mahalanobis distance with a full covariance for every class.

Features are made less skewed by a power (Tukey's transform), covariances are shrunk and turned into correlations, and
distances are taken between vectors of length 1. The inverse factors of the correlations are stored: a distance is then
the length of one triangular product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from bitreplay._floor.arguments import integer, number
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._method import Features, FrozenMethod, Labels
from bitreplay.learners.frozen._nearest_mean import class_means, unit

ROWS = 2048  # samples whose distances are taken at once
SHRINKINGS = 2  # released code, models/fecam.py: "we apply covariance shrinkage 2 times"


@dataclass(kw_only=True, eq=False)
class FeCAM(FrozenMethod):
    """Mahalanobis distances with a covariance per class. It stores means and full matrices: n_c * (d + d^2) * 32 bits.

    In the released code the network's own outputs decide while there is only task 0, and zeros are left out of the mean
    covariance; here the covariances are used from the start, and all of them count.

    Parameters
    ----------
    power : float
        Exponent of Tukey's transform, for features that are not negative; 1 leaves features unchanged.
    shrink_diagonal, shrink_rest : float
        Share of the mean variance added to every variance, and of the mean covariance added to every covariance.
    seed : int
        Not used: there is no randomness.

    Examples
    --------
    Two classes with the same mean: only their covariances tell them apart.

    >>> rng, y = np.random.default_rng(0), np.arange(400) % 2
    >>> a, b = rng.normal(size=(2, 400))
    >>> X = 5 + np.stack([a, np.where(y, a, -a), b], axis=1)
    >>> method = FeCAM(power=1, shrink_diagonal=0.1, shrink_rest=0)
    >>> for label in (0, 1):  # one class per task
    ...     method.partial_fit(X[y == label], y[y == label])
    >>> bool((method.predict(X) == y).mean() > 0.75), method.memory_bits() == 2 * (3 + 3**2) * 32
    (True, True)
    """

    power: float = 0.5  # sec. 4.3 of the paper; beta of exps/FeCAM_cifar100.json
    shrink_diagonal: float = 1.0  # alpha1 of exps/FeCAM_cifar100.json
    shrink_rest: float = 1.0  # alpha2 of exps/FeCAM_cifar100.json
    seed: int = 0

    name: ClassVar[str] = "FeCAM"
    memory_arrays: ClassVar[tuple[str, ...]] = ("means", "factors")
    decision_arrays: ClassVar[tuple[str, ...]] = ("means", "factors")

    def __post_init__(self) -> None:
        number("power", self.power, above=0)
        number("shrink_diagonal", self.shrink_diagonal, above=0)
        number("shrink_rest", self.shrink_rest, 0)
        integer("seed", self.seed, 0)

    def _checked(self, X: Features) -> Features:
        X = super()._checked(X)
        if self.power != 1 and X.min() < 0:
            raise InputError(
                "FeCAM raises features to a power, so they must not be negative (as after a ReLU); "
                f"found {X.min():.3g}. Set power=1 for other features"
            )
        return X

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return False

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        means = unit(self._transform(class_means(X, y - known, len(new))))
        factors = np.empty((known + len(new), X.shape[1], X.shape[1]), dtype=np.float32)
        if known:
            means = np.concatenate([self.learned["means"], means])
            factors[:known] = self.learned["factors"]
        for c in range(known, len(factors)):
            factors[c] = inverse_factor(self.correlations(self._transform(X[y == c])))
        return {"means": means, "factors": factors}

    def correlations(self, features: Features) -> Features:
        """Correlations of transformed features by their shrunk covariance."""
        covariance = np.zeros((features.shape[1],) * 2, dtype=np.float32)
        if len(features) > 1:
            centred = features - features.mean(axis=0, dtype=np.float64).astype(np.float32)
            covariance = centred.T @ centred / np.float32(len(features) - 1)
        if not covariance.any():  # a lone sample says nothing about spread
            return np.eye(len(covariance), dtype=np.float32)
        for _ in range(SHRINKINGS):
            covariance = shrunk(covariance, self.shrink_diagonal, self.shrink_rest)
        deviations = np.sqrt(np.diagonal(covariance))
        covariance /= deviations
        covariance /= deviations[:, None]
        return covariance

    def _transform(self, features: Features) -> Features:
        return features if self.power == 1 else np.asarray(np.power(features, np.float32(self.power)))

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        means, factors = self.learned["means"], self.learned["factors"]
        scores = np.empty((len(X), len(means)), dtype=np.float32)
        for begin in range(0, len(X), ROWS):
            vectors = unit(self._transform(X[begin : begin + ROWS]))
            for c, (mean, factor) in enumerate(zip(means, factors, strict=True)):
                # The transpose of a row-major lower triangle is a column-major upper one: no copy is made.
                whitened = blas.strmm(1, factor.T, (vectors - mean).T, trans_a=1, lower=0, overwrite_b=1)
                scores[begin : begin + ROWS, c] = -np.einsum("ij,ij->j", whitened, whitened)
        return scores


def shrunk(covariance: Features, diagonal: float, rest: float) -> Features:
    """Covariance with shares of the mean variance and of the mean covariance added, eq. 8 of the paper."""
    d = len(covariance)
    variance = float(np.trace(covariance, dtype=np.float64))
    others = float(covariance.sum(dtype=np.float64)) - variance
    mean_variance, mean_covariance = variance / d, others / max(1, d * (d - 1))
    result = covariance + np.float32(rest * mean_covariance)
    result[np.diag_indices(d)] += np.float32(diagonal * mean_variance - rest * mean_covariance)
    return result


def inverse_factor(matrix: Features) -> Features:
    """The lower triangle L with ``L^T L = matrix^-1``, zeros above; `matrix` is positive definite."""
    lower, problem = lapack.spotrf(matrix.T, lower=1, clean=1)  # symmetric: its transpose is column-major
    if problem:
        raise InputError("a covariance is not positive definite: raise shrink_diagonal above shrink_rest")
    inverse, _ = lapack.strtri(lower, lower=1, overwrite_c=1)
    return np.asarray(inverse)
