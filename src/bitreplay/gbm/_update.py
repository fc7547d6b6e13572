"""How samples become mixtures of a memory: EM for new classes, online EM for more samples of known ones.

Online, samples of a known class move its prototypes in steps, which costs time in proportion to these samples, and
finer statistics than q bits (:class:`bitreplay.memory.Motion`) keep what single ones add. But prototypes of a few
samples each are a poor guess of what hundreds look like, and steps never leave it. A class that is small (`SMALL`) when
it begins to move therefore keeps what comes, and the codes that it had: its past. Whenever it has grown by a quarter
(`GROWTH`) it is fitted anew to both (:func:`bitreplay.mixture.join_mixtures`). When there are enough samples (`KEPT`)
they go, and only steps are left. A call that brings as many samples as a class has had is fitted and joined with it in
the same way, and the class is at rest then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bitreplay._floor.seeds import seed_for
from bitreplay.bits import PackedBits, concatenate
from bitreplay.memory import BinaryMemory, Label, Motion, Past
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures, join_mixtures, online_steps

Samples = Mapping[Label, PackedBits]
Update = Literal["online", "refit"]

# Ours: benchmarks/stream_choices.py.
GROWTH = 1.25  # of a class between two fits
SMALL = 2  # times the samples that K prototypes need: a class that has more when it begins to move keeps none
KEPT = 4  # times as many are kept at most


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

        The old samples of a known class are no longer available: as many pseudo-exemplars stand in for them, where
        `update` is "refit" and, if `gather`, in what is returned.
        """
        known = {label: bits for label, bits in samples.items() if label in self.memory}
        gathered = dict(samples)
        if gather or self.update == "refit":
            gathered |= {label: concatenate([self._replayed(label), bits]) for label, bits in known.items()}
        memory = self.memory.copy()
        if self.update == "refit":
            mixtures = self.fitted(gathered)
        else:
            mixtures = self.fitted({label: bits for label, bits in samples.items() if label not in known})
            if large := {label: bits for label, bits in known.items() if self._is_large(label, bits)}:
                mixtures |= self._joined({label: self.memory.mixture(label) for label in large}, large)
            if moved := {label: self._moved(label, bits) for label, bits in known.items() if label not in large}:
                memory.move(moved)
        if at_rest := {label: mixture for label, mixture in mixtures.items() if label in known}:
            memory.replace(at_rest)
        memory.add_all({label: mixture for label, mixture in mixtures.items() if label not in known})
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

    # ------------------------------------------------------------------ known classes, online

    @property
    def _enough(self) -> float:
        """Samples that K prototypes need."""
        return self.em.n_components * max(1.0, self.em.min_count)

    def _is_large(self, label: Label, bits: PackedBits) -> bool:
        """Whether a call brings so many samples that the class is at rest then."""
        motion, before = self.memory.motion(label), self.memory.count(label)
        keeps = motion is not None and len(motion.kept) > 0
        return not keeps and len(bits) >= before and before + len(bits) >= self._enough

    def _moved(self, label: Label, bits: PackedBits) -> Motion:
        """The statistics of a class after more samples."""
        motion, mixture = self.memory.motion(label), self.memory.mixture(label)
        after, equal = mixture.count + len(bits), self.em.weights == "fixed"
        past, kept = motion.past if motion else None, motion.kept if motion else bits[:0]
        if motion is None and mixture.count == 1:
            kept = self._replayed(label)  # the sample itself: it is stored exactly in any number of bits
        elif motion is None and mixture.count <= SMALL * self._enough:
            past = Past.of(mixture, self.memory.bits)
        if past or len(kept):
            kept = concatenate([kept, bits])
        is_last = len(kept) >= KEPT * self._enough
        if len(kept) and (is_last or self._has_grown(mixture.count, after, past)):
            samples = {label: kept}
            mixture = (self._joined({label: past.mixture}, samples) if past else self.fitted(samples))[label]
            prototypes, counts = mixture.prototypes.astype(np.float64), mixture.weights * after
        else:
            so_far = motion.counts if motion else mixture.weights * mixture.count
            prototypes, counts = online_steps(mixture.prototypes, so_far, bits, self.em.clamp, equal=equal)
        if is_last:
            past, kept = None, bits[:0]
        rng = self._generator("rounding", label)
        return Motion.of(prototypes, counts, after, kept, past, bits=self.memory.bits, rng=rng, equal=equal)

    @staticmethod
    def _has_grown(before: int, after: int, past: Past | None) -> bool:
        """Whether a class grew by another quarter of what it was: fits are at 1.25, 1.25^2, ... times its past."""
        first = past.count if past else 1
        quarters = [math.floor(math.log(n / first, GROWTH)) for n in (before, after)]
        return quarters[0] < quarters[1]

    def _joined(self, pasts: Mapping[Label, Mixture], samples: Samples) -> dict[Label, Mixture]:
        """Mixtures of classes that have a past and these samples since."""
        generators = [self._generator("mixture", label) for label in samples]
        before, since = [pasts[label] for label in samples], list(samples.values())
        joined = join_mixtures(before, since, self.em, generators=generators, n_jobs=self.n_jobs)
        return dict(zip(samples, joined, strict=True))
