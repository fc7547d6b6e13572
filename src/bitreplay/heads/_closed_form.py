"""A classifier in closed form from the memory's moments: no samples drawn, no training loop.

A Bernoulli mixture has mean ``m = sum_k pi_k mu_k`` and covariance ``U^T U + diag(v)`` with ``U = [sqrt(pi_k) (mu_k -
m)]`` and ``v = sum_k pi_k mu_k (1 - mu_k)``: K rows and a diagonal. Each class is scored by its Mahalanobis distance
under

    Sigma_c = B + (1-a) U_c^T U_c,     B = a S + (1-a) diag(v) + lam * mean(diag S) * I,

where ``S`` and ``v`` are averages over all classes. B is shared, so it is factorised once; a class adds only its K
rows, by Woodbury's identity. Scoring is one product of the bits with n_c (K+1) rows of weights. With ``a = 1`` this is
linear discriminant analysis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bitreplay._floor.arguments import number
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, product
from bitreplay.errors import InputError
from bitreplay.heads._head import FromMemory, Scores
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import Mixture

__all__ = ["ClosedForm"]

Floats = npt.NDArray[np.float64]

BLEND, RIDGE = 0.8, 0.05  # ours: benchmarks/choice.py; 0.7 to 0.9 and 0.01 to 0.2 do as well
ROOM, CROWDED = 2**22, 64  # ours: numbers that are always allowed, and how many per value of a prototype beyond them
NO_VARIANCE = 1e-3  # ours: what counts as the mean variance where no bit varies, as with one sample per class


@dataclass(frozen=True)
class Moments:
    """Mean, spread within prototypes, and spread between them, of one class."""

    mean: Floats  # (D,)
    within: Floats  # (D,) v_c
    between: Floats  # (K, D) U_c

    @classmethod
    def of(cls, mixture: Mixture) -> Moments:
        """Moments of a mixture."""
        mu, pi = mixture.prototypes.astype(np.float64), mixture.weights
        mean = pi @ mu
        return cls(mean, pi @ (mu * (1 - mu)), np.sqrt(pi)[:, None] * (mu - mean))


@dataclass(frozen=True)
class ClosedForm(FromMemory):
    """Discriminant analysis with a covariance per class, from the memory alone.

    Parameters
    ----------
    blend : float, optional
        a in [0, 1]: the share of the correlations that is common to all classes.
    ridge : float, optional
        lam > 0: the share of the mean variance added to every feature.

    Options that are None are chosen on held-out samples of the first call that has enough of them
    (:mod:`bitreplay.gbm`), and is 0.8 and 0.05 until then.

    Examples
    --------
    >>> from bitreplay import GBMClassifier
    >>> clf = GBMClassifier(head=ClosedForm(ridge=0.1), binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
    >>> clf.predict([[0, 1]]).tolist()
    ['mug']
    """

    blend: float | None = None
    ridge: float | None = None
    _n_classes: int = field(default=0, repr=False)
    _weights: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32), repr=False)
    # (n_c (K+1), D): first the linear parts of all classes, then everybody's first row, second row, ...
    _offsets: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    name = "closed_form"
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {  # ours: benchmarks/choice.py; accuracy is flat around them
        "blend": (0.6, BLEND, 0.9),
        "ridge": (0.02, RIDGE, 0.2),
    }

    def __post_init__(self) -> None:
        if self.blend is not None:
            number("blend", self.blend, 0, 1)
        if self.ridge is not None:
            number("ridge", self.ridge, above=0)

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> ClosedForm:
        """Solve for all classes of the memory: a new class changes the part they share."""
        if not len(memory):
            raise InputError("the memory holds no classes")
        blend, ridge = BLEND if self.blend is None else self.blend, RIDGE if self.ridge is None else self.ridge
        moments = [Moments.of(memory.mixture(label)) for label in memory.labels]
        n_classes, widest = len(moments), max(len(m.between) for m in moments)
        means = np.stack([m.mean for m in moments])
        n_features = means.shape[1]
        cells = n_classes * widest * max(widest, n_features)
        if cells > max(ROOM, CROWDED * sum(len(m.between) for m in moments) * n_features):
            raise InputError(
                f"the closed form would need {cells * 8 / 1e9:.1f} GB: of {n_classes} classes one has {widest} "
                f"prototypes of {n_features} bits: use fewer prototypes, or head='bayes'"
            )
        between = np.zeros((n_classes, widest, n_features))  # fewer prototypes: rows of 0, which add nothing
        for rows, m in zip(between, moments, strict=True):
            rows[: len(m.between)] = m.between
        stacked = between.reshape(-1, n_features)
        within = np.mean([m.within for m in moments], axis=0)
        variance = within.mean() + np.vdot(stacked, stacked) / n_features / n_classes  # mean(diag S)
        diagonal = within + ridge * max(variance, NO_VARIANCE)
        shared = blend / n_classes

        # B^-1 of the means and of U, by whichever of two forms of B = diagonal + shared * U^T U is smaller.
        if len(stacked) < n_features:
            # Woodbury's identity, and U B^-1 = (I + shared * U diagonal^-1 U^T)^-1 U diagonal^-1.
            scaled = stacked / diagonal
            small = _gram(stacked / np.sqrt(diagonal), shared)
            small[np.diag_indices_from(small)] += 1
            inverse_stacked = _solve_positive(small, scaled)
            inverse_means = means / diagonal - shared * (means @ scaled.T) @ inverse_stacked
        else:
            full = _gram(stacked.T, shared)
            full[np.diag_indices_from(full)] += diagonal
            solved = _solve_positive(full, np.concatenate([means, stacked]).T).T
            inverse_means, inverse_stacked = solved[:n_classes], solved[n_classes:]
        inverse_between = inverse_stacked.reshape(between.shape)

        # What Woodbury takes off a class's distance is the squared length of K further products with the bits.
        capacitance = (1 - blend) * between @ inverse_between.transpose(0, 2, 1)
        capacitance += np.eye(widest)
        lower = np.linalg.cholesky(capacitance)
        own = (np.sqrt((1 - blend) / 2) * np.linalg.inv(lower)) @ inverse_between  # K x K inverses: quicker
        log_determinants = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(1)
        weights = np.concatenate([inverse_means, own.transpose(1, 0, 2).reshape(-1, n_features)])
        offsets = np.concatenate(
            [
                -np.einsum("cd,cd->c", means, inverse_means) / 2 - log_determinants,
                -np.einsum("ckd,cd->kc", own, means).reshape(-1),
            ]
        )
        return replace(self, _n_classes=n_classes, _weights=weights.astype(np.float32), _offsets=offsets)

    def scores(self, bits: PackedBits) -> Scores:
        """Half the negative Mahalanobis distance, up to a common constant."""
        if not self._n_classes:
            raise InputError("the head has not been fitted to a memory yet")
        parts = product(bits, self._weights)
        parts += self._offsets.astype(parts.dtype)
        n_classes = self._n_classes
        scores = parts[:, :n_classes].astype(np.float64)
        for begin in range(n_classes, parts.shape[1], n_classes):
            scores += np.square(parts[:, begin : begin + n_classes])
        return scores

    @property
    def rows(self) -> tuple[npt.NDArray[np.float32], Floats]:
        """Weights (n_c, 1 + K, D) and offsets (n_c, 1 + K) of every class, for computing scores elsewhere.

        With r the products of its weights with the bits plus offsets, a class's score is ``r[0] + (r[1:] ** 2).sum()``.
        """
        if not self._n_classes:
            raise InputError("the head has not been fitted to a memory yet")
        shape = -1, self._n_classes, self._weights.shape[1]
        return self._weights.reshape(shape).swapaxes(0, 1), self._offsets.reshape(shape[:2]).T

    @property
    def nbytes(self) -> int:
        """Working set in bytes: n_c (K+1) (D+1) numbers."""
        return self._weights.nbytes + self._offsets.nbytes

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options; nothing is learned beyond the memory."""
        return {"blend": self.blend, "ridge": self.ridge}, {}


def _gram(rows: Floats, factor: float) -> Floats:
    """``factor * rows @ rows.T``; only the lower triangle is valid, in half the time."""
    return np.asarray(linalg.blas.dsyrk(factor, rows.T, trans=1, lower=1))


def _solve_positive(matrix: Floats, right: Floats) -> Floats:
    """Solve with a positive definite matrix; its lower triangle is read and overwritten."""
    factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
