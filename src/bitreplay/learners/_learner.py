"""What every compared method can do: the one protocol that the engine knows methods by.

A :class:`Learner` sees tasks of images. A method for a frozen encoder only sees what the encoder makes of them (images
→ features → bits → **memory/head → class**); it is a :class:`FrozenMethod`, and :class:`FrozenLearner` makes a learner
of it. Both say the same things about themselves (:class:`Method`), so that nobody has to ask which of the two they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.memory import BinaryMemory

if TYPE_CHECKING:
    from bitreplay.data import Samples, Task
    from bitreplay.encoder import Encoder
    from bitreplay.learners.finetuned._context import TrainingContext

__all__ = ["Arrays", "Inputs", "Learner", "Method", "Place", "Uses"]

Arrays = dict[str, npt.NDArray[Any]]
Inputs = npt.NDArray[np.float32] | PackedBits
Uses = Literal["features", "bits"]


class Place(Protocol):
    """What a run offers its learner; made when it is asked for, since both may have to be trained first."""

    def encoder_for(self, uses: Uses, /) -> Encoder:
        """A frozen encoder, for methods on its features or bits."""

    def training_context(self) -> TrainingContext:
        """Which network to train, how much and where, for methods that train one."""


class Method(ABC):
    """What every method says about itself, with defaults.

    Attributes
    ----------
    name : str
        What tables and the command line call it.
    VERSION : int
        Of what it computes: raised with every change, so that no run of before passes for one of after.
    bound : str
        What kind of bound it is, for methods that show what is possible and compete with nobody; "" for all others.
    uses : {"features", "bits"} or None
        What it uses of a frozen encoder; None where it trains a network of its own.
    """

    name: ClassVar[str]
    VERSION: ClassVar[int] = 1
    bound: ClassVar[str] = ""

    @property
    def uses(self) -> Uses | None:
        """What it uses of a frozen encoder."""
        return None

    @property
    def version(self) -> str:
        """Version of what it computes: part of the key of its runs."""
        return str(self.VERSION)

    @property
    def random(self) -> bool:
        """Whether another seed may give another result."""
        return True

    @property
    def memory(self) -> BinaryMemory | None:
        """Its binary memory, for a file of its own; None for methods that have none."""
        return None

    @abstractmethod
    def learner_in(self, place: Place) -> Learner:
        """A learner of images that follows this method, with what a run offers."""

    @abstractmethod
    def memory_bits(self) -> int:
        """What is kept of the classes learned so far, to be able to learn more: values only, as the paper counts."""

    @abstractmethod
    def working_set_bits(self) -> int:
        """What a decision reads: weights and factors, some of which may be the memory itself."""

    @abstractmethod
    def state_dict(self) -> Arrays:
        """All that was learned, as arrays: for a file."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `state_dict` of one with the same options gave; it then answers and learns alike."""


class Learner(Method):
    """A method that learns classes task by task.

    Examples
    --------
    A learner of one's own, which answers with the newest class, whatever it is asked:

    >>> class Newest(Learner):
    ...     name = "newest"
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

    def learner_in(self, place: Place) -> Learner:
        """Itself; one that trains as the command line says takes over the place's training context."""
        return self

    def notes(self) -> dict[str, str]:
        """What a reader of its results must know, such as which network it stands on."""
        return {}

    @abstractmethod
    def learn(self, task: Task) -> None:
        """Learn the classes of a task, with its training samples only."""

    @abstractmethod
    def predict(self, samples: Samples | npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """A class for every image, numbered as the data set numbers them."""
