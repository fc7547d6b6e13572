"""A classifier in closed form from the memory's moments: no samples drawn, no training loop.

A Bernoulli mixture has mean ``m = sum_k pi_k mu_k`` and covariance ``U^T U + diag(v)`` with ``U = [sqrt(pi_k) (mu_k -
m)]`` and ``v = sum_k pi_k mu_k (1 - mu_k)``: K rows and a diagonal. Each class is scored by its Mahalanobis distance
under

    Sigma_c = B + (1-a) U_c^T U_c,     B = a S + (1-a) diag(v) + lam * mean(diag S) * I,

where ``S`` and ``v`` are averages over all classes. B is shared, so it is factorised once; a class adds only its K
rows, by Woodbury's identity. Scoring is one product of the bits with n_c (K+1) rows of weights. With ``a = 1`` this is
linear discriminant analysis. The means of classes of few samples are guessed with the help of the others
(:mod:`bitreplay.heads._few`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import linalg

from bitreplay._floor.arguments import make_plain, number
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, product
from bitreplay.errors import InputError
from bitreplay.heads._few import LARGE, OFFSET, STRENGTH, lend_strength, with_references
from bitreplay.heads._from_memory import Generative
from bitreplay.heads._head import Scores
from bitreplay.heads._moments import Blocks, Moments, gram
from bitreplay.heads._shortlist import MANY_CLASSES, shortlisted
from bitreplay.memory import BinaryMemory, Prior

Floats = npt.NDArray[np.float64]
Solve = Callable[[Moments], tuple[npt.NDArray[Any], npt.NDArray[Any]]]  # B^-1 of the means and of U, in rows

BLEND, RIDGE = 0.8, 0.05  # ours: benchmarks/choice.py; 0.7 to 0.9 and 0.01 to 0.2 do as well
ROOM, CROWDED = 2**22, 64  # ours: numbers that are always allowed, and how many per value of a prototype beyond them
PRODUCTS = 2**23  # ours: products that are made at once; more would only take more memory
NO_VARIANCE = 1e-3  # ours: what counts as the mean variance where no bit varies, as with one sample per class


@dataclass(frozen=True)
class ClosedForm(Generative):
    """Discriminant analysis with a covariance per class, from the memory alone.

    Parameters
    ----------
    blend : float, optional
        a in [0, 1]: the share of the correlations that is common to all classes.
    ridge : float, optional
        lam > 0: the share of the mean variance added to every feature.
    strength : float
        t >= 0: how strongly the means of classes of few samples are drawn to where those of the others lie. With 0 a
        class is scored as if its mean were exact, however few samples it had.
    offset : float, optional
        What makes up for it on samples of the class itself.
    prior : {"balanced", "empirical"}
        Whether all classes are equally frequent, or as frequent as they had samples.
    temperature : float, optional
        By how much scores are too sure, for the empirical prior; left open, it is that of the probabilities.

    Notes
    -----
    Options that are None are chosen on held-out samples of the first call that has enough of them
    (:mod:`bitreplay.gbm`), and are 0.8, 0.05 and 0.75 until then.

    Examples
    --------
    >>> from bitreplay import GBMClassifier
    >>> clf = GBMClassifier(head=ClosedForm(ridge=0.1), binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
    >>> clf.predict([[0, 1]]).tolist()
    ['mug']
    """

    blend: float | None = None
    ridge: float | None = None
    strength: float = STRENGTH
    offset: float | None = None
    prior: Prior = "balanced"  # ours: benchmarks/imbalance.py; no class is given up
    temperature: float | None = None
    _n_classes: int = field(default=0, repr=False)
    _weights: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32), repr=False)
    # (n_c (K+1), D): first the linear parts of all classes, then everybody's first row, second row, ...
    _offsets: Floats = field(default_factory=lambda: np.empty(0), repr=False)

    name = "closed_form"
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {  # ours: benchmarks/choice.py; accuracy is flat around them
        "blend": (0.6, BLEND, 0.9),
        "ridge": (0.02, RIDGE, 0.2),
    }
    few_choices: ClassVar[Mapping[str, tuple[float, float]]] = {"offset": (0.0, 2.0)}

    def __post_init__(self) -> None:
        make_plain(self)
        if self.blend is not None:
            number("blend", self.blend, 0, 1)
        if self.ridge is not None:
            number("ridge", self.ridge, above=0)
        super().__post_init__()

    def check(self, memory: BinaryMemory) -> None:
        """Refuse an empty memory, and one of few classes with so many prototypes that others would drown in zeros."""
        super().check(memory)
        n_classes, widest, n_features = len(memory), max(memory.sizes), memory.n_features
        cells = n_classes * widest * max(widest, n_features)
        if cells > max(ROOM, CROWDED * sum(memory.sizes) * n_features):
            raise InputError(
                f"the closed form would need {cells * 8 / 1e9:.1f} GB: of {n_classes} classes one has {widest} "
                f"prototypes of {n_features} bits: use fewer prototypes, or head='bayes'"
            )

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> ClosedForm:
        """Solve for all classes of the memory: a new class changes the part they share."""
        return self.fit_part(memory, slice(None))

    def fit_part(self, memory: BinaryMemory, classes: slice) -> ClosedForm:
        """Solve for a run of classes, as they are among all classes of the memory: the shared part is that of all.

        Beside it, only what is asked for is computed and kept; its scores are those that the whole head would give.
        """
        self.check(memory)
        try:
            return self._solved(memory, np.arange(len(memory))[classes])
        except np.linalg.LinAlgError as error:
            raise InputError(f"the closed form cannot be solved with a ridge of {self.ridge} ({error})") from None

    def _solved(self, memory: BinaryMemory, asked: npt.NDArray[np.intp]) -> ClosedForm:
        blend, ridge = BLEND if self.blend is None else self.blend, RIDGE if self.ridge is None else self.ridge
        counts = np.array([memory.count(label) for label in memory.labels])
        wanted = with_references(asked, counts) if self.strength else asked
        widest, n_features = max(memory.sizes), memory.n_features
        blocks = Blocks(memory)
        solve = _solver(blocks, blend, ridge)
        weights = np.empty((1 + widest, len(wanted), n_features), np.float32)
        offsets = np.empty((1 + widest, len(wanted)))
        helped = self.strength > 0 and (counts[wanted] < LARGE).any()  # else nobody asks for means
        means = np.empty((len(wanted) if helped else 0, n_features), blocks.dtype)
        for block in blocks:
            begin, end = np.searchsorted(wanted, (block.classes.start, block.classes.stop))
            if begin < end:
                into, own = slice(begin, end), wanted[begin:end] - block.classes.start
                if helped:
                    means[into] = block.means[own]
                _write_rows(block, own, solve, blend, weights[:, into], offsets[:, into])
        if helped:
            offset = OFFSET if self.offset is None else self.offset
            lend_strength(weights, offsets, means, counts[wanted], self.strength, offset)
        offsets[0] += self.log_prior(memory)[wanted]
        if len(wanted) > len(asked):
            kept = np.searchsorted(wanted, asked)
            weights, offsets = weights[:, kept], offsets[:, kept]
        flat = weights.reshape(-1, n_features)
        return replace(self, _n_classes=len(asked), _weights=flat, _offsets=offsets.reshape(-1))

    def scores(self, bits: PackedBits) -> Scores:
        """Half the negative Mahalanobis distance, up to a common constant."""
        if not self._n_classes:
            raise InputError("the head has not been fitted to a memory yet")
        n_classes = self._n_classes
        if n_classes > MANY_CLASSES:
            return shortlisted(bits, self._weights, self._offsets, n_classes)
        together = max(1, PRODUCTS // max(1, len(bits) * n_classes))  # rows of a class
        scores = np.zeros((len(bits), n_classes))
        for first in range(0, len(self._weights), together * n_classes):
            outputs = slice(first, first + together * n_classes)
            parts = product(bits, self._weights[outputs])
            parts += self._offsets[outputs].astype(parts.dtype, copy=False)
            own = parts.reshape(len(bits), -1, n_classes)
            if first == 0:
                scores += own[:, 0]
                own = own[:, 1:]
            scores += np.einsum("ikc,ikc->ic", own, own)
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


def _solver(blocks: Blocks, blend: float, ridge: float) -> Solve:
    """Multiplication by B^-1, by whichever of two forms of B = diagonal + shared * U^T U is smaller."""
    within, full, between = blocks.shared()
    n_classes, n_features = blocks.n_classes, blocks.n_features
    variance = within.mean() + between / n_features / n_classes  # mean(diag S)
    diagonal = within + ridge * max(variance, NO_VARIANCE)
    shared = blend / n_classes
    if full is None:
        return lambda everything: _solve_few(everything, diagonal, shared)
    full *= shared
    full[np.diag_indices_from(full)] += diagonal
    factor = linalg.cho_factor(full, lower=True, overwrite_a=True, check_finite=False)
    inverse = None
    if blocks.dtype == np.float32:  # a product takes half the time of two triangular solutions
        inverse = linalg.cho_solve(factor, np.eye(n_features), check_finite=False).astype(np.float32)

    def solve(block: Moments) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        rows = np.concatenate([block.means, block.between.reshape(-1, n_features)])
        solved = linalg.cho_solve(factor, rows.T, check_finite=False).T if inverse is None else rows @ inverse
        return solved[: len(block.means)], solved[len(block.means) :].reshape(block.between.shape)

    return solve


def _solve_few(everything: Moments, diagonal: Floats, shared: float) -> tuple[Floats, Floats]:
    """Woodbury's identity, and U B^-1 = (I + shared * U diagonal^-1 U^T)^-1 U diagonal^-1."""
    means, between = everything.means, everything.between
    stacked = between.reshape(-1, between.shape[2])
    scaled = stacked / diagonal
    small = shared * gram(stacked / np.sqrt(diagonal))
    small[np.diag_indices_from(small)] += 1
    inverse = _solve_positive(small, scaled)
    return means / diagonal - shared * (means @ scaled.T) @ inverse, inverse.reshape(between.shape)


def _write_rows(
    block: Moments,
    own: npt.NDArray[np.intp],
    solve: Solve,
    blend: float,
    weights: npt.NDArray[np.float32],
    offsets: Floats,
) -> None:
    """Write the linear part and the K further rows of some classes of a block."""
    inverse_means, inverse_between = solve(block)
    means, between = block.means, block.between
    if len(own) < len(means):
        means, between, inverse_means, inverse_between = (
            values[own] for values in (means, between, inverse_means, inverse_between)
        )

    # What Woodbury takes off a class's distance is the squared length of K further products with the bits.
    capacitance = (1 - blend) * (between @ inverse_between.swapaxes(1, 2)).astype(np.float64)
    capacitance += np.eye(between.shape[1])
    lower = np.linalg.cholesky(capacitance)
    inverse_lower = np.sqrt((1 - blend) / 2) * np.linalg.inv(lower)  # K x K inverses: quicker
    rows = inverse_lower.astype(inverse_between.dtype) @ inverse_between
    weights[0], weights[1:] = inverse_means, rows.swapaxes(0, 1)
    log_determinants = np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(1)
    offsets[0] = -np.einsum("cd,cd->c", means, inverse_means, dtype=np.float64) / 2 - log_determinants
    offsets[1:] = -(rows @ means[:, :, None])[:, :, 0].T


def _solve_positive(matrix: Floats, right: Floats) -> Floats:
    """Solve with a positive definite matrix; its lower triangle is read and overwritten."""
    factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.cho_solve(factor, right, check_finite=False))
