"""The result of `fit` in one immutable object: readers take it once, writers replace it once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from bitreplay.bits import PackedBits
from bitreplay.errors import InputError
from bitreplay.gbm import GBMState, RefuseBy
from bitreplay.heads import computed
from bitreplay.memory import Label, label_array

Array = npt.NDArray[Any]

SCORES = 2**22  # ours: scores that are alive at once when only the best of each row is wanted: 32 MB
FEWEST_ROWS = 256  # ours: of a block; with fewer, reading the weights of very many classes takes longer than products


@dataclass(frozen=True)
class Fitted:
    """The core's state, and what scikit-learn needs to know about the features.

    Parameters
    ----------
    state : GBMState
        Binarizer, memory, head, seed and temperature.
    n_features_in : int
        Number of features, or of bits if bits are given.
    feature_names_in : ndarray, optional
        Their names, if any.
    """

    state: GBMState
    n_features_in: int
    feature_names_in: Array | None = None

    @cached_property
    def classes(self) -> Array:
        """Classes learned so far, sorted."""
        return sorted_classes(self.state.labels)

    @cached_property
    def order(self) -> npt.NDArray[np.intp]:
        """Column order that sorts the scores as `classes`."""
        return np.argsort(label_array(self.state.labels))

    @cached_property
    def _is_sorted(self) -> bool:
        """Whether classes were learned in the order of `classes`, so that no column need be moved."""
        return bool((self.order == np.arange(len(self.order))).all())

    @cached_property
    def _ranks(self) -> npt.NDArray[np.intp]:
        """Where in `classes` each column of the scores stands."""
        return np.argsort(self.order)

    def with_state(self, state: GBMState) -> Fitted:
        """The same features with another state; classes that cannot be sorted are refused."""
        fitted = replace(self, state=state)
        _ = fitted.classes
        return fitted

    def bits(self, features: Array | PackedBits) -> PackedBits:
        """Features as bits; packed bits unchanged."""
        return features if isinstance(features, PackedBits) else self.state.binarizer.pack(features)

    def scores(self, features: Array | PackedBits) -> npt.NDArray[np.float64]:
        """A score per row and class, in the order of `classes`."""
        scores = self.state.scores(self.bits(features))
        return scores if self._is_sorted else np.asarray(scores[:, self.order])

    def best(self, features: Array | PackedBits) -> npt.NDArray[np.intp]:
        """Which of `classes` has each row's highest score; the first of them, where several have."""
        if len(features) < 2 * FEWEST_ROWS:  # one block
            return self._best(self.state.scores(self.bits(features)))
        return np.concatenate([self._best(scores) for scores in self.in_blocks(features)])

    def _best(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        best: npt.NDArray[np.intp] = scores.argmax(axis=1)
        if self._is_sorted:
            return best
        tied = np.count_nonzero(scores == np.take_along_axis(scores, best[:, None], 1), axis=1) > 1
        best = self._ranks[best]
        if tied.any():
            best[tied] = scores[tied][:, self.order].argmax(axis=1)
        return best

    def confident(self, features: Array | PackedBits) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
        """Which of `classes` has each row's highest score, and how probable it is."""
        temperature = self.state.temperature or 1.0
        answers = [
            (self._best(scores), np.exp(log_softmax(scores / temperature, axis=1).max(1)))
            for scores in self.in_blocks(features)
        ]
        best, confidence = zip(*answers, strict=True)
        return np.concatenate(best), np.concatenate(confidence)

    def refused(
        self, features: Array | PackedBits, share: float, by: RefuseBy
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Which of `classes` is best for each row, and which rows look newer than all but a share of known samples."""
        looks = self.state.looks
        with self.state.threads():
            answers = [
                (self._best(scores), looks.refused(bits, scores, share, by)) for bits, scores in self._blocks(features)
            ]
        best, refused = zip(*answers, strict=True)
        return np.concatenate(best), np.concatenate(refused)

    def novelties(self, features: Array | PackedBits) -> npt.NDArray[np.float64]:
        """How new every row looks."""
        looks = self.state.looks
        with self.state.threads():
            return np.concatenate([looks.novelties(bits, scores) for bits, scores in self._blocks(features)])

    def log_densities(self, features: Array | PackedBits) -> npt.NDArray[np.float64]:
        """Log-density of every row's bits."""
        with self.state.threads():
            return self.state.looks.log_densities(self.bits(features))

    def in_blocks(self, features: Array | PackedBits) -> Iterator[npt.NDArray[np.float64]]:
        """Scores of the same blocks."""
        return (scores for _, scores in self._blocks(features))

    def _blocks(self, features: Array | PackedBits) -> Iterator[tuple[PackedBits, npt.NDArray[np.float64]]]:
        """Blocks of rows and their scores, none of them large, and none so small that it takes longer.

        Their columns are in the order in which classes were learned: to sort those of many classes takes as long as to
        find the best.
        """
        bits = self.bits(features)
        n_blocks = max(1, min(len(bits) * len(self.order) // SCORES, len(bits) // FEWEST_ROWS))
        size = -(-len(bits) // n_blocks)
        for begin in range(0, len(bits), size):
            rows = bits[begin : begin + size] if n_blocks > 1 else bits
            yield rows, self.state.scores(rows)


def sorted_classes(labels: tuple[Label, ...]) -> Array:
    """`classes_` as scikit-learn has it."""
    if len({isinstance(label, str) for label in labels}) > 1:
        raise InputError("labels must be all text or all numbers")
    return np.sort(label_array(labels))


class FittedAttributes:
    """Holds the one :class:`Fitted`, for which threads that replace it queue.

    The attributes with a trailing underscore that scikit-learn's users expect are read off it.
    """

    _fitted: Fitted | None = None

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def _known(self, attribute: str) -> Fitted:
        if self._fitted is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r} before it is fitted")
        return self._fitted

    def _now(self) -> Fitted:
        """What is known at this moment: everything that a call does is done with this one object."""
        if self._fitted is None:  # scikit-learn's own check takes as long as the product of a row
            check_is_fitted(self)
        return self._known("memory_")

    def _writing(self) -> threading.RLock:
        """The lock for learning threads. It belongs to the object, not to its state: copies and files have none."""
        lock: threading.RLock = self.__dict__.setdefault("_lock", threading.RLock())  # atomic, so that all get one
        return lock

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]  # of BaseEstimator
        state.pop("_lock", None)
        return state

    @property
    def classes_(self) -> Array:
        """Classes learned so far, sorted."""
        return self._known("classes_").classes

    @property
    def memory_(self) -> Any:
        """Everything stored about the classes, a :class:`BinaryMemory`: a copy, which shares all numbers."""
        return self._known("memory_").state.memory.copy()  # the head would not follow a change of the original

    @property
    def head_(self) -> Any:
        """The head computed from the memory, with its chosen options."""
        return computed(self._known("head_").state.head)

    @property
    def binarizer_(self) -> Any:
        """The binarizer, with the thresholds of the first call."""
        return self._known("binarizer_").state.binarizer

    @property
    def temperature_(self) -> float | None:
        """Divisor of the scores before they become probabilities; None until calibrated."""
        return self._known("temperature_").state.temperature

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self._known("n_features_in_").n_features_in

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, if any."""
        names = self._known("feature_names_in_").feature_names_in
        if names is None:
            raise AttributeError(f"the features that {type(self).__name__} has seen have no names")
        return names
