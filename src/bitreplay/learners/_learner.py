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
    """A method that learns classes task by task."""

    @property
    def name(self) -> str:
        """What tables call it."""

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
    """

    @property
    def name(self) -> str:
        """What tables call it."""

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
