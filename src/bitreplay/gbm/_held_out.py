"""Samples held out of a call, to decide by what is left open: **bits** → memory/head."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bitreplay._floor.seeds import seed_for
from bitreplay.bits import PackedBits
from bitreplay.memory import Label

HELD_OUT = 0.2  # RanPAC (McDonnell et al., NeurIPS 2023): a fifth of a task's samples decides its ridge
FOLDS = 5  # ours, as a fifth is held out of more samples
LEAST = 3  # ours: samples of a class; what is fitted to a single one knows nothing of how samples vary


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


def folds(samples: Mapping[Label, PackedBits], seed: int) -> list[HeldOut]:
    """Hold out every sample of classes of three or more in one of five turns.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> parts = folds({"cup": pack(np.eye(3)), "mug": pack(np.eye(3)[:1])}, seed=0)
    >>> [(len(turn.kept["cup"]), len(turn.kept["mug"])) for turn in parts]
    [(2, 1), (2, 1), (2, 1)]
    """
    rng = np.random.default_rng(seed_for(seed, "folds"))
    orders = {label: rng.permutation(len(bits)) for label, bits in samples.items()}
    turns = []
    for turn in range(FOLDS):
        held = {label: order[turn::FOLDS] for label, order in orders.items() if len(order) >= LEAST}
        kept = {label: np.setdiff1d(order, held.get(label, [])) for label, order in orders.items()}
        taken = {label: samples[label][rows] for label, rows in held.items() if len(rows)}
        turns.append(HeldOut({label: samples[label][rows] for label, rows in kept.items()}, taken))
    return [turn for turn in turns if turn.held]
