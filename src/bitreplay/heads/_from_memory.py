"""Heads that follow from the memory alone: computed at once, or when somebody first asks.

A stream of single samples does not solve for each of them: its head waits (:class:`Lazy`). Any number of threads may
ask it: one of them computes, the others wait for it, and nothing else ever changes.

Heads that describe every class by a distribution (:class:`Generative`) also say how frequent classes are taken to be. A
class of five samples beside one of five thousand is a thousand times rarer if samples came as they occur ("empirical"),
and just as frequent if they were collected ("balanced"). Scores of mixtures and distances are far too sure of
themselves: bits of one class hang together more than they know. So the logarithm of a frequency has to be multiplied by
the temperature of the scores before it is added to them.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import number, one_of
from bitreplay._floor.threads import blas_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.errors import InputError
from bitreplay.heads._head import Head, Scores
from bitreplay.memory import BinaryMemory, Label, Prior


class FromMemory(ABC):
    """Base of heads that learn nothing beyond the memory: when it changes, they are recomputed from it."""

    calibrated = False
    choices: ClassVar[Mapping[str, tuple[Any, ...]]] = {}  # of each option that may be left open, as None
    few_choices: ClassVar[Mapping[str, tuple[float, float]]] = {}  # of those for classes of few samples: from, to

    def open_options(self) -> dict[str, tuple[Any, ...]]:
        """Options that are None, and the values to choose from."""
        return {name: values for name, values in self.choices.items() if getattr(self, name) is None}

    def open_few_options(self) -> dict[str, tuple[float, float]]:
        """Options that are None and matter to classes of few samples only: the least and the greatest value."""
        return {name: values for name, values in self.few_choices.items() if getattr(self, name) is None}

    def decided(self, **options: Any) -> Self:
        """The same head with some options set."""
        return replace(self, **options)  # type: ignore[type-var]  # all are dataclasses

    def check(self, memory: BinaryMemory) -> None:
        """Refuse a memory that `fit` would refuse, before a head is computed later."""
        if not len(memory):
            raise InputError("the memory holds no classes")

    @abstractmethod
    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> Self:
        """A head for all classes of a memory."""

    def update(
        self, memory: BinaryMemory, binarizer: Binarizer, samples: Mapping[Label, PackedBits], seed: int
    ) -> Self:
        """The same as `fit`."""
        return self.fit(memory, binarizer, seed)

    def restore(
        self, memory: BinaryMemory, binarizer: Binarizer, tensors: Mapping[str, npt.NDArray[Any]], seed: int
    ) -> Self:
        """The same as `fit`, from the reloaded memory."""
        return self.fit(memory, binarizer, seed)


class Generative(FromMemory):
    """Base of heads with a distribution of every class: help for classes of few samples, and how frequent they are."""

    strength: float
    offset: float | None
    prior: Prior
    temperature: float | None

    def __post_init__(self) -> None:
        number("strength", self.strength, 0)
        if self.offset is not None:
            number("offset", self.offset, 0)
        one_of("prior", self.prior, Prior)
        if self.temperature is not None:
            number("temperature", self.temperature, above=0)

    def open_few_options(self) -> dict[str, tuple[float, float]]:
        """The offset, if it is None; a strength of 0 needs none."""
        return {} if self.strength == 0 else super().open_few_options()

    def log_prior(self, memory: BinaryMemory) -> Scores:
        """What the frequency of each class adds to its score; 0 for a class of average size."""
        if self.prior == "balanced":
            return np.zeros(len(memory))
        counts = np.array([memory.count(label) for label in memory.labels], np.float64)
        return np.asarray((self.temperature or 1.0) * np.log(counts / counts.mean()))

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options; nothing is learned beyond the memory."""
        names = [field.name for field in fields(self) if not field.name.startswith("_")]  # type: ignore[arg-type]
        return {name: getattr(self, name) for name in names}, {}


def with_temperature(head: Head, temperature: float | None) -> Head:
    """The head with the temperature of its scores, if its prior needs one and it has none."""
    wanted = getattr(head, "prior", "balanced") == "empirical" and getattr(head, "temperature", 1.0) is None
    return head.decided(temperature=temperature) if wanted and temperature is not None else head


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

    def open_few_options(self) -> dict[str, tuple[float, float]]:
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
