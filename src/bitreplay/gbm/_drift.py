"""Heads that go on learning grow ever surer of themselves, memory/**head → class**: temperature and numbers follow.

G of the replay head is trained further in every call, on pseudo-exemplars, which are easier than samples: its scores
spread. By how much is seen on pseudo-exemplars of known classes, scored before and after: those of samples that nobody
has any more spread alike (benchmarks/drift.py).
Heads that are computed from the memory alone do not drift.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from bitreplay.gbm._novelty import evidence
from bitreplay.heads import can_wait

if TYPE_CHECKING:
    from bitreplay.gbm._state import GBMState

__all__ = ["followed"]

DRAWN = 1000  # ours: pseudo-exemplars; the mean of what speaks for them is then known to a hundredth
LEAST, MOST = 0.1, 10.0  # ours: what no call should do to the scale of scores is no drift


def followed(before: GBMState, after: GBMState) -> GBMState:
    """The state after a call, with temperature and numbers of its known classes on the scale of its new head."""
    known = tuple(label for label in before.labels if label in after.memory)
    if can_wait(after.head) or len(known) < 2:
        return after
    bits, _ = after.memory.sample(DRAWN, known, generator=0, output="packed")
    old, new = (evidence(state.head.scores(bits), None)[:, 0].mean() for state in (before, after))
    if not (old > 0 and new > 0):
        return after
    ratio = float(np.clip(new / old, LEAST, MOST))
    decided_now = before.temperature is None  # on scores of the new head
    temperature = after.temperature if decided_now or after.temperature is None else after.temperature * ratio
    return replace(after, temperature=temperature, familiar=after.familiar.scaled(ratio))
