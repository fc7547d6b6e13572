"""EM in integers: what `bitreplay_enrol` does on a device, number by number.

Prototypes are bytes while they are fitted, responsibilities are Q15, their sums 32-bit integers, and logarithms and
exponentials come from tables. Nothing is random: a prototype starts as the mean of five samples, and the samples of
all starts are spread evenly over the buffer. The number of steps is bounded.

The procedure is that of :func:`bitreplay.fit_mixtures`: starts, a warm-up of each, the best continues; a prototype
with too few samples takes half of the heaviest one's, and is merged away in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.device._fixed_point import LEVELS, ONE, exponential, logarithm, scaled_logarithms
from bitreplay.device._layout import Layout

Integers = npt.NDArray[np.int64]

CLAMP = 0.02  # ours: that of EMOptions, measured in benchmarks/clamp.py
CARDS = 5  # ours: benchmarks/device_em.py; samples that a prototype starts from, of 1, 3 and 5 the best by a little
WEIGHT_LEVELS = 65535  # of mixing weights, as in docs/format.md

LOGARITHMS: Integers = scaled_logarithms(LEVELS, CLAMP).astype(np.int64)
EM_LOGARITHMS: Integers = LOGARITHMS[::-1].copy()  # of 1 - mu, by the level of mu
EM_LOG_ODDS: Integers = LOGARITHMS - EM_LOGARITHMS


@dataclass
class Hands:
    """Which samples the prototypes have, and what follows from that."""

    samples: npt.NDArray[np.float64]  # (n, D) of 0 and 1; products of integers below 2^53 are exact
    shares: Integers  # (n, K) responsibilities, Q15; from the first step on, every row adds up to ONE

    @property
    def masses(self) -> Integers:
        """(K,) effective counts, Q15: below 2^31."""
        return np.asarray(self.shares.sum(axis=0))

    def levels(self, top: int) -> Integers:
        """(K, D) the means of the samples, rounded to 0 .. top: the M-step.

        Counts and masses are shifted so that a 32-bit division suffices: the mass keeps 24 bits.
        """
        masses = np.maximum(self.masses, 1)[:, None]
        counts = (self.shares.T.astype(np.float64) @ self.samples).astype(np.int64)
        shift = np.maximum(_bit_length(masses) - 24, 0)
        mass = masses >> shift
        return np.asarray(((counts >> shift) * top + mass // 2) // mass)

    def owners(self) -> npt.NDArray[np.intp]:
        """(n,) the prototype with the largest share in each sample; ties go to the first."""
        return np.asarray(self.shares.argmax(axis=1))


def fit_prototypes(bits: PackedBits, layout: Layout) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """Mixing weights (K,) and codes (K, D) of a class's samples.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> stripes = pack(np.repeat([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], [10, 20, 40], axis=0))
    >>> weights, codes = fit_prototypes(stripes, Layout(4, prototypes=3))
    >>> weights.tolist(), codes.tolist()
    ([16383, 32909, 65535], [[7, 7, 0, 0], [0, 0, 7, 7], [7, 0, 7, 0]])
    """
    samples = bits.unpack(np.float64)
    n, k = len(samples), layout.prototypes_for(len(samples))
    if k == 1:  # the mean
        hands = Hands(samples, np.full((n, 1), ONE, dtype=np.int64))
        return _finish(hands, layout)
    best, best_objective = 0, None
    for start in range(layout.starts if layout.starts > 1 else 0):  # one start has no rival
        hands = _warm_up(samples, k, start, layout)
        objective = e_step(hands)
        if best_objective is None or objective > best_objective:
            best, best_objective = start, objective
    hands = _warm_up(samples, k, best, layout)  # again: on a device that is cheaper than room for two
    for step in range(layout.steps):
        before = hands.owners()
        e_step(hands)
        if step + 1 < layout.steps and _reseed(hands, layout.min_count):
            continue
        if np.array_equal(before, hands.owners()):
            break
    while hands.masses.min() < layout.min_count * ONE and hands.shares.shape[1] > 1:
        _drop(hands, int(hands.masses.argmin()))
    return _finish(hands, layout)


def e_step(hands: Hands) -> int:
    """One step of EM: prototypes from the shares, then new shares; returns the sum of the samples' best scores."""
    return _share_out(hands, hands.levels(LEVELS), hands.masses)


def _share_out(hands: Hands, levels: Integers, masses: Integers) -> int:
    """New shares under given prototypes and masses."""
    n = len(hands.samples)
    offsets = EM_LOGARITHMS[levels].sum(axis=1) + logarithm(np.maximum(masses, 1)) - logarithm(n * ONE)
    scores = (hands.samples @ EM_LOG_ODDS[levels].T.astype(np.float64)).astype(np.int64) + offsets
    top = scores.max(axis=1)
    parts = exponential(top[:, None] - scores)
    shares = (parts << 15) // parts.sum(axis=1, keepdims=True)
    shares[np.arange(n), scores.argmax(axis=1)] += ONE - shares.sum(axis=1)  # what rounding took goes to the best
    hands.shares = shares
    return int(top.sum())


def _warm_up(samples: npt.NDArray[np.float64], k: int, start: int, layout: Layout) -> Hands:
    """A start, five samples for each prototype, and its first steps."""
    n = len(samples)
    cards = np.arange(k * CARDS)
    shares = np.zeros((n, k), dtype=np.int64)
    shares[(cards * layout.starts + start) * n // (k * CARDS * layout.starts), cards // CARDS] = ONE
    hands = Hands(samples, shares)
    for _ in range(layout.warm_up):
        e_step(hands)
        _reseed(hands, layout.min_count)
    return hands


def _reseed(hands: Hands, min_count: int) -> bool:
    """Give every prototype with too few samples every second sample of the heaviest one."""
    found = False
    for k in range(hands.shares.shape[1]):
        masses = hands.masses
        if masses[k] < min_count * ONE:
            donor = int(masses.argmax())
            theirs = np.flatnonzero(hands.shares[:, donor] > ONE // 2)[1::2]
            hands.shares[theirs, k] += hands.shares[theirs, donor]
            hands.shares[theirs, donor] = 0
            found = True
    return found


def _drop(hands: Hands, k: int) -> None:
    """Merge a prototype away: its samples go to the others."""
    levels, masses = hands.levels(LEVELS), hands.masses
    _share_out(hands, np.delete(levels, k, axis=0), np.delete(masses, k))


def _finish(hands: Hands, layout: Layout) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    """Mixing weights, the largest 65535, and codes of q bits."""
    masses = hands.masses
    heaviest = int(masses.max())
    shift = max(heaviest.bit_length() - 16, 0)
    weights = ((masses >> shift) * WEIGHT_LEVELS + (heaviest >> shift) // 2) // (heaviest >> shift)
    return np.maximum(weights, 1).astype(np.uint16), hands.levels(layout.top).astype(np.uint8)


def _bit_length(values: Integers) -> Integers:
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)  # exact below 2^53
