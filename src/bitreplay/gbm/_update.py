"""More samples of a known class: online EM, or a refit to pseudo-exemplars and the new samples together.

Online, a call costs time in proportion to its own samples, and finer statistics than q bits
(:class:`bitreplay.memory.Motion`) keep what single samples add. Two cases are refitted, which costs no more than that:

- A call that brings as many samples as the class has had, or more: pseudo-exemplars stand in for the others.
- A class that has too few samples for K prototypes. It keeps them, and whenever they suffice for one more prototype it
  is fitted to them anew; a last time, and without keeping them, when there are `GROWN` times as many as K need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bitreplay.bits import PackedBits, concatenate
from bitreplay.memory import BinaryMemory, Label, Motion
from bitreplay.mixture import EMOptions, Mixture, online_steps

__all__ = ["Online", "Update"]

Update = Literal["online", "refit"]

GROWN = 2  # ours: benchmarks/stream.py --choices; with 1, prototypes of five samples each are never fitted again


@dataclass(frozen=True)
class Online:
    """How known classes take more samples.

    Parameters
    ----------
    memory : BinaryMemory
        What is stored so far.
    em : EMOptions
        How mixtures are fitted.
    fit : callable
        Fits the mixture of a class to samples.
    replay : callable
        Draws as many pseudo-exemplars of a class as it had samples.
    rounding : callable
        The generator by which a class's statistics are rounded.
    """

    memory: BinaryMemory
    em: EMOptions
    fit: Callable[[Label, PackedBits], Mixture]
    replay: Callable[[Label], PackedBits]
    rounding: Callable[[Label], np.random.Generator]

    @property
    def _enough(self) -> float:
        """Samples that K prototypes need."""
        return self.em.n_components * max(1.0, self.em.min_count)

    def refits(self, label: Label, n_new: int) -> bool:
        """Whether so many samples are too many for steps: the class is fitted anew, and is at rest then."""
        motion, before = self.memory.motion(label), self.memory.count(label)
        return n_new >= before and before + n_new >= self._enough and (motion is None or not len(motion.kept))

    def moved(self, label: Label, bits: PackedBits) -> Motion:
        """The statistics of a class after more samples."""
        motion, before = self.memory.motion(label), self.memory.count(label)
        after, equal = before + len(bits), self.em.weights == "fixed"
        kept = bits[:0]
        if motion is None and before < self._enough:
            kept = concatenate([self.replay(label), bits])  # of a single sample, the sample itself
        elif motion is not None and len(motion.kept):
            kept = concatenate([motion.kept, bits])
        grown = after >= GROWN * self._enough
        if len(kept) and (grown or self.em.components_for(after) > self.em.components_for(before)):
            mixture = self.fit(label, kept)
            prototypes, counts = mixture.prototypes, mixture.weights * after
        else:
            mixture = self.memory.mixture(label)
            so_far = mixture.weights * before if motion is None else motion.counts
            prototypes, counts = online_steps(mixture.prototypes, so_far, bits, self.em.clamp, equal=equal)
        kept, rng = bits[:0] if grown else kept, self.rounding(label)
        return Motion.of(prototypes, counts, after, kept, bits=self.memory.bits, rng=rng, equal=equal)
