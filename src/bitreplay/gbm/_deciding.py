"""Decides what was left open, bits → **memory/head**: the head's options, the temperature of its scores, what is
familiar.

Mixtures are fitted to four fifths of the samples once; the others judge. Then everything is fitted to all samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits, concatenate
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
from bitreplay.gbm._drift import followed
from bitreplay.gbm._familiar import NEEDED
from bitreplay.heads import Head, fit_temperature, with_temperature
from bitreplay.memory import Label

if TYPE_CHECKING:
    from bitreplay.gbm._state import GBMState

__all__ = ["Open", "decided", "judged"]

Scores = npt.NDArray[np.float64]

MOST_JUDGED = 2**24  # ours: scores that options are judged by; with more, rows are left out: it takes 128 MB


class Open(NamedTuple):
    """What is still to be decided."""

    options: bool = False  # of the head
    few_options: bool = False  # of the head, for classes of few samples
    temperature: bool = False
    familiar: bool = False  # how new held-out samples look


def decided(state: GBMState, samples: Mapping[Label, PackedBits]) -> GBMState:
    """The state with everything decided that was left open and that enough samples can be held out for."""
    head, calibrate = state.head, state.options.calibrate
    several = len({*state.labels, *samples}) > 1  # one class is always certain
    what = Open(
        bool(head.open_options()) and len(samples) > 1,
        bool(open_few_options(head)) and can_pretend(samples),
        calibrate and state.temperature is None and not head.calibrated and several,
        calibrate and state.familiar.wants_more,
    )
    if not any(what):
        return state
    parts = split(samples, state.seed)
    n = parts.n_held
    what = Open(
        what.options and n >= ENOUGH, what.few_options, what.temperature and n >= FEW, what.familiar and n >= NEEDED
    )
    return judged(state, parts, what) if any(what) else state


def judged(state: GBMState, parts: HeldOut, what: Open) -> GBMState:
    """The state with these things decided by the samples held out."""
    memory, gathered = state._remembered(parts.kept)
    bits = concatenate(list(parts.held.values()))
    places = {label: place for place, label in enumerate(memory.labels)}
    targets = np.repeat([places[label] for label in parts.held], [len(held) for held in parts.held.values()])
    if len(bits) * len(memory) > MOST_JUDGED:
        step = -(-len(bits) * len(memory) // MOST_JUDGED)
        bits, targets = bits[::step], targets[::step]
    head, temperature, familiar = state.head, state.temperature, state.familiar

    def fitted(head: Head) -> Head:
        return head.update(memory, state.binarizer, gathered, state._head_seed())

    def score(head: Head) -> Scores:
        return fitted(head).scores(bits)

    if what.options:
        head, _ = choose_options(head, score, targets, head.open_options())
    if what.temperature or what.familiar:
        made = fitted(head)
    if what.temperature:
        temperature = fit_temperature(made.scores(bits), targets)
        if (scaled := with_temperature(head, temperature)) is not head:
            head, made = scaled, fitted(scaled)
    if what.familiar:
        trial = followed(state, replace(state, memory=memory, head=made, temperature=temperature))
        held = {memory.labels[place]: bits[targets == place] for place in np.unique(targets)}
        shown = trial.measured(parts.kept).looks.shown(held, parts.kept)
        familiar = replace(shown, numbers=familiar.numbers)  # those of the trial are not those of the head to come
    if what.few_options:
        few = pretend(parts.kept, state.seed)
        memory.replace(state._fitted(few))  # from here on `score` sees small classes
        gathered = {**gathered, **few}
        head = choose_sparingly(head, score, targets, open_few_options(head))
    return replace(state, head=head, temperature=temperature, familiar=familiar)
