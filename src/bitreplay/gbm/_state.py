"""GBMState: everything a generative binary memory has learned, in one immutable object.

Readers take it once and writers replace it once, so no reader ever sees a partial update. Its future draws depend only
on its seed and on the number of calls it has learned from: a state that was saved and loaded continues as if
uninterrupted.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
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
from bitreplay.gbm._deciding import decided
from bitreplay.gbm._drift import followed
from bitreplay.gbm._familiar import Familiar
from bitreplay.gbm._looks import Looks
from bitreplay.heads import HEADS, Head, fit_temperature
from bitreplay.memory import BinaryMemory, Label, as_label
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures

__all__ = ["GBMOptions", "GBMState", "make_head"]

Samples = Mapping[Label, PackedBits]
Scores = npt.NDArray[np.float64]

FEW_ROWS = 8  # ours: products of so few rows are fastest with one thread, and to ask joblib takes as long as they do


def make_head(head: Any) -> Head:
    """The requested head, by name or given directly.

    Examples
    --------
    >>> make_head("bayes")
    Bayes(clamp=None, strength=2.0, offset=None, prior='balanced', temperature=None)
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
        Fit a temperature to held-out samples of the first call that has some, for heads whose scores need one, and
        keep how new samples of known classes look.
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
    familiar : Familiar
        What is known of how new samples of known classes look.

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
    familiar: Familiar = field(default_factory=Familiar)

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

    def threads(self) -> AbstractContextManager[None]:
        """As many threads of linear algebra as `n_jobs` allows."""
        return blas_threads(n_threads(self.options.n_jobs))

    @cached_property
    def looks(self) -> Looks:
        """How samples look to this state: how dense, how new, how doubtful."""
        return Looks(self.memory, self.binarizer, self.head, self.temperature, self.familiar)

    # ------------------------------------------------------------------ learning

    def learned(self, samples: Samples) -> GBMState:
        """The state after samples of new classes, or more samples of known ones."""
        with self.threads():
            now = decided(self, samples)
            memory, gathered = self._remembered(samples)
            head = now.head.update(memory, self.binarizer, gathered, self._head_seed())
            after = replace(now, memory=memory, head=head, calls=self.calls + 1)
            return followed(self, after).measured(samples) if self.options.calibrate else after

    def measured(self, samples: Samples) -> GBMState:
        """The state with what is typical of classes, as seen in samples of theirs."""
        return replace(self, familiar=self.familiar.with_numbers(self.looks.numbers(samples)))

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
        with self.threads():
            head = self.head.fit(memory, self.binarizer, self._head_seed())
            familiar = self.familiar.of_classes(memory.labels)
            after = replace(self, memory=memory, head=head, familiar=familiar, calls=self.calls + 1)
            return followed(self, after) if self.options.calibrate else after

    def calibrated(self, samples: Samples) -> GBMState:
        """The state with a temperature that suits held-out samples, and knowing how new they look."""
        places = {label: place for place, label in enumerate(self.labels)}
        bits = concatenate(list(samples.values()))
        targets = np.repeat([places[label] for label in samples], [len(rows) for rows in samples.values()])
        with self.threads():
            temperature = fit_temperature(self.scores(bits), targets)
            unknown = {label: rows for label, rows in samples.items() if label not in self.familiar.numbers}
            forgotten = replace(self.familiar, quantiles=None, n_held=0, n_classes=0)
            state = replace(self, temperature=temperature, familiar=forgotten).measured(unknown)
            return replace(state, familiar=state.looks.shown(samples))

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
