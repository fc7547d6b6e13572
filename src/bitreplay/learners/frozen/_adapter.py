"""From images to a method on a frozen encoder: the adapter that owns the encoder and feeds the method.

It gets features or bits, whichever the method uses, from the encoder, which caches them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays, Inputs, Learner, Uses, from_text, to_text
from bitreplay.learners.frozen._method import FeatureSource, FrozenMethod
from bitreplay.memory import BinaryMemory

if TYPE_CHECKING:
    from bitreplay.data import Samples, Task


class FrozenLearner(Learner):
    """A learner made of a method on features or bits, and the frozen encoder that computes them.

    Parameters
    ----------
    method : FrozenMethod
        One of :data:`bitreplay.learners.LEARNERS`, or your own.
    encoder : Encoder
        Turns images into features and bits. If it was trained with a binarizer, methods on bits use that one; otherwise
        they calibrate their own on task 0's features.

    Examples
    --------
    Any function from images to features can be the encoder, here that of the pixels themselves:

    >>> from bitreplay.backbones import Preprocessing
    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.encoder import Encoder
    >>> from bitreplay.learners import LEARNERS
    >>> pixels = Encoder(lambda images: images.flatten(1), Preprocessing((0.5,), (0.5,)), name="pixels")
    >>> learner = FrozenLearner(LEARNERS["StreamingLDA"](), pixels)
    >>> for task in make_scenario(load_dataset("digits"), tasks=5):
    ...     learner.learn(task)
    >>> digits = load_dataset("digits").test
    >>> bool((learner.predict(digits.images) == digits.labels).mean() > 0.9)
    True
    """

    def __init__(self, method: FrozenMethod, encoder: FeatureSource) -> None:
        self.method = method
        self.encoder = encoder

    @property
    def name(self) -> str:  # type: ignore[override]
        """As the method."""
        return self.method.name

    @property
    def uses(self) -> Uses:
        """Features or bits."""
        return self.method.uses

    @property
    def version(self) -> str:
        """As the method."""
        return self.method.version

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return self.method.random

    @property
    def streams(self) -> bool:  # type: ignore[override]
        """As the method."""
        return self.method.streams

    @property
    def memory(self) -> BinaryMemory | None:
        """The method's binary memory, if it has one."""
        return self.method.memory

    def notes(self) -> dict[str, str]:
        """What a reader of results must know about the encoder."""
        return self.encoder.notes()

    def learn(self, task: Task) -> None:
        """Learn the classes of a task, with its training samples only."""
        method = self.method
        if not len(method.classes):
            method.begin(self.encoder)
            if method.needs_calibration:
                method.calibrate(self.encoder.features(task.train), self.encoder.name)
        if task.batch is None:
            method.partial_fit(self._inputs(task.train), task.train.labels)
            return
        if not method.streams:
            raise InputError(f"{self.name} needs all samples of a class at once: it cannot learn from a stream")
        inputs, labels = self._inputs(task.train), task.train.labels
        for begin in range(0, len(labels), task.batch):
            method.partial_fit(inputs[begin : begin + task.batch], labels[begin : begin + task.batch])

    def ready(self) -> None:
        """As the method."""
        self.method.ready()

    def predict(self, samples: Samples | npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
        """A class for every image, numbered as the data set numbers them."""
        return self.method.predict(self._inputs(samples))

    def _inputs(self, samples: Samples | npt.NDArray[np.uint8]) -> Inputs:
        if self.method.uses == "features":
            return self.encoder.features(samples)
        if self.method.code is None:
            raise InputError(f"{self.name} has not learned a task yet: its bits have no thresholds")
        return self.encoder.bits(samples, self.method.code)

    def memory_bits(self) -> int:
        """Bits the method stores for the classes learned so far."""
        return self.method.memory_bits()

    def working_set_bits(self) -> int:
        """Bits that a decision of the method reads; the encoder is not counted."""
        return self.method.working_set_bits()

    def state_dict(self) -> Arrays:
        """Everything the method learned, and which encoder it belongs to."""
        return {**self.method.state_dict(), "encoder": to_text({"key": self.encoder.key})}

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Load the `state_dict` of a learner with the same options and encoder."""
        own = dict(state)
        try:
            key = from_text(own.pop("encoder"))["key"]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                "this is not the state of a learner: it does not say which encoder it belongs to"
            ) from None
        if key != self.encoder.key:
            raise InputError(f"this state was learned with the encoder {key!r}; this learner has {self.encoder.key!r}")
        self.method.begin(self.encoder)
        self.method.load_state_dict(own)
