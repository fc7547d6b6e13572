"""A head that is computed when somebody first asks it: a stream of single samples does not solve for each of them.

Only heads that follow from the memory alone can wait (:class:`FromMemory`). Any number of threads may ask: one of them
computes, the others wait for it, and nothing else ever changes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from bitreplay._floor.threads import blas_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.heads._head import FromMemory, Head, Scores
from bitreplay.memory import BinaryMemory, Label

__all__ = ["Lazy", "can_wait", "computed", "deferred", "waits"]


class Lazy:
    """The head of a memory, to be computed by the first call that needs it.

    Parameters
    ----------
    template : Head
        An unfitted head with its options.
    memory, binarizer, seed
        As for `fit`.
    n_threads : int
        Threads that linear algebra may use meanwhile.
    """

    def __init__(self, template: Head, memory: BinaryMemory, binarizer: Binarizer, seed: int, n_threads: int) -> None:
        self.template = template
        self.name, self.calibrated = template.name, template.calibrated
        self._given = memory, binarizer, seed, n_threads
        self._computed: Head | None = None
        self._lock = threading.Lock()

    def compute(self) -> Head:
        """The head, computed now if it is not there yet."""
        if self._computed is None:
            with self._lock:
                if self._computed is None:
                    memory, binarizer, seed, n_threads = self._given
                    with blas_threads(n_threads):
                        self._computed = self.template.fit(memory, binarizer, seed)
        return self._computed

    def __reduce__(self) -> Any:
        """Copies and pickles compute it themselves: a lock cannot be copied."""
        return Lazy, (self.template, *self._given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("template", "_computed", "_given", "_lock"):
            raise AttributeError(name)  # of a copy that is still being made
        return getattr(self.compute(), name)

    # ------------------------------------------------------------------ what needs no computation

    def open_options(self) -> dict[str, tuple[Any, ...]]:
        """Of the template."""
        return self.template.open_options()

    def open_few_options(self) -> dict[str, tuple[Any, ...]]:
        """Of the template."""
        return self.template.open_few_options()

    def decided(self, **options: Any) -> Head:
        """The template with some options set."""
        return self.template.decided(**options)

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> Head:
        """The template, fitted to another memory."""
        return self.template.fit(memory, binarizer, seed)

    def update(
        self, memory: BinaryMemory, binarizer: Binarizer, samples: Mapping[Label, PackedBits], seed: int
    ) -> Head:
        """The template, updated."""
        return self.template.update(memory, binarizer, samples, seed)

    def describe(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Of the template: nothing is learned beyond the memory."""
        return self.template.describe()

    def restore(self, memory: BinaryMemory, binarizer: Binarizer, tensors: Mapping[str, Any], seed: int) -> Head:
        """The template, restored."""
        return self.template.restore(memory, binarizer, tensors, seed)

    # ------------------------------------------------------------------ what does

    def scores(self, bits: PackedBits) -> Scores:
        """Of the computed head."""
        return self.compute().scores(bits)

    @property
    def nbytes(self) -> int:
        """Of the computed head."""
        return self.compute().nbytes


def can_wait(head: Head) -> bool:
    """Whether a head follows from the memory alone, so that it can be computed at any time."""
    return isinstance(head, Lazy | FromMemory)


def waits(head: Head) -> bool:
    """Whether a head is still to be computed by the first call that needs it."""
    return isinstance(head, Lazy)


def deferred(head: Head, memory: BinaryMemory, binarizer: Binarizer, seed: int, n_threads: int) -> Head | None:
    """A head that waits; None if this one learns more than the memory knows and cannot.

    What can be refused is refused now. An old solution is not kept beside the one to come, and the memory is copied: it
    shares everything with the original, except that the original's owner may change it.
    """
    template = head.template if isinstance(head, Lazy) else head
    if not isinstance(template, FromMemory):
        return None
    template.check(memory)
    return Lazy(type(template)(**template.describe()[0]), memory.copy(), binarizer, seed, n_threads)


def computed(head: Head) -> Head:
    """The head itself, computed if it has been waiting."""
    return head.compute() if isinstance(head, Lazy) else head
