"""What GBM and latent replay share: a binary memory of all classes, and a head that decides from it."""

from __future__ import annotations

from typing import Any

from bitreplay._floor.arguments import number, one_of
from bitreplay.binarizers import Native
from bitreplay.bits import PackedBits
from bitreplay.heads import HEADS, Head, Replay
from bitreplay.heads import VERSION as HEADS_VERSION
from bitreplay.heads._head import Scores
from bitreplay.heads._network import MakeModule
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._classifiers import ClassifierName, make_replay
from bitreplay.learners.frozen._code import OnBits
from bitreplay.learners.frozen._method import from_text, to_text
from bitreplay.memory import BinaryMemory

__all__ = ["MemoryAndHead"]


class MemoryAndHead(OnBits):
    """Base of the methods whose `learned` is a memory and a head.

    Attributes
    ----------
    tail : callable or None
        ``tail(n_inputs, n_classes)`` makes what follows the encoder's tap, for `classifier="quicknet_tail"`; None for
        an encoder that is used to its end.
    """

    classifier: ClassifierName
    epochs: int
    min_steps: int
    batch_size: int
    learning_rate: float | None
    tail: MakeModule | None = None

    @property
    def version(self) -> str:
        """Its own version, and that of memory and heads."""
        return f"{self.VERSION}.{HEADS_VERSION}"

    @property
    def memory(self) -> BinaryMemory:
        """All that is kept of the classes: it can be saved, merged or read on its own."""
        self._require_classes()
        memory: BinaryMemory = self.learned["memory"]
        return memory

    @property
    def decider(self) -> Head:
        """The head as it was fitted."""
        self._require_classes()
        head: Head = self.learned["head"]
        return head

    def _check_replay_options(self) -> None:
        one_of("classifier", self.classifier, ClassifierName)
        if self.learning_rate is not None:
            number("learning_rate", self.learning_rate, above=0)
        self._replay()  # refuses the others where they are out of range

    def _replay(self) -> Replay:
        """The replay head as the options want it, not trained yet."""
        return make_replay(
            self.classifier,
            self.tail,
            signs=isinstance(self.code, Native),
            epochs=self.epochs,
            min_steps=self.min_steps,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
        )

    def _scores(self, X: PackedBits) -> Scores:
        return self.decider.scores(X)

    def memory_bits(self) -> int:
        """Size of the memory as the paper counts it: prototypes (or exemplars) per class times D times q."""
        return self.memory.size_bits if len(self.classes) else 0

    def working_set_bits(self) -> int:
        """Weights of the head."""
        return 8 * self.decider.nbytes if len(self.classes) else 0

    def _to_arrays(self) -> Arrays:
        content, tensors = self.memory.to_content()
        options, learned = self.decider.describe()
        tensors["content"] = to_text({**content, "head": {"name": self.decider.name, **options}})
        return {**tensors, **{f"head.{name}": value for name, value in learned.items()}}

    def _from_arrays(self, arrays: Arrays) -> dict[str, Any]:
        content = from_text(arrays["content"])
        options = dict(content["head"])
        name = options.pop("name")
        blank: Head = self._replay() if name == Replay.name else HEADS[name](**options)
        memory = BinaryMemory.from_content(content, arrays, "the state")
        tensors = {name.removeprefix("head."): array for name, array in arrays.items() if name.startswith("head.")}
        head = blank.restore(memory, self._require_code(), tensors, self.seed)
        return {"memory": memory, "head": head}
