"""How samples become mixtures of a memory: EM for new classes, online EM for more samples of known ones.

Online, a call costs time in proportion to its own samples, and finer statistics than q bits
(:class:`bitreplay.memory.Motion`) keep what single samples add. Two cases are refitted, which costs no more than that:

- A call that brings as many samples as the class has had, or more: pseudo-exemplars stand in for the others.
- A class that has few samples for its prototypes: six each are a poor guess of what hundreds look like, and steps never
  leave it. It keeps them, with pseudo-exemplars of those of its first call (of a single one, that is the sample
  itself). It is fitted to them anew whenever they suffice for one more prototype, but not before half of them are real.
  Samples beyond that half count: with 2 and 4 (`GROWN`) times as many of them as K prototypes need, the class is fitted
  anew for better prototypes, and then they go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bitreplay._floor.seeds import seed_for
from bitreplay.bits import PackedBits, concatenate
from bitreplay.memory import BinaryMemory, Label, Motion
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures, online_steps

Samples = Mapping[Label, PackedBits]
Update = Literal["online", "refit"]

GROWN = 4  # ours: benchmarks/stream.py --only choices; a power of 2, or the last samples would be kept for nothing


@dataclass(frozen=True)
class Enrolment:
    """One call's way from samples to a memory.

    Parameters
    ----------
    memory : BinaryMemory
        What is stored so far; it is not changed.
    em : EMOptions
        How mixtures are fitted.
    update : {"online", "refit"}
        How known classes take more samples.
    seed, call : int
        They determine all randomness.
    n_jobs : int
        Threads.
    """

    memory: BinaryMemory
    em: EMOptions
    update: Update
    seed: int
    call: int
    n_jobs: int = 1

    def remembered(self, samples: Samples, *, gather: bool) -> tuple[BinaryMemory, Samples]:
        """The memory after samples of new and of known classes; and these samples, as a head may be trained on them.

        The old samples of a known class are no longer available: as many pseudo-exemplars stand in for them, where a
        mixture is refitted to them and, if `gather`, in what is returned.
        """
        known = [label for label in samples if label in self.memory]
        steps = {label for label in known if self.update == "online" and not self._refits(label, samples[label])}
        gathered = dict(samples)
        for label in known:
            if gather or label not in steps:
                gathered[label] = concatenate([self._replayed(label), samples[label]])
        mixtures = self.fitted({label: bits for label, bits in gathered.items() if label not in steps})
        memory = self.memory.copy()
        if refitted := {label: mixture for label, mixture in mixtures.items() if label in memory}:
            memory.replace(refitted)
        memory.add_all({label: mixture for label, mixture in mixtures.items() if label not in memory})
        if steps:
            memory.move({label: self._moved(label, samples[label]) for label in known if label in steps})
        return memory, gathered

    def fitted(self, samples: Samples) -> dict[Label, Mixture]:
        """A mixture of every class, fitted to these samples alone."""
        generators = [self._generator("mixture", label) for label in samples]
        fitted = fit_mixtures(list(samples.values()), self.em, generators=generators, n_jobs=self.n_jobs)
        return dict(zip(samples, fitted, strict=True))

    def _generator(self, purpose: str, label: Label) -> np.random.Generator:
        return np.random.default_rng(seed_for(self.seed, purpose, label, self.call))

    def _replayed(self, label: Label) -> PackedBits:
        """As many pseudo-exemplars of a class as it had samples."""
        generator = self._generator("replay", label)
        drawn, _ = self.memory.sample(self.memory.count(label), [label], generator=generator, output="packed")
        bits: PackedBits = drawn
        return bits

    @property
    def _enough(self) -> float:
        """Samples that K prototypes need."""
        return self.em.n_components * max(1.0, self.em.min_count)

    def _refits(self, label: Label, bits: PackedBits) -> bool:
        """Whether there are too many samples for steps: the class is fitted anew, and is at rest then."""
        motion, before = self.memory.motion(label), self.memory.count(label)
        keeps = motion is not None and len(motion.kept) > 0
        return not keeps and len(bits) >= before and before + len(bits) >= self._enough

    def _moved(self, label: Label, bits: PackedBits) -> Motion:
        """The statistics of a class after more samples."""
        motion, before = self.memory.motion(label), self.memory.count(label)
        after, equal = before + len(bits), self.em.weights == "fixed"
        kept, drawn = bits[:0], 0
        if motion is None and 2 * before <= GROWN * self._enough:
            kept, drawn = concatenate([self._replayed(label), bits]), before  # of a single sample, the sample itself
        elif motion is not None and len(motion.kept):
            kept, drawn = concatenate([motion.kept, bits]), motion.drawn
        if len(kept) and self._deserved(after, drawn) > self._deserved(before, drawn):
            mixture = self.fitted({label: kept})[label]
            prototypes, counts = mixture.prototypes.astype(np.float64), mixture.weights * after
        else:
            mixture = self.memory.mixture(label)
            so_far = mixture.weights * before if motion is None else motion.counts
            prototypes, counts = online_steps(mixture.prototypes, so_far, bits, self.em.clamp, equal=equal)
        if after - 2 * drawn >= GROWN * self._enough:
            kept, drawn = bits[:0], 0
        rng = self._generator("rounding", label)
        return Motion.of(prototypes, counts, after, kept, drawn, bits=self.memory.bits, rng=rng, equal=equal)

    def _deserved(self, n: int, drawn: int) -> int:
        """How many prototypes a class can have by a refit to kept samples; more than K stand for better ones."""
        beyond = n - 2 * drawn  # below 0, most of them are pseudo-exemplars: no more prototypes than there were
        better = int(np.log2(max(1.0, beyond / self._enough)))
        return self.em.components_for(n if beyond >= 0 else drawn) + better
