"""What every head offers: from a memory to a decision over all its classes.

A head never changes: `fit` and `update` return a new one. A call that fails halfway therefore leaves the old one in
place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.memory import BinaryMemory, Label

Scores = npt.NDArray[np.float64]


class Head(Protocol):
    """From bits to one score per class, higher meaning more likely; scores are log-probabilities up to a common
    constant.

    Examples
    --------
    Heads are used alike; each decides from the memory in its own way:

    >>> from bitreplay import Bayes, ClosedForm, Mixture, pack
    >>> from bitreplay.binarizers import Identity
    >>> memory = BinaryMemory(bits=4)
    >>> memory.add("cup", Mixture(np.array([[0.9, 0.1, 0.2]], dtype=np.float32), np.ones(1), count=20))
    >>> memory.add("mug", Mixture(np.array([[0.2, 0.9, 0.8]], dtype=np.float32), np.ones(1), count=20))
    >>> for head in (ClosedForm(), Bayes()):
    ...     fitted = head.fit(memory, Identity(), seed=0)  # a new one: `head` stays as it was
    ...     print(fitted.name, memory.labels[fitted.scores(pack([[0, 1, 0]])).argmax()])
    closed_form mug
    bayes mug
    """

    name: str
    calibrated: bool  # whether scores are log-probabilities already, and need no temperature

    def open_options(self) -> dict[str, tuple[Any, ...]]:
        """Options that are still open, in the order in which they are chosen, and the values to choose from."""

    def open_few_options(self) -> dict[str, tuple[float, float]]:
        """Range of those that matter to classes of few samples only; scores are linear in them."""

    def decided(self, **options: Any) -> Head:
        """The same head with some options set."""

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> Head:
        """A head for all classes of a memory, from the memory alone."""

    def update(
        self, memory: BinaryMemory, binarizer: Binarizer, samples: Mapping[Label, PackedBits], seed: int
    ) -> Head:
        """A head for a memory that has just learned the classes of `samples`."""

    def scores(self, bits: PackedBits) -> Scores:
        """Scores of shape (rows, classes); columns in the order of the memory's labels."""

    @property
    def nbytes(self) -> int:
        """Working set: bytes that scoring needs besides the memory."""

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options and learned tensors, for a file."""

    def restore(
        self, memory: BinaryMemory, binarizer: Binarizer, tensors: Mapping[str, npt.NDArray[Any]], seed: int
    ) -> Head:
        """Restore the learned head after a reload."""
