"""What all methods on a frozen encoder share: checks before anything changes, labels, sizes, and the state as arrays.

A method is one file: it defines what it stores after learning new classes (`_learn`, which changes nothing itself) and
how it scores samples (`_scores`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays, Inputs, Method, Place, Uses, from_text, to_text

if TYPE_CHECKING:
    from bitreplay.binarizers import Binarizer
    from bitreplay.data import Samples
    from bitreplay.learners.frozen._adapter import FrozenLearner

Features = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


class FeatureSource(Protocol):
    """What a method needs of an encoder; :class:`bitreplay.encoder.Encoder` is one."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def key(self) -> str:
        """Hash of everything that determines its features."""

    @property
    def binarizer(self) -> Binarizer | None:
        """The binarizer it was trained with, if any."""

    @property
    def tail(self) -> Any:
        """Makes the layers after the tap of a truncated network; None for others."""

    def notes(self) -> dict[str, str]:
        """What a reader of results must know about it."""

    def features(self, samples: Samples | npt.NDArray[np.uint8], /) -> npt.NDArray[np.float32]:
        """Features (N, d)."""

    def bits(self, samples: Samples | npt.NDArray[np.uint8], binarizer: Binarizer, /) -> PackedBits:
        """Packed bits."""


class FrozenMethod(Method):
    """Base of the methods: see the module's docstring.

    Its constructor takes keyword options with types and defaults, `seed` last; the command line is made from them.

    Attributes
    ----------
    classes : ndarray of int64
        Labels learned so far, in learning order; scores have their columns in this order.
    n_features : int
        Width of the inputs; 0 before the first task.
    learned : mapping
        The last result of `_learn`, usually arrays. `memory_arrays` names those stored in order to learn more, and
        `decision_arrays` those that a decision reads.
    code : Binarizer or None
        The binarizer of methods on bits; None before `begin` or `calibrate`.

    Examples
    --------
    Methods are used alike, and compared by what they get right and what they keep:

    >>> from sklearn.datasets import load_digits
    >>> from bitreplay.learners import LEARNERS
    >>> X, y = load_digits(return_X_y=True)
    >>> for name in ("NearestMean", "StreamingLDA"):
    ...     method = LEARNERS[name]()
    ...     for rows in (y < 5, y >= 5):  # two tasks
    ...         method.partial_fit(X[rows], y[rows])
    ...     print(method.name, method.uses, bool((method.predict(X) == y).mean() > 0.93), method.memory_bits())
    NearestMean features False 20480
    StreamingLDA features True 151552
    """

    memory_arrays: ClassVar[tuple[str, ...]] = ()
    decision_arrays: ClassVar[tuple[str, ...]] = ()
    seed: int

    classes: Labels = np.empty(0, dtype=np.int64)
    n_features: int = 0
    learned: Mapping[str, Any] = MappingProxyType({})
    code: Binarizer | None = None

    @property
    def uses(self) -> Uses:
        """Features or bits."""
        return "features"

    def learner_in(self, place: Place) -> FrozenLearner:
        """A learner that feeds this method with the output of the run's frozen encoder."""
        from bitreplay.learners.frozen._adapter import FrozenLearner

        return FrozenLearner(self, place.encoder_for(self.uses))

    # ------------------------------------------------------------------ before the first task

    def begin(self, encoder: FeatureSource) -> None:
        """Use what an encoder provides, before the first task; most methods need nothing."""

    @property
    def needs_calibration(self) -> bool:
        """Whether the features of task 0 must be shown to `calibrate` before its samples are learned."""
        return False

    def calibrate(self, features: Features, encoder_name: str = "") -> None:
        """Calibrate the binarizer on the features of task 0; methods on features need none."""

    # ------------------------------------------------------------------ what a method defines

    @abstractmethod
    def _learn(self, X: Any, y: Labels, new: Labels) -> dict[str, Any]:
        """Everything to be stored after learning; `y` are positions in the resulting `classes`, the `new` ones last."""

    @abstractmethod
    def _scores(self, X: Any) -> npt.NDArray[np.floating]:
        """Scores (rows, classes); the highest wins."""

    # ------------------------------------------------------------------ learning and deciding

    def partial_fit(self, X: Inputs, y: Labels) -> None:
        """Learn new classes from their samples alone; with `streams`, also more samples of known ones.

        Parameters
        ----------
        X : ndarray of float32, shape (N, d), or PackedBits
            As given by `uses`.
        y : ndarray of int64, shape (N,)
            Labels: any integers; without `streams`, none that were learned before.
        """
        X = self._checked(X)
        labels = self._checked_labels(y, len(X))
        new = np.setdiff1d(labels, self.classes)
        classes = np.concatenate([self.classes, new])
        ascending = np.argsort(classes)
        learned = self._learn(X, ascending[np.searchsorted(classes, labels, sorter=ascending)], new)
        self._take(learned, classes, X.shape[1])

    def predict(self, X: Inputs) -> Labels:
        """A class for every row, by the labels that `partial_fit` was given."""
        self._require_classes()
        X = self._checked(X)
        return np.asarray(self.classes[self._scores(X).argmax(1)])

    def _take(self, learned: Mapping[str, Any], classes: Labels, n_features: int) -> None:
        self.learned, self.classes, self.n_features = learned, classes, n_features

    def _generator(self, *purpose: int) -> np.random.Generator:
        """A generator that depends on the seed and on how much was learned: a reloaded method continues identically."""
        return np.random.default_rng([self.seed, len(self.classes), *purpose])

    # ------------------------------------------------------------------ sizes

    def memory_bits(self) -> int:
        """Bits of the arrays stored for the classes learned so far."""
        return self._bits_of(self.memory_arrays)

    def working_set_bits(self) -> int:
        """Bits of the arrays that a decision reads."""
        return self._bits_of(self.decision_arrays)

    def _bits_of(self, names: tuple[str, ...]) -> int:
        return 8 * sum(int(self.learned[name].nbytes) for name in names) if len(self.classes) else 0

    # ------------------------------------------------------------------ state

    def state_dict(self) -> Arrays:
        """Everything learned, as arrays."""
        self._require_classes()
        about = {"method": to_text({"name": self.name}), "n_features": np.array(self.n_features)}
        state = {**about, "classes": self.classes, **self._to_arrays()}
        # Row-major, whatever a solver returned: safetensors writes bytes as they lie.
        return {name: np.asarray(array, order="C") for name, array in state.items()}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Load the `state_dict` of a method with the same options."""
        arrays = {name: np.array(value) for name, value in state.items()}
        try:
            if (name := from_text(arrays.pop("method"))["name"]) != self.name:
                raise ValueError(f"it is one of {name}")
            classes, n_features = arrays.pop("classes").astype(np.int64), int(arrays.pop("n_features"))
            learned = self._from_arrays(arrays)
        except (KeyError, TypeError, ValueError, RuntimeError, OSError) as error:
            raise InputError(f"this is not a state of {self.name}: {error}") from None
        self._take(learned, classes, n_features)

    def _to_arrays(self) -> Arrays:
        """The learned state as arrays."""
        return dict(self.learned)

    def _from_arrays(self, arrays: Arrays) -> dict[str, Any]:
        """The inverse of `_to_arrays`; raises ValueError or similar if arrays do not match."""
        missing = {*self.memory_arrays, *self.decision_arrays} - arrays.keys()
        if missing:
            raise ValueError(f"it has no {', '.join(sorted(missing))}")
        return arrays

    # ------------------------------------------------------------------ checks

    def _require_classes(self) -> None:
        if not len(self.classes):
            raise InputError(f"{self.name} has not learned any class yet: call partial_fit first")

    def _checked(self, X: Any) -> Any:
        """Inputs of the right kind and width, or an error."""
        if self.uses == "bits":
            if not isinstance(X, PackedBits):
                raise InputError(f"{self.name} takes packed bits; got {type(X).__name__}")
        else:
            if isinstance(X, PackedBits):
                raise InputError(f"{self.name} takes features; got packed bits")
            X = np.asarray(X)
            if X.ndim != 2 or X.dtype.kind not in "biuf":
                raise InputError(f"features must be a matrix of numbers (rows x features); got {X.dtype} {X.shape}")
            X = X.astype(np.float32, copy=False)
            if not np.isfinite(X).all():
                raise InputError("features must be finite; found NaN or infinity")
        if not len(X):
            raise InputError("found 0 samples; at least 1 is required")
        if self.n_features and X.shape[1] != self.n_features:
            raise InputError(f"{self.name} learned from {self.n_features} {self.uses}; got {X.shape[1]}")
        return X

    def _checked_labels(self, y: Any, n_samples: int) -> Labels:
        """Labels of classes that may be learned now, or an error."""
        labels = np.asarray(y)
        if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != n_samples:
            raise InputError(
                f"one integer label per sample is expected, {n_samples} of them; got {labels.dtype} {labels.shape}"
            )
        known = np.intersect1d(labels, self.classes)
        if len(known) and not self.streams:
            raise InputError(
                f"classes {known[:10].tolist()} were already learned: every class comes in one task, with all its "
                "samples"
            )
        return labels.astype(np.int64)
