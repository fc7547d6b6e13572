"""What GBM and latent replay share: a binary memory of all classes, and a head that decides from it."""

from __future__ import annotations

from typing import Any

from bitreplay.bits import PackedBits
from bitreplay.heads import HEADS, Head
from bitreplay.heads._head import Scores
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._code import OnBits
from bitreplay.learners.frozen._method import from_text, to_text
from bitreplay.memory import BinaryMemory

__all__ = ["MemoryAndHead"]


class MemoryAndHead(OnBits):
    """Base of the methods whose `learned` is a memory and a head."""

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
        blank = HEADS[options.pop("name")]
        options.pop("own_module", None)  # the linear head of the paper is the only one that methods use
        memory = BinaryMemory.from_content(content, arrays, "the state")
        tensors = {name.removeprefix("head."): array for name, array in arrays.items() if name.startswith("head.")}
        head: Head = blank(**options).restore(memory, self._require_code(), tensors, self.seed)
        return {"memory": memory, "head": head}
