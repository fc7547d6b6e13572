"""The mixtures' own posterior: no training, no solving; picks the mixture with the highest likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import make_plain, number
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, product
from bitreplay.errors import InputError
from bitreplay.heads._few import BETA, BETA_OFFSET, lend_prior
from bitreplay.heads._from_memory import Generative
from bitreplay.heads._head import Scores
from bitreplay.memory import BinaryMemory, Prior
from bitreplay.mixture import linear_form

CLAMP = 0.08  # ours: benchmarks/head_options.py, held-out samples of task 0; quantised prototypes need a wider one
AT_ONCE = 2**18  # values of prototypes that are decoded together
PRODUCTS = 2**23  # ours: products that are made at once; more would only take more memory


@dataclass(frozen=True)
class Bayes(Generative):
    """log p(z | c) under each class's mixture, with equal priors for all classes unless told otherwise.

    Parameters
    ----------
    clamp : float, optional
        Prototypes are clamped to [clamp, 1 - clamp]. If None, it is chosen on held-out samples of the first call that
        has enough of them, and is 0.08 until then.
    strength : float
        Samples that a prior made of all classes is worth to a class of few samples; 0 for none.
    offset : float, optional
        What makes up for the few prototypes of a class of few samples; left open, it is chosen like `clamp`, in a call
        that is large enough to pretend, and is 1.25 until then.
    prior : {"balanced", "empirical"}
        Whether all classes are equally frequent, or as frequent as they had samples.
    temperature : float, optional
        By how much scores are too sure, for the empirical prior; left open, it is that of the probabilities.

    Examples
    --------
    >>> from bitreplay import GBMClassifier
    >>> clf = GBMClassifier(head=Bayes(clamp=0.1), binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
    >>> clf.predict_proba([[0, 1]]).round(2)  # the odds are (0.9 / 0.1)^2
    array([[0.01, 0.99]])
    """

    clamp: float | None = None
    strength: float = BETA
    offset: float | None = None
    prior: Prior = "balanced"  # ours: benchmarks/imbalance.py; no class is given up
    temperature: float | None = None
    _slopes: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32), repr=False)
    _offsets: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    _starts: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp), repr=False)

    name = "bayes"
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {"clamp": (0.02, 0.05, CLAMP, 0.12, 0.2)}
    few_choices: ClassVar[Mapping[str, tuple[float, float]]] = {"offset": (0.0, 3.0)}

    def __post_init__(self) -> None:
        make_plain(self)
        if self.clamp is not None:
            number("clamp", self.clamp, above=0, below=0.5)
        super().__post_init__()

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> Bayes:
        """Read the mixtures from the memory, which takes no time."""
        self.check(memory)
        clamp, n_rows, done = CLAMP if self.clamp is None else self.clamp, sum(memory.sizes), 0
        slopes, offsets = np.empty((n_rows, memory.n_features), np.float32), np.empty(n_rows)
        for _, prototypes, weights in memory.blocks(AT_ONCE):
            there = weights > 0  # a class with fewer prototypes than another has weights of 0 behind its own
            rows = slice(done, done := done + int(there.sum()))
            slopes[rows], offsets[rows] = linear_form(prototypes[there], weights[there], clamp)
        starts = np.concatenate([[0], np.cumsum(memory.sizes[:-1])]).astype(np.intp)
        offset = BETA_OFFSET if self.offset is None else self.offset
        lend_prior(slopes, offsets, starts, memory, clamp, self.strength, offset)
        offsets += np.repeat(self.log_prior(memory), memory.sizes)
        return replace(self, _slopes=slopes, _offsets=offsets, _starts=starts)

    def scores(self, bits: PackedBits) -> Scores:
        """Log p(z | c)."""
        if not len(self._offsets):
            raise InputError("the head has not been fitted to a memory yet")
        scores = np.empty((len(bits), len(self._starts)))
        step = max(1, len(self._starts) * PRODUCTS // max(1, len(bits) * len(self._offsets)))
        for begin in range(0, len(self._starts), step):
            scores[:, begin : begin + step] = self._of_classes(bits, self._starts[begin : begin + step + 1], step)
        return scores

    def _of_classes(self, bits: PackedBits, starts: npt.NDArray[np.intp], n_classes: int) -> Scores:
        """Scores of a run of classes; one start more than classes says where they end, or they are the last."""
        rows = slice(starts[0], starts[n_classes] if len(starts) > n_classes else None)
        joint = product(bits, self._slopes[rows]) + self._offsets[rows]
        begins = starts[:n_classes] - starts[0]
        top = np.maximum.reduceat(joint, begins, axis=1)
        joint -= np.repeat(top, np.diff(begins, append=joint.shape[1]), axis=1)
        np.exp(joint, out=joint)
        return np.asarray(top + np.log(np.add.reduceat(joint, begins, axis=1)))

    @property
    def rows(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.intp]]:
        """Slopes and offsets of all prototypes, and the first of every class, for computing scores elsewhere.

        A class's score is the logarithm of the sum of ``exp(slopes @ bits + offset)`` over its prototypes.
        """
        if not len(self._offsets):
            raise InputError("the head has not been fitted to a memory yet")
        return self._slopes, self._offsets, self._starts

    @property
    def nbytes(self) -> int:
        """Working set in bytes."""
        return self._slopes.nbytes + self._offsets.nbytes
