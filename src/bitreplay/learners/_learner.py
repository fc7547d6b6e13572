"""What every compared method can do: the two protocols that the engine knows methods by.

A `Learner` sees tasks of images. A method for a frozen encoder only sees what the encoder makes of them (images →
features → bits → **memory/head → class**); it is a `FrozenClassifier`, and `FrozenLearner` makes a learner of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits

if TYPE_CHECKING:
    from bitreplay.data import Samples, Task

__all__ = ["Arrays", "FrozenClassifier", "Inputs", "Learner", "Uses"]

Arrays = dict[str, npt.NDArray[Any]]
Inputs = npt.NDArray[np.float32] | PackedBits
Uses = Literal["features", "bits"]


class Learner(Protocol):
    """A method that learns classes task by task.

    Examples
    --------
    A learner of one's own, which answers with the newest class, whatever it is asked:

    >>> class Newest:
    ...     name = "newest"
    ...     def notes(self): return {}
    ...     def learn(self, task): self.answer = task.classes[-1:]
    ...     def predict(self, samples): return np.repeat(self.answer, len(samples))
    ...     def memory_bits(self): return 0
    ...     def working_set_bits(self): return 64
    ...     def state_dict(self): return {"answer": self.answer}
    ...     def load_state_dict(self, state): self.answer = state["answer"]
    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.evaluation import evaluate
    >>> evaluate(Newest(), make_scenario(load_dataset("digits"), sizes=[2, 1, 1], classes=4)).right
    array([[ 0, 35,  0,  0],
           [ 0,  0, 36,  0],
           [ 0,  0,  0, 36]])
    """

    @property
    def name(self) -> str:
        """What tables call it."""

    def notes(self) -> dict[str, str]:
        """What a reader of its results must know of the network."""

    def learn(self, task: Task) -> None:
        """Learn the classes of a task, with its training samples only."""

    def predict(self, samples: Samples | npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """A class for every image, numbered as the data set numbers them."""

    def memory_bits(self) -> int:
        """What is kept of the classes learned so far, to be able to learn more: values only, as the paper counts."""

    def working_set_bits(self) -> int:
        """What a decision reads: weights and factors, some of which may be the memory itself."""

    def state_dict(self) -> Arrays:
        """All that was learned, as arrays: for a file."""

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `state_dict` of a learner with the same options gave; it then answers and learns alike."""


class FrozenClassifier(Protocol):
    """A method on what a frozen encoder puts out.

    Its constructor takes keyword options with types and defaults, `seed` last; the command line is made from them.

    Examples
    --------
    Methods are used alike, and compared by what they get right and what they keep:

    >>> from sklearn.datasets import load_digits
    >>> from bitreplay.learners import FROZEN
    >>> X, y = load_digits(return_X_y=True)
    >>> for name in ("NearestMean", "StreamingLDA"):
    ...     method = FROZEN[name]()
    ...     for rows in (y < 5, y >= 5):  # two tasks
    ...         method.partial_fit(X[rows], y[rows])
    ...     print(method.name, method.uses, bool((method.predict(X) == y).mean() > 0.93), method.memory_bits())
    NearestMean features False 20480
    StreamingLDA features True 151552
    """

    @property
    def name(self) -> str:
        """What tables call it."""

    @property
    def version(self) -> str:
        """Version of what it computes: part of the key of its runs, and raised with every change."""

    @property
    def uses(self) -> Uses:
        """Whether it wants features, float32 (N, d), or packed bits."""

    def partial_fit(self, X: Inputs, y: npt.NDArray[np.int64]) -> None:
        """Learn new classes from samples of theirs alone."""

    def predict(self, X: Inputs) -> npt.NDArray[np.int64]:
        """A class for every row, by the labels that `partial_fit` was given."""

    def memory_bits(self) -> int:
        """What is kept of the classes learned so far, to be able to learn more: values only, as the paper counts."""

    def working_set_bits(self) -> int:
        """What a decision reads: weights and factors, some of which may be the memory itself."""

    def state_dict(self) -> Arrays:
        """All that was learned, as arrays."""

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `state_dict` of a classifier with the same options gave."""
