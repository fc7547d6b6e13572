"""GBMState: everything a generative binary memory has learned, in one immutable object.

Readers take it once and writers replace it once, so no reader ever sees a partial update. Its future draws depend only
on its seed and on the number of calls it has learned from: a state that was saved and loaded continues as if
uninterrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay._floor.seeds import seed_for
from bitreplay._floor.threads import blas_threads, n_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import Fingerprint, PackedBits, concatenate
from bitreplay.errors import InputError
from bitreplay.gbm._choice import (
    ENOUGH,
    FEW,
    HeldOut,
    can_pretend,
    choose_options,
    choose_sparingly,
    open_few_options,
    pretend,
    split,
)
from bitreplay.heads import HEADS, Head, fit_temperature
from bitreplay.memory import BinaryMemory, Label, as_label
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures

__all__ = ["GBMOptions", "GBMState", "make_head"]

Samples = Mapping[Label, PackedBits]
Scores = npt.NDArray[np.float64]

FEW_ROWS = 8  # ours: products of so few rows are fastest with one thread, and to ask joblib takes as long as they do
MOST_JUDGED = 2**24  # ours: scores that options are judged by; with more, rows are left out: it takes 128 MB


def make_head(head: Any) -> Head:
    """The requested head, by name or given directly.

    Examples
    --------
    >>> make_head("bayes")
    Bayes(clamp=None, strength=2.0, offset=None)
    """
    if isinstance(head, str) and head in HEADS:
        return HEADS[head]()
    if isinstance(head, str | type) or not hasattr(head, "update"):
        raise InputError(f"head must be one of {', '.join(HEADS)} or a Head; got {head!r}")
    made: Head = head
    return made


@dataclass(frozen=True)
class GBMOptions:
    """How a generative binary memory learns: the same defaults for all of its wrappers.

    Parameters
    ----------
    prototypes : int
        K, prototypes per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    head : {"closed_form", "replay", "bayes"} or Head
        How a decision is made from the memory.
    em : EMOptions, optional
        How mixtures are fitted; `prototypes` sets their number.
    calibrate : bool
        Fit a temperature to held-out samples of the first call that has some, for heads whose scores need one.
    n_jobs : int, optional
        Threads, as in scikit-learn: None means one, -1 all cores. Results do not depend on it.

    Examples
    --------
    >>> GBMOptions(prototypes=4).em_options.n_components
    4
    """

    prototypes: int = 8  # table 1, "K=8"
    bits: int = 3  # sec. 5.2, "for q >= 3, GBM outperforms LR"
    head: str | Head = "closed_form"
    em: EMOptions | None = None
    calibrate: bool = True
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        integer("prototypes", self.prototypes, 1)
        if not isinstance(self.em, EMOptions | None):
            raise InputError(f"em must be EMOptions or None; got {self.em!r}")
        make_head(self.head)
        n_threads(self.n_jobs)
        BinaryMemory(self.bits)  # refuses bits out of range

    @cached_property
    def em_options(self) -> EMOptions:
        """How mixtures are fitted: as in `em`, with `prototypes` per class."""
        return replace(self.em or EMOptions(), n_components=int(self.prototypes))


@dataclass(frozen=True)
class GBMState:
    """What has been learned so far; see the module's docstring.

    Parameters
    ----------
    options : GBMOptions
        How it learns.
    binarizer : Binarizer
        What the bits mean, and how G sees them.
    memory : BinaryMemory
        Everything stored about the classes.
    head : Head
        The head computed from it, with its chosen options.
    seed : int
        Seed for all randomness.
    calls : int
        Number of calls it has learned from.
    temperature : float, optional
        Divisor of the scores before they become probabilities; None until calibrated.

    Examples
    --------
    >>> from bitreplay.binarizers import Identity
    >>> from bitreplay.bits import pack
    >>> state = GBMState.empty(GBMOptions(prototypes=1), Identity(), Fingerprint(3), seed=0)
    >>> state = state.learned({"cup": pack([[1, 0, 0]] * 5), "mug": pack([[0, 1, 1]] * 5)})
    >>> state.labels[state.scores(pack([[0, 1, 0]])).argmax()], state.calls
    ('mug', 1)
    """

    options: GBMOptions
    binarizer: Binarizer
    memory: BinaryMemory
    head: Head
    seed: int
    calls: int = 0
    temperature: float | None = field(default=None)

    @classmethod
    def empty(cls, options: GBMOptions, binarizer: Binarizer, fingerprint: Fingerprint, seed: int) -> GBMState:
        """A state that has learned nothing yet."""
        return cls(options, binarizer, BinaryMemory(options.bits, fingerprint), make_head(options.head), seed)

    def with_options(self, options: GBMOptions) -> GBMState:
        """The same state with other options for further learning; head and bits stay those of the first call."""
        return replace(self, options=options)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Classes in the order in which they were learned, which is that of the scores' columns."""
        return self.memory.labels

    def scores(self, bits: PackedBits) -> Scores:
        """A score per row and class, higher being likelier."""
        with blas_threads(n_threads(self.options.n_jobs) if len(bits) > FEW_ROWS else 1):
            return self.head.scores(bits)

    # ------------------------------------------------------------------ learning

    def learned(self, samples: Samples) -> GBMState:
        """The state after samples of new classes, or more samples of known ones."""
        with blas_threads(n_threads(self.options.n_jobs)):
            head, temperature = self._decided(samples)
            memory, gathered = self._remembered(samples)
            head = head.update(memory, self.binarizer, gathered, self._head_seed())
            return replace(self, memory=memory, head=head, temperature=temperature, calls=self.calls + 1)

    def without(self, label: Label) -> GBMState:
        """The state without a class: its prototypes, count and label are removed, the head is recomputed."""
        memory = self.memory.copy()
        memory.remove(as_label(label))
        if not len(memory):
            raise InputError(f"class {label!r} is the only one; a classifier needs at least one class")
        return self.with_memory(memory)

    def merged(self, other: BinaryMemory) -> GBMState:
        """The state with the classes of another memory, which must have been made with the same thresholds."""
        memory = self.memory.copy()
        memory.merge(other, self.options.prototypes)
        return self.with_memory(memory)

    def with_memory(self, memory: BinaryMemory) -> GBMState:
        """The state with another memory, and the head that follows from it alone."""
        with blas_threads(n_threads(self.options.n_jobs)):
            head = self.head.fit(memory, self.binarizer, self._head_seed())
        return replace(self, memory=memory, head=head, calls=self.calls + 1)

    def apart(self, samples: Samples) -> BinaryMemory:
        """A memory of new classes alone, as `learned` would add them: what another process computes for `merged`."""
        memory = BinaryMemory(self.memory.bits, self.memory.fingerprint)
        memory.add_all(self._fitted(samples))
        return memory

    def calibrated(self, bits: PackedBits, targets: npt.NDArray[np.intp]) -> GBMState:
        """The state with a temperature that suits held-out samples; `targets` are columns of the scores."""
        return replace(self, temperature=fit_temperature(self.scores(bits), targets))

    def _head_seed(self) -> int:
        return seed_for(self.seed, "head", self.calls)

    def _remembered(self, samples: Samples) -> tuple[BinaryMemory, Samples]:
        """The memory with the mixtures of new classes added and those of known ones refitted, and their samples.

        The old samples of a known class are no longer available: as many pseudo-exemplars stand in for them.
        """
        gathered: dict[Label, PackedBits] = {}
        for label, bits in samples.items():
            if label in self.memory:
                rng = np.random.default_rng(seed_for(self.seed, "replay", label, self.calls))
                n_before = self.memory.count(label)
                replayed, _ = self.memory.sample(n_before, [label], generator=rng, output="packed")
                bits = concatenate([replayed, bits])
            gathered[label] = bits
        mixtures = self._fitted(gathered)
        memory = self.memory.copy()
        if known := {label: mixture for label, mixture in mixtures.items() if label in memory}:
            memory.replace(known)
        memory.add_all({label: mixture for label, mixture in mixtures.items() if label not in memory})
        return memory, gathered

    def _fitted(self, samples: Samples) -> dict[Label, Mixture]:
        """A mixture of every class."""
        generators = [np.random.default_rng(seed_for(self.seed, "mixture", label, self.calls)) for label in samples]
        n_jobs = n_threads(self.options.n_jobs)
        fitted = fit_mixtures(list(samples.values()), self.options.em_options, generators=generators, n_jobs=n_jobs)
        return dict(zip(samples, fitted, strict=True))

    # ------------------------------------------------------------------ deciding what was left open

    def _decided(self, samples: Samples) -> tuple[Head, float | None]:
        """The head with its open options chosen, and the temperature, if there are enough held-out samples."""
        head, temperature = self.head, self.temperature
        choosing = bool(head.open_options()) and len(samples) > 1
        pretending = bool(open_few_options(head)) and can_pretend(samples)
        calibrating = self.options.calibrate and temperature is None and not head.calibrated
        calibrating = calibrating and len({*self.labels, *samples}) > 1  # one class is always certain
        if not (choosing or pretending or calibrating):
            return head, temperature
        parts = split(samples, self.seed)
        choosing, calibrating = choosing and parts.n_held >= ENOUGH, calibrating and parts.n_held >= FEW
        if not (choosing or pretending or calibrating):
            return head, temperature
        return self._judged(parts, choosing, pretending, calibrating)

    def _judged(self, parts: HeldOut, choosing: bool, pretending: bool, calibrating: bool) -> tuple[Head, float | None]:
        memory, gathered = self._remembered(parts.kept)
        bits = concatenate(list(parts.held.values()))
        places = {label: place for place, label in enumerate(memory.labels)}
        targets = np.repeat([places[label] for label in parts.held], [len(held) for held in parts.held.values()])
        if len(bits) * len(memory) > MOST_JUDGED:
            step = -(-len(bits) * len(memory) // MOST_JUDGED)
            bits, targets = bits[::step], targets[::step]
        head, temperature = self.head, self.temperature

        def score(head: Head) -> Scores:
            return head.update(memory, self.binarizer, gathered, self._head_seed()).scores(bits)

        if choosing:
            head, scores = choose_options(head, score, targets, head.open_options())
        if calibrating:
            temperature = fit_temperature(scores if choosing else score(head), targets)
        if pretending:
            few = pretend(parts.kept, self.seed)
            memory.replace(self._fitted(few))  # from here on `score` sees small classes
            gathered = {**gathered, **few}
            head = choose_sparingly(head, score, targets, open_few_options(head))
        return head, temperature
