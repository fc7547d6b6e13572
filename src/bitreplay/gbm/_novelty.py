"""How new a sample looks, bits → memory/head → **class**: what speaks for its best class, against what its own have.

Two things speak for the best class. The *relative* evidence ``max_c s_c(z) - mean_c s_c(z) + std_c s_c(z)`` compares
its score with that of an average class: what all classes have in common cancels, as in the relative Mahalanobis
distance (Ren et al., "A Simple Fix to Mahalanobis Distance for Improving Near-OOD Detection", 2021). The more classes
there are, the better an average class stands for everything else; and a sample of which they think more alike is more
often new. The *density* ``log sum_c p(z | c)`` of the memory's mixtures needs no others; it counts most while there are
few classes. It is compared with that of bits that are set more rarely, at half a nat for every bit: a sample that sets
few bits has a high density but is new as often as others.

Two numbers are kept of each kind of evidence and every class: mean and spread over samples of its own when it was
learned. Novelty is by how many spreads a sample stays behind the mean. Both are drawn half-way to those of all classes
(further for classes of few samples): classes do differ in how much speaks for their samples, but a sample for which
little speaks is more often new whatever class it resembles. All constants: benchmarks/unknown.py --constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from bitreplay.memory import Label

Floats = npt.NDArray[np.float64]
Numbers = tuple[float, float, float, float]  # mean and spread of the relative evidence, mean and spread of the density

MEASURED = 20  # ours: samples of a class that its numbers are taken from; an average class stands in for smaller ones
ROWS = 100  # ours: samples of a class that are looked at; their mean is then known to a tenth of a spread
MOST_SCORES = 2**23  # ours: scores that are made for it in one call
OWN_SHARE = 0.5  # ours: benchmarks/unknown.py --constants; of a class's own numbers; 0 and 1 lose half a point
FADING = 25.0  # ours, as for means of small classes: samples of a class that count as much as all other classes
FULL_WEIGHT, LEAST_WEIGHT = 5, 0.25  # ours: classes up to which density counts fully, and what it counts with many
SPREAD, PER_BIT = 1.0, 0.5  # ours: benchmarks/novelty_scores.py; 2, and 0.35 to 0.65, do as well
TOO_MANY = 1000  # ours, not tuned: classes from which on it is not worth its time; scores of mixtures take as long


def density_weight(n_classes: int) -> float:
    """What the density counts beside the relative evidence.

    Examples
    --------
    >>> [density_weight(n) for n in (2, 5, 10, 20, 100, 10_000)]
    [1.0, 1.0, 0.5, 0.25, 0.25, 0.0]
    """
    return 0.0 if n_classes > TOO_MANY else min(1.0, max(LEAST_WEIGHT, FULL_WEIGHT / n_classes))


def evidence(scores: Floats, densities: Floats | None, *, plain: bool = False) -> Floats:
    """What speaks for the best class: (rows, 2), relative and as a density; 0 where that was not computed.

    Files of 0.2.0 have numbers of the `plain` relative evidence, without the spread of scores.

    Examples
    --------
    >>> evidence(np.array([[5.0, 1.0, 0.0, -2.0]]), None, plain=True).tolist()
    [[4.0, 0.0]]
    >>> evidence(np.array([[5.0, 1.0, 0.0, -2.0]]), None).round(2).tolist()
    [[6.55, 0.0]]
    """
    relative = scores.max(axis=1) - scores.mean(axis=1) + (0.0 if plain else SPREAD) * scores.std(axis=1)
    density = np.zeros(len(scores)) if densities is None else logsumexp(densities, axis=1)
    return np.stack([relative, density], axis=1)


def doubts(scores: Floats, temperature: float | None) -> Floats:
    """Minus the logarithm of the odds of the best class against an average other one: (rows,).

    The bare probability would fall with every class that is added.

    Examples
    --------
    >>> doubts(np.log([[0.5, 0.25, 0.25]]), None).round(6).tolist() == [-np.log(2).round(6)]
    True
    """
    if scores.shape[1] == 1:
        return np.zeros(len(scores))
    scaled = scores / (temperature or 1.0)
    best = scaled.argmax(axis=1)[:, None]
    highest = np.take_along_axis(scaled, best, 1)[:, 0]
    np.put_along_axis(scaled, best, -np.inf, 1)
    return np.asarray(logsumexp(scaled, axis=1) - np.log(scores.shape[1] - 1) - highest)


def rows_measured(counts: Mapping[Label, int], n_classes: int) -> dict[Label, int]:
    """How many samples of which classes to look at, given how many there are of each.

    Examples
    --------
    >>> rows_measured({"cup": 500, "mug": 5}, n_classes=2)
    {'cup': 100}
    """
    large = [label for label, n in counts.items() if n >= MEASURED]
    room = MOST_SCORES // max(1, n_classes)
    large = large[: room // MEASURED]  # of very many classes, the first stand for all
    return {label: min(ROWS, counts[label], room // len(large)) for label in large}


def numbers_of(rows: Floats) -> Numbers:
    """The numbers of a class, from the evidence (rows, 2) of its samples.

    Examples
    --------
    >>> numbers_of(np.array([[1.0, -5.0], [3.0, -5.0]]))
    (2.0, 1.0, -5.0, 0.0)
    """
    return as_numbers(np.stack([rows.mean(axis=0), rows.std(axis=0)], axis=1).ravel())


def as_numbers(values: Floats) -> Numbers:
    """Four values as numbers of a class, no more precise than in a file."""
    mean, spread, density, density_spread = values.astype(np.float32).tolist()
    return mean, spread, density, density_spread


class Yardstick(NamedTuple):
    """What is to be expected of samples of every class: means and spreads of their evidence, (classes, 2) each."""

    means: Floats
    spreads: Floats

    @classmethod
    def of(cls, numbers: Mapping[Label, Numbers], counts: Mapping[Label, int]) -> Yardstick:
        """From the numbers of some classes and the counts of all, in the order of their scores.

        Examples
        --------
        >>> numbers = {"cup": (10.0, 2.0, 0.0, 1.0), "mug": (20.0, 2.0, 0.0, 1.0)}
        >>> Yardstick.of(numbers, {"cup": 75, "mug": 75, "jug": 5}).means[:, 0]  # 3/8 of its own, and 5/8 of all
        array([13.125, 16.875, 15.   ])
        """
        own = np.array([numbers.get(label, (np.nan,) * 4) for label in counts]).reshape(-1, 2, 2)
        own[own[:, :, 1] == 0] = np.nan  # seen when there was no other class, or without density: it says nothing
        there = ~np.isnan(own[:, :, 0])
        n = there.sum(axis=0)
        mean = np.where(there, own[:, :, 0], 0).sum(axis=0) / np.maximum(n, 1)
        spread = np.sqrt(np.where(there, own[:, :, 1] ** 2, 0).sum(axis=0) / np.maximum(n, 1))
        pooled = np.stack([mean, np.where(n > 0, spread, 1.0)], axis=1)
        sizes = np.array(list(counts.values()), float)[:, None, None]
        share = OWN_SHARE * sizes / (sizes + FADING)
        values = pooled + np.where(there[:, :, None], share * (own - pooled), 0)
        return cls(values[:, :, 0], values[:, :, 1])

    def novelty(self, rows: Floats, best: npt.NDArray[np.intp], weight: float | None = None) -> Floats:
        """By how many spreads samples stay behind what is expected of their best class; 0 for a typical one.

        `weight` is what the density counts, if not what it counts with so many classes.

        Examples
        --------
        >>> yardstick = Yardstick(np.array([[10.0, 0.0]] * 3), np.array([[2.0, 1.0]] * 3))
        >>> yardstick.novelty(np.array([[10.0, 0.0], [4.0, -3.0]]), np.array([1, 1])).round(2).tolist()
        [0.0, 4.24]
        """
        behind = (self.means[best] - rows) / self.spreads[best]
        if len(self.means) == 1:
            return np.asarray(behind[:, 1])  # there is no other class to compare with
        weight = density_weight(len(self.means)) if weight is None else weight
        return np.asarray((behind[:, 0] + weight * behind[:, 1]) / np.hypot(1, weight))
