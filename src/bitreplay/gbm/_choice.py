"""Choices made on held-out samples of the first call: the head's open options, and the temperature of its scores.

A fifth of every class is held out, the mixtures are fitted to the rest once, and every choice maximises the likelihood
of the held-out samples. Test data is never used, and no choice is revised later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay._floor.seeds import seed_for
from bitreplay.bits import PackedBits
from bitreplay.heads import Head, fit_temperature, held_out_loss
from bitreplay.memory import Label

__all__ = ["ENOUGH", "FEW", "HELD_OUT", "HeldOut", "choose_options", "split"]

HELD_OUT = 0.2  # RanPAC (McDonnell et al., NeurIPS 2023): a fifth of a task's samples decides its ridge
ENOUGH = 50  # ours: held-out samples that options are chosen by; benchmarks/choice.py: fewer gain nothing
FEW = 10  # ours: held-out samples that a temperature is fitted to; without one, scores are far too sure

Targets = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]


class HeldOut(NamedTuple):
    """Samples by class: those to fit mixtures to, and those held out."""

    kept: dict[Label, PackedBits]
    held: dict[Label, PackedBits]

    @property
    def n_held(self) -> int:
        """Number of held-out samples."""
        return sum(map(len, self.held.values()))


def split(samples: Mapping[Label, PackedBits], seed: int) -> HeldOut:
    """Hold out a fifth of every class, rounded down.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> parts = split({"cup": pack(np.eye(10)), "mug": pack(np.eye(10)[:4])}, seed=0)
    >>> [len(bits) for bits in parts.held.values()]
    [2, 0]
    """
    rng = np.random.default_rng(seed_for(seed, "held out"))
    kept, held = {}, {}
    for label, bits in samples.items():
        order = rng.permutation(len(bits))
        n_held = int(HELD_OUT * len(bits))
        kept[label], held[label] = bits[order[n_held:]], bits[order[:n_held]]
    return HeldOut(kept, held)


def choose_options(head: Head, score: Callable[[Head], Scores], targets: Targets) -> tuple[Head, Scores]:
    """Choose a head's open options one after another, each by the likelihood of held-out targets.

    Returns the head with its options set, and its scores of the held-out samples.

    Parameters
    ----------
    head : Head
        With open options.
    score : callable
        Fits a head and scores the held-out samples.
    targets : ndarray
        Their classes, as columns of the scores.
    """

    def judged(options: dict[str, Any]) -> tuple[float, dict[str, Any], Scores]:
        scores = score(head.decided(**options))
        return held_out_loss(scores, targets, fit_temperature(scores, targets)), options, scores

    # The value in the middle is the default, with which the others are tried.
    best = judged({name: values[len(values) // 2] for name, values in head.open_options().items()})
    for name, values in head.open_options().items():
        _, chosen, _ = best
        others = [judged({**chosen, name: value}) for value in values if value != chosen[name]]
        best = min([best, *others], key=lambda one: one[0])
    return head.decided(**best[1]), best[2]
