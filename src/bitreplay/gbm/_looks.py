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
from bitreplay.gbm._growth import Scored, growth_of
from bitreplay.gbm._novelty import (
    PER_BIT,
    Numbers,
    Yardstick,
    density_weight,
    doubts,
    evidence,
    numbers_of,
    rows_measured,
)
from bitreplay.heads import Bayes, Head
from bitreplay.memory import BinaryMemory, Label

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

    def _densities(self, bits: PackedBits) -> Floats | None:
        """Log p(z | c), against that of bits that are set more rarely; None where it does not count."""
        if density_weight(len(self.memory)) == 0:
            return None
        per_bit = 0.0 if self.familiar.plain else PER_BIT
        return np.asarray(self._mixtures.scores(bits) + per_bit * np.bitwise_count(bits.data).sum(axis=1)[:, None])

    def _evidence(self, scores: Floats, densities: Floats | None) -> Floats:
        return evidence(scores, densities, plain=self.familiar.plain)

    def _taken(self, samples: Mapping[Label, PackedBits]) -> dict[Label, PackedBits]:
        """Samples that are looked at for the numbers of their classes."""
        counts = rows_measured({label: len(bits) for label, bits in samples.items()}, len(self.memory))
        return {label: samples[label][:: len(samples[label]) // n][:n] for label, n in counts.items()}

    def numbers(self, samples: Mapping[Label, PackedBits]) -> dict[Label, Numbers]:
        """The numbers of those classes that have enough samples."""
        taken = self._taken(samples)
        if not taken:
            return {}
        seen, labels = self._scored(taken), self.memory.labels
        rows = self._evidence(seen.scores, seen.densities)
        return {labels[place]: numbers_of(rows[seen.classes == place]) for place in np.unique(seen.classes)}

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
        return self._yardstick.novelty(self._evidence(scores, self._densities(bits)), scores.argmax(axis=1))

    def shown(self, held: Mapping[Label, PackedBits], own: Mapping[Label, PackedBits] | None = None) -> Familiar:
        """What is familiar, once held-out samples of known classes have been shown.

        With samples of their own that classes were fitted to, it is also seen how that will change with more classes.
        """
        seen = self._scored(held)
        novelties = self._yardstick.novelty(self._evidence(seen.scores, seen.densities), seen.scores.argmax(axis=1))
        growth, taken = None, self._taken(own or {})
        if taken:
            counts = np.array([self.memory.count(label) for label in self.memory.labels])
            growth = growth_of(self._scored(taken), seen, counts, self.temperature)
        return self.familiar.with_held_out(novelties, doubts(seen.scores, self.temperature), len(self.memory), growth)

    def _scored(self, samples: Mapping[Label, PackedBits]) -> Scored:
        bits = concatenate(list(samples.values()))
        places = {label: place for place, label in enumerate(self.memory.labels)}
        classes = np.repeat([places[label] for label in samples], [len(rows) for rows in samples.values()])
        return Scored(self.head.scores(bits), self._densities(bits), classes, self.familiar.plain)

    def refused(self, bits: PackedBits, scores: Floats, share: float, by: RefuseBy) -> npt.NDArray[np.bool_]:
        """Which rows look newer than all but `share` of the known samples."""
        new = self.novelties(bits, scores) if by != "probability" else np.zeros(len(scores))
        doubtful = doubts(scores, self.temperature) if by != "novelty" else np.zeros(len(scores))
        return self.familiar.refused(new, doubtful, share, by, len(self.memory))
