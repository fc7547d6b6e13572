"""How samples look to a memory and its head, bits → memory/head → **class**: how dense, how new, how doubtful.

It brings together what the head says (scores), what the memory says (densities) and what is known of samples of known
classes (:class:`Familiar`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, concatenate
from bitreplay.gbm._familiar import Familiar, RefuseBy
from bitreplay.gbm._novelty import Numbers, Yardstick, density_weight, doubts, evidence, numbers_of, rows_measured
from bitreplay.heads import Bayes, Head
from bitreplay.memory import BinaryMemory, Label

__all__ = ["Looks"]

Floats = npt.NDArray[np.float64]

DRAWN, MOST_DRAWN = 20, 2000  # ours: pseudo-exemplars of a class, and of all, where nothing is known of real samples


@dataclass(frozen=True)
class Looks:
    """How samples look to a memory and its head.

    Parameters
    ----------
    memory : BinaryMemory
        All classes.
    binarizer : Binarizer
        What their bits mean.
    head : Head
        Fitted to the memory.
    temperature : float, optional
        Divisor of its scores.
    familiar : Familiar
        What is known of samples of known classes.

    Examples
    --------
    >>> from bitreplay.binarizers import Identity
    >>> from bitreplay.bits import pack
    >>> memory = BinaryMemory()
    >>> memory.enrol({"cup": [[1, 0, 0, 0]] * 5, "mug": [[0, 1, 1, 1]] * 5})
    >>> looks = Looks(memory, Identity(), Bayes().fit(memory, Identity(), 0), None, Familiar())
    >>> likely, less, least = looks.log_densities(pack([[1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 1, 1]]))
    >>> bool(likely > less > least)  # as it is, one bit away, two bits away
    True
    """

    memory: BinaryMemory
    binarizer: Binarizer
    head: Head
    temperature: float | None
    familiar: Familiar

    @cached_property
    def _mixtures(self) -> Bayes:
        return Bayes(strength=0.0).fit(self.memory, self.binarizer, 0)

    def log_densities(self, bits: PackedBits) -> Floats:
        """Log p(z) of every row, all classes being equally frequent."""
        return np.asarray(logsumexp(self._mixtures.scores(bits), axis=1) - np.log(len(self.memory)))

    def _evidence(self, bits: PackedBits, scores: Floats) -> Floats:
        counts = density_weight(len(self.memory)) > 0
        return evidence(scores, self._mixtures.scores(bits) if counts else None)

    def numbers(self, samples: Mapping[Label, PackedBits]) -> dict[Label, Numbers]:
        """The numbers of those classes that have enough samples."""
        taken = rows_measured({label: len(bits) for label, bits in samples.items()}, len(self.memory))
        if not taken:
            return {}
        some = [samples[label][:: len(samples[label]) // n][:n] for label, n in taken.items()]
        bits = concatenate(some)
        rows = np.split(self._evidence(bits, self.head.scores(bits)), np.cumsum([len(own) for own in some])[:-1])
        return {label: numbers_of(own) for label, own in zip(taken, rows, strict=True)}

    @cached_property
    def _yardstick(self) -> Yardstick:
        """What to expect of samples; where nothing is known of any, what pseudo-exemplars are like."""
        counts = {label: self.memory.count(label) for label in self.memory.labels}
        numbers = self.familiar.numbers
        if not numbers:
            drawn = self.memory.labels[: MOST_DRAWN // DRAWN]
            exemplars = {label: self.memory.sample(DRAWN, [label], generator=0, output="packed")[0] for label in drawn}
            numbers = self.numbers(exemplars)
        return Yardstick.of(numbers, counts)

    def novelties(self, bits: PackedBits, scores: Floats) -> Floats:
        """How new every row looks; 0 for a typical sample of a known class, 1 for one that stays a spread behind."""
        return self._yardstick.novelty(self._evidence(bits, scores), scores.argmax(axis=1))

    def shown(self, bits: PackedBits) -> Familiar:
        """What is familiar, once held-out samples of known classes have been shown."""
        scores = self.head.scores(bits)
        return self.familiar.with_held_out(self.novelties(bits, scores), doubts(scores, self.temperature))

    def refused(self, bits: PackedBits, scores: Floats, share: float, by: RefuseBy) -> npt.NDArray[np.bool_]:
        """Which rows look newer than all but `share` of the known samples."""
        new = self.novelties(bits, scores) if by != "probability" else np.zeros(len(scores))
        doubtful = doubts(scores, self.temperature) if by != "novelty" else np.zeros(len(scores))
        return self.familiar.refused(new, doubtful, share, by)
