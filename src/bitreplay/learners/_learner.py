"""The one protocol that every compared method implements.

A :class:`Learner` sees tasks of images. A method for a frozen encoder only sees the encoder's output (images
→ features → bits → **memory/head → class**); it is a :class:`FrozenMethod`, and :class:`FrozenLearner` turns it into a
learner. Both describe themselves in the same way (:class:`Method`), so that callers need not distinguish them.
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
    from pathlib import Path

    from bitreplay.data import Samples, Task
    from bitreplay.encoder import Encoder
    from bitreplay.learners.finetuned._context import TrainingContext


import json

Arrays = dict[str, npt.NDArray[Any]]
Inputs = npt.NDArray[np.float32] | PackedBits
Uses = Literal["features", "bits"]


class Place(Protocol):
    """What a run offers its learner; made on request, since both may have to be trained first."""

    def encoder_for(self, uses: Uses, /) -> Encoder:
        """A frozen encoder, for methods on its features or bits."""

    def training_context(self) -> TrainingContext:
        """Which network to train, how much and where, for methods that train one."""


class Method(ABC):
    """The description of a method, with defaults.

    Attributes
    ----------
    name : str
        Its name in tables and on the command line.
    VERSION : int
        Version of its results: raised with every change, so that old runs are not mistaken for new ones.
    bound : str
        What kind of bound it is, for methods that are reference points rather than competitors; "" for all others.
    streams : bool
        Whether it learns more samples of classes that it knows, and so from streams.
    later_options : tuple of str
        Options that have no effect on task 0: runs that differ in them alone learn it once.
    uses : {"features", "bits"} or None
        What it uses of a frozen encoder; None if it trains its own network.
    """

    name: ClassVar[str]
    VERSION: ClassVar[int] = 1
    bound: ClassVar[str] = ""
    streams: ClassVar[bool] = False
    later_options: ClassVar[tuple[str, ...]] = ()

    @property
    def uses(self) -> Uses | None:
        """What it uses of a frozen encoder."""
        return None

    @property
    def version(self) -> str:
        """Version of its results: part of the key of its runs."""
        return str(self.VERSION)

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return True

    @property
    def memory(self) -> BinaryMemory | None:
        """Its binary memory, for a separate file; None for methods that have none."""
        return None

    def ready(self) -> None:  # noqa: B027 (most methods have nothing to do)
        """Do now what the next prediction would have to do first, so that its time counts as learning."""

    @abstractmethod
    def learner_in(self, place: Place) -> Learner:
        """A learner of images that uses this method, with what a run offers."""

    @abstractmethod
    def memory_bits(self) -> int:
        """Bits stored for the classes learned so far, in order to learn more: values only, as the paper counts."""

    @abstractmethod
    def working_set_bits(self) -> int:
        """Bits that a decision reads: weights and factors, some of which may be the memory itself."""

    @abstractmethod
    def state_dict(self) -> Arrays:
        """Everything learned, as arrays for a file."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Load the `state_dict` of a method with the same options; afterwards both answer and learn alike."""


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

    earlier_seconds: float = 0.0  # that went into the last task before an interruption

    def learner_in(self, place: Place) -> Learner:
        """Itself; learners that train a network also adopt the training context of the run."""
        return self

    def keep_progress_in(self, folder: Path, seconds: float) -> None:
        """Keep the state within a task, about every so many seconds, and go on from what is there."""

    def notes(self) -> dict[str, str]:
        """What a reader of its results must know, such as which network it uses."""
        return {}

    @abstractmethod
    def learn(self, task: Task) -> None:
        """Learn the classes of a task, with its training samples only."""

    @abstractmethod
    def predict(self, samples: Samples | npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """A class for every image, numbered as the data set numbers them."""


def to_text(content: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """JSON content as an array of bytes, so that a state is arrays only.

    Examples
    --------
    >>> from_text(to_text({"p": 1}))
    {'p': 1}
    """
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8).copy()


def from_text(array: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """The inverse of :func:`to_text`; raises ValueError if it is not JSON."""
    content = json.loads(np.asarray(array, dtype=np.uint8).tobytes())
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    return content
