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

from bitreplay._floor.arguments import integer, one_of
from bitreplay._floor.seeds import seed_for
from bitreplay._floor.threads import blas_threads, n_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import Fingerprint, PackedBits, concatenate
from bitreplay.errors import InputError
from bitreplay.gbm._choice import decided
from bitreplay.gbm._drift import followed
from bitreplay.gbm._familiar import NEEDED, Familiar
from bitreplay.gbm._looks import Looks
from bitreplay.gbm._update import Enrolment, Update
from bitreplay.heads import HEADS, Head, can_wait, deferred, fit_temperature, waits, with_temperature
from bitreplay.memory import BinaryMemory, Label, as_label, check_bits
from bitreplay.mixture import EMOptions

Samples = Mapping[Label, PackedBits]
Scores = npt.NDArray[np.float64]

FEW_ROWS = 8  # ours: products of so few rows are fastest with one thread, and to ask joblib takes as long as they do
LARGE = 2**25  # ours: values of all prototypes, whose closed form takes 150 MB (benchmarks/scale.py)
SINGLE = 5  # ours: new classes of fewer samples, as they come from streams, do not ask for a new head at once


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
    update : {"online", "refit"}
        How known classes take more samples: by online EM, or by a refit to pseudo-exemplars and the new samples.
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
    update: Update = "online"  # ours: benchmarks/stream.py
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        integer("prototypes", self.prototypes, 1)
        if not isinstance(self.em, EMOptions | None):
            raise InputError(f"em must be EMOptions or None; got {self.em!r}")
        _ = self.made_head
        one_of("update", self.update, Update)
        n_threads(self.n_jobs)
        check_bits(self.bits)

    @cached_property
    def made_head(self) -> Head:
        """The head that was asked for, not fitted yet."""
        return make_head(self.head)

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
        return cls(options, binarizer, BinaryMemory(options.bits, fingerprint), options.made_head, seed)

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
            head = self._followed(now.head, memory, gathered)
            after = replace(now, memory=memory, head=head, calls=self.calls + 1)
            # How samples look to a head that waits is not asked at every sample of a stream: that would compute it.
            return followed(self, after).measured(samples) if self.options.calibrate and not waits(head) else after

    def measured(self, samples: Samples) -> GBMState:
        """The state with what is typical of classes, as seen in samples of theirs."""
        return replace(self, familiar=self.familiar.with_numbers(self.looks.numbers(samples)))

    def _followed(self, head: Head, memory: BinaryMemory, samples: Samples) -> Head:
        """The head after learning: at once if there is a new class of some size, else when it is first asked."""
        small = all(label in self.memory or len(bits) < SINGLE for label, bits in samples.items())
        waiting = self._deferred(head, memory, (small and self.options.update == "online") or self._is_large)
        return waiting or head.update(memory, self.binarizer, samples, self._head_seed())

    def _deferred(self, head: Head, memory: BinaryMemory, is_wanted: bool) -> Head | None:
        """The head of a memory, to be computed when it is first asked, if that is wanted and the head can wait."""
        threads = n_threads(self.options.n_jobs)
        return deferred(head, memory, self.binarizer, self._head_seed(), threads) if is_wanted else None

    @property
    def _is_large(self) -> bool:
        """Whether two heads of this size are too many: then the next one is not computed before this one is gone."""
        return len(self.memory) > 0 and sum(self.memory.sizes) * self.memory.n_features > LARGE

    def settled(self) -> GBMState:
        """The state with all classes at rest: codes of q bits are all that is kept of them."""
        if not self.memory.in_motion:
            return self
        memory = self.memory.copy()
        memory.settle()
        return self.with_memory(memory) if can_wait(self.head) else replace(self, memory=memory, calls=self.calls + 1)

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
            waiting = self._deferred(self.head, memory, self._is_large)
            head = waiting or self.head.fit(memory, self.binarizer, self._head_seed())
            familiar = self.familiar.of_classes(memory.labels)
            after = replace(self, memory=memory, head=head, familiar=familiar, calls=self.calls + 1)
            return followed(self, after) if self.options.calibrate else after

    def apart(self, samples: Samples) -> BinaryMemory:
        """A memory of new classes alone, as `learned` would add them: what another process computes for `merged`."""
        memory = BinaryMemory(self.memory.bits, self.memory.fingerprint)
        memory.add_all(self._enrolment().fitted(samples))
        return memory

    def calibrated(self, samples: Samples) -> GBMState:
        """The state with a temperature that suits held-out samples, and knowing how new they look."""
        places = {label: place for place, label in enumerate(self.labels)}
        bits = concatenate(list(samples.values()))
        targets = np.repeat([places[label] for label in samples], [len(rows) for rows in samples.values()])
        with self.threads():
            state = self._tempered(bits, targets) if len(self.labels) > 1 else self  # one class is always certain
            unknown = {label: rows for label, rows in samples.items() if label not in self.familiar.numbers}
            state = state.measured(unknown)
            if len(bits) < NEEDED:
                return state
            forgotten = replace(state, familiar=replace(state.familiar, quantiles=None, n_held=0, n_classes=0))
            return replace(state, familiar=forgotten.looks.shown(samples))

    def _tempered(self, bits: PackedBits, targets: npt.NDArray[np.intp]) -> GBMState:
        """The state with the temperature that suits these samples; also that of the prior, unless the user gave one."""
        head, given = self.head, self.options.made_head
        if with_temperature(given, 1.0) is not given:  # it was left open: fit it as if it had never been decided
            head = head.decided(temperature=None).fit(self.memory, self.binarizer, self._head_seed())
        temperature = fit_temperature(head.scores(bits), targets)
        if (scaled := with_temperature(head, temperature)) is not head:
            head = scaled.fit(self.memory, self.binarizer, self._head_seed())
        return replace(self, temperature=temperature, head=head)

    def _head_seed(self) -> int:
        return seed_for(self.seed, "head", self.calls)

    def _remembered(self, samples: Samples) -> tuple[BinaryMemory, Samples]:
        """The memory after these samples, and what the head may be trained on."""
        return self._enrolment().remembered(samples, gather=not can_wait(self.head))

    def _enrolment(self) -> Enrolment:
        """How the next samples become mixtures."""
        options = self.options
        return Enrolment(
            self.memory, options.em_options, options.update, self.seed, self.calls, n_threads(options.n_jobs)
        )
