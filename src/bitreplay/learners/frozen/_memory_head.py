"""What GBM and latent replay share: the core's state, which is a binary memory and a head that decides from it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from bitreplay._floor.arguments import number, one_of
from bitreplay.binarizers import Native
from bitreplay.bits import PackedBits
from bitreplay.gbm import GBMOptions, GBMState, head_of, state_content, state_from_content
from bitreplay.heads import VERSION as HEADS_VERSION
from bitreplay.heads import Head, MakeModule, Replay, Scores, computed
from bitreplay.learners._learner import Arrays
from bitreplay.learners._text import from_text, to_text
from bitreplay.learners.frozen._architectures import Architecture, make_replay
from bitreplay.learners.frozen._code import OnBits
from bitreplay.learners.frozen._method import FeatureSource, Labels
from bitreplay.memory import BinaryMemory, Label

__all__ = ["MemoryAndHead"]


class MemoryAndHead(OnBits):
    """Base of the methods whose `learned` is a :class:`GBMState`.

    Attributes
    ----------
    tail : callable or None
        ``tail(n_inputs, n_classes)`` makes the layers after the encoder's tap, for `architecture="quicknet_tail"`; None
        for an encoder without a tap.
    """

    architecture: Architecture
    epochs: int
    min_steps: int
    batch_size: int
    learning_rate: float | None
    tail: MakeModule | None = None
    linear_rate: ClassVar[float] = Replay.learning_rate

    def begin(self, encoder: FeatureSource) -> None:
        """Use the binarizer that an encoder was trained with, and the layers after its tap."""
        self.tail = encoder.tail
        super().begin(encoder)

    @property
    def version(self) -> str:
        """Its own version, and those of memory and heads."""
        return f"{self.VERSION}.{HEADS_VERSION}"

    @property
    def state(self) -> GBMState:
        """Memory and head, and everything needed to continue learning."""
        self._require_classes()
        state: GBMState = self.learned["state"]
        return state

    @property
    def memory(self) -> BinaryMemory | None:
        """Everything stored about the classes: it can be saved, merged or read on its own; None before the first."""
        return self.state.memory if len(self.classes) else None

    @abstractmethod
    def _options(self) -> GBMOptions:
        """How the core learns; the head is not fitted."""

    def _check_replay_options(self) -> None:
        one_of("architecture", self.architecture, Architecture)
        if self.learning_rate is not None:
            number("learning_rate", self.learning_rate, above=0)
        self._replay()  # refuses the others where they are out of range

    def _replay(self) -> Replay:
        """The untrained replay head, as set by the options."""
        return make_replay(
            self.architecture,
            self.tail,
            signs=isinstance(self.code, Native),
            epochs=self.epochs,
            min_steps=self.min_steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            linear_rate=self.linear_rate,
        )

    def _by_label(self, X: PackedBits, y: Labels, new: Labels) -> dict[Label, PackedBits]:
        """Samples of every class that there are some of, by its label."""
        classes = np.concatenate([self.classes, new])
        return {int(classes[place]): X[y == place] for place in np.unique(y)}

    def ready(self) -> None:
        """Compute the head, if that has been put off."""
        if len(self.classes):
            computed(self.state.head)

    def _scores(self, X: PackedBits) -> Scores:
        return self.state.scores(X)

    def memory_bits(self) -> int:
        """Size of the memory as the paper counts it: prototypes (or exemplars) per class times D times q."""
        return self.state.memory.size_bits if len(self.classes) else 0

    def working_set_bits(self) -> int:
        """Weights of the head."""
        return 8 * self.state.head.nbytes if len(self.classes) else 0

    def _to_arrays(self) -> Arrays:
        content, state, tensors = state_content(self.state)
        return {**tensors, "content": to_text({**content, "state": state})}

    def _from_arrays(self, arrays: Arrays) -> dict[str, Any]:
        content = from_text(arrays["content"])
        memory = BinaryMemory.from_content(content, arrays, "the state")
        own, options = head_of(content["state"]), self._options()
        head: Head = self._replay() if own is None or own.name == Replay.name else own
        return {"state": state_from_content(memory, content["state"], arrays, options, head)}
