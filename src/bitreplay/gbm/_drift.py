"""Heads that go on learning grow ever surer of themselves, memory/**head → class**: temperature and numbers follow.

G of the replay head is trained further in every call, on pseudo-exemplars, which are easier than samples: its scores
spread. By how much is seen on pseudo-exemplars of known classes, scored before and after: those of samples that nobody
has any more spread alike. G does not become right more often, though, so that the temperature must rise faster than
scores spread. How much faster is rehearsed while there are samples held out: G goes on learning from the memory alone,
as later calls will have it do, and held-out samples say what its temperature is then (benchmarks/drift.py).
Heads that are computed from the memory alone do not drift.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.gbm._novelty import evidence
from bitreplay.heads import Head, can_wait, fit_temperature
from bitreplay.memory import BinaryMemory, Label

if TYPE_CHECKING:
    from bitreplay.gbm._state import GBMState

DRAWN = 1000  # ours: pseudo-exemplars; the mean of what speaks for them is then known to a hundredth
LEAST, MOST = 0.1, 10.0  # ours: what no call should do to the scale of scores is no drift
NO_SPREAD, FASTEST = 1.02, 3.0  # ours: scores that spread less say nothing of the temperature; and what is no error


def followed(before: GBMState, after: GBMState) -> GBMState:
    """The state after a call, with temperature and numbers of its known classes on the scale of its new head."""
    known = tuple(label for label in before.labels if label in after.memory)
    if can_wait(after.head) or len(known) < 2:
        return after
    ratio = spread(before.head, after.head, after.memory, known)
    temperature = after.temperature
    if temperature is not None and before.temperature is not None:  # else it was decided on scores of the new head
        temperature *= ratio**after.familiar.pace
    return replace(after, temperature=temperature, familiar=after.familiar.scaled(ratio))


def rehearsed(state: GBMState, bits: PackedBits, targets: npt.NDArray[np.intp], seed: int) -> float:
    """How fast the temperature rises as scores spread: it does with this power of their ratio.

    Parameters
    ----------
    state : GBMState
        Whose head has just been trained on samples, and has its temperature.
    bits, targets : PackedBits, ndarray
        Held-out samples and the columns of their classes.
    seed : int
        Of the rehearsal.
    """
    if can_wait(state.head) or state.temperature is None:
        return 1.0
    later = state.head.update(state.memory, state.binarizer, {}, seed)
    ratio = spread(state.head, later, state.memory, state.labels)
    if ratio < NO_SPREAD:
        return 1.0
    risen = fit_temperature(later.scores(bits), targets) / state.temperature
    return float(np.clip(np.log(risen) / np.log(ratio), 1.0, FASTEST))


def spread(before: Head, after: Head, memory: BinaryMemory, known: tuple[Label, ...]) -> float:
    """By which ratio what speaks for pseudo-exemplars of known classes has grown; 1 where nothing spoke for them."""
    bits, _ = memory.sample(DRAWN, known, generator=0, output="packed")
    old, new = (evidence(head.scores(bits), None)[:, 0].mean() for head in (before, after))
    return float(np.clip(new / old, LEAST, MOST)) if old > 0 and new > 0 else 1.0
