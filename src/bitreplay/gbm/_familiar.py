"""What a state knows about how its own samples look, memory/head → **class**: numbers of every class, and what it takes
to be refused.

Samples that were held out when it was learned say how new known samples look to it. Their quantiles are kept, so that
one can refuse any share of the known: a sample is refused if it looks newer than all but that share of them. With every
class that is added, some class or other fits a little better; by how much quantiles move as the number of classes
doubles has been seen on half of the classes (:mod:`bitreplay.gbm._growth`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, number
from bitreplay.gbm._novelty import Numbers, as_numbers
from bitreplay.memory import Label

RefuseBy = Literal["novelty", "probability", "both"]
REFUSED_BY: tuple[RefuseBy, ...] = get_args(RefuseBy)
LEVELS = np.linspace(0, 1, 101)  # shares of held-out samples whose quantiles are kept; interpolated in between
NEEDED = 20  # ours: held-out samples that it takes; a twentieth of fewer is less than one
ENOUGH_HELD = 400  # ours: until there are so many, later calls add theirs; 5 % are then known to 1.1 points
MOST_DOUBLINGS = 2  # ours: of the number of classes; how quantiles move beyond that, nobody has seen
NUMBERS, QUANTILES, GROWTH, EVIDENCE = "numbers", "quantiles", "growth", "evidence"

Floats = npt.NDArray[np.float64]
Tensors = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Familiar:
    """What is known of samples of known classes.

    Parameters
    ----------
    numbers : mapping
        Mean and spread of the evidence for samples of each class (:mod:`bitreplay.gbm._novelty`).
    quantiles : ndarray of shape (3, 101), optional
        Of held-out samples: by novelty, by probability, and by both. None while too few have been held out.
    n_held : int
        How many those were.
    n_classes : int
        How many classes there were.
    growth : ndarray of shape (2, 101), optional
        What is added to the quantiles of novelty and probability as the number of classes doubles.
    pace : float
        As scores of the head spread by a ratio, its temperature rises by this power of it (`bitreplay.gbm._drift`).
    plain : bool
        Whether all this is of the evidence that 0.2.0 had, without the spread of scores and the number of bits.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> familiar = Familiar().with_held_out(*rng.normal(size=(2, 5000)), n_classes=10)
    >>> familiar.refused(np.array([0.0, 3.0]), np.zeros(2), 0.05, "novelty", n_classes=10).tolist()
    [False, True]
    >>> float(familiar.refused(*rng.normal(size=(2, 5000)), 0.05, "both", n_classes=10).mean().round(2))
    0.05
    """

    numbers: Mapping[Label, Numbers] = field(default_factory=dict)
    quantiles: Floats | None = None
    n_held: int = 0
    n_classes: int = 0
    growth: Floats | None = None
    pace: float = 1.0
    plain: bool = False

    def with_numbers(self, numbers: Mapping[Label, Numbers]) -> Familiar:
        """The same with the numbers of some classes added or replaced."""
        return replace(self, numbers={**self.numbers, **numbers}) if numbers else self

    def scaled(self, ratio: float) -> Familiar:
        """The same for a head whose scores have spread by this ratio."""
        scale = np.array([ratio, ratio, 1.0, 1.0])
        return self.with_numbers({label: as_numbers(np.array(own) * scale) for label, own in self.numbers.items()})

    def of_classes(self, labels: Iterable[Label]) -> Familiar:
        """The same without the numbers of classes that are gone."""
        there = set(labels)
        return replace(self, numbers={label: own for label, own in self.numbers.items() if label in there})

    @property
    def wants_more(self) -> bool:
        """Whether samples of a further call should be held out."""
        return self.n_held < ENOUGH_HELD

    def with_held_out(
        self, novelties: Floats, doubts: Floats, n_classes: int, growth: Floats | None = None
    ) -> Familiar:
        """The same, having seen how new some held-out samples look; nothing changes while they are too few."""
        n = len(novelties)
        if n < NEEDED:
            return self
        values, weights = np.stack([novelties, doubts]), np.ones(n)
        before = (
            self.n_held if 2 * self.n_classes > n_classes else 0
        )  # seen among far fewer classes, they are of no use
        if before:  # quantiles stand for the samples that they were made of
            values = np.concatenate([values, self._single(n_classes)], axis=1)
            weights = np.concatenate([weights, np.full(len(LEVELS), before / len(LEVELS))])
        single = np.stack([quantiles_of(row, weights) for row in values])
        both = quantiles_of(_strangest(values[0], values[1], single), weights)
        kept = self.growth if growth is None else growth
        return replace(
            self,
            quantiles=np.stack([*single, both]),
            n_held=before + n,
            n_classes=n_classes,
            growth=kept,
        )

    def _single(self, n_classes: int) -> Floats:
        """Quantiles of novelty and probability, with so many classes."""
        if self.quantiles is None:
            raise ValueError("no samples have been held out")
        single = self.quantiles[:2]
        if self.growth is None:
            return single
        doublings = np.clip(np.log2(n_classes / self.n_classes), -MOST_DOUBLINGS, MOST_DOUBLINGS)
        return np.maximum.accumulate(single + doublings * self.growth, axis=1)

    def refused(
        self, novelties: Floats, doubts: Floats, share: float, by: RefuseBy, n_classes: int
    ) -> npt.NDArray[np.bool_]:
        """Which samples look newer than all but `share` of the known ones; none for a share of 0."""
        single = self._single(n_classes)
        if share == 0:
            return np.zeros(len(novelties), bool)
        if by == "both":
            assert self.quantiles is not None
            looks, row = _strangest(novelties, doubts, single), self.quantiles[2]
        else:
            place = REFUSED_BY.index(by)
            looks, row = (novelties, doubts)[place], single[place]
        return np.asarray(looks > np.interp(1 - share, LEVELS, row))

    # ------------------------------------------------------------------ files

    def to_content(self, labels: tuple[Label, ...]) -> tuple[dict[str, float], Tensors]:
        """Samples held out, of how many classes; the pace; and tensors, in which a class without numbers has NaN."""
        tensors: Tensors = {}
        if self.numbers:
            missing = (np.nan,) * 4
            tensors[NUMBERS] = np.array([self.numbers.get(label, missing) for label in labels], np.float32)
        for name, values in ((QUANTILES, self.quantiles), (GROWTH, self.growth)):
            if values is not None:
                tensors[name] = values.astype(np.float32)
        content = {"samples": self.n_held, "classes": self.n_classes, "pace": self.pace}
        return content | {EVIDENCE: 1 if self.plain else 2}, tensors

    @classmethod
    def from_content(
        cls, held_out: Mapping[str, Any] | None, tensors: Mapping[str, npt.NDArray[Any]], labels: tuple[Label, ...]
    ) -> Familiar:
        """The reverse; None is a file that knows nothing of it. Raises ValueError for what does not fit together."""
        held_out = held_out or {"samples": 0, "classes": 0}
        n_held, n_classes = (integer(name, held_out[name], 0) for name in ("samples", "classes"))
        pace = number("pace", held_out.get("pace", 1.0), 0, 10)  # files of before have none
        quantiles, growth = _table(tensors, QUANTILES, 3), _table(tensors, GROWTH, 2)
        if (quantiles is None) != (n_held == 0) or (quantiles is None) != (n_classes == 0):
            raise ValueError("quantiles without held-out samples, or the other way round")
        if quantiles is not None and (np.diff(quantiles, axis=1) < 0).any():
            raise ValueError("quantiles must not fall")
        numbers: dict[Label, Numbers] = {}
        if NUMBERS in tensors:
            values = _doubles(tensors[NUMBERS])
            if values.shape != (len(labels), 4):
                raise ValueError("numbers must be four of every class")
            there = np.asarray(~np.isnan(values).all(axis=1))
            if not np.isfinite(values[there]).all() or (values[there][:, 1::2] < 0).any():
                raise ValueError("numbers must be finite, and spreads not below 0")
            numbers = {label: as_numbers(own) for label, own, has in zip(labels, values, there, strict=True) if has}
        plain = bool(numbers or n_held) and integer(EVIDENCE, held_out.get(EVIDENCE, 1), 1, 2) == 1
        return cls(numbers, quantiles, n_held, n_classes, growth, pace, plain)


def _table(tensors: Mapping[str, npt.NDArray[Any]], name: str, n_rows: int) -> Floats | None:
    """A tensor of finite numbers, one per level."""
    if name not in tensors:
        return None
    values = _doubles(tensors[name])
    if values.shape != (n_rows, len(LEVELS)) or not np.isfinite(values).all():
        raise ValueError(f"{name} must be {n_rows} x {len(LEVELS)} finite numbers")
    return values


def quantiles_of(values: Floats, weights: Floats | None = None) -> Floats:
    """Weighted quantiles; the k-th of n equal samples is at k / (n + 1), so that shares are kept on average."""
    weights = np.ones(len(values)) if weights is None else weights
    order = np.argsort(values)
    sorted_weights = weights[order]
    positions = (np.cumsum(sorted_weights) - sorted_weights / 2 + 0.5) / (weights.sum() + 1)
    return np.interp(LEVELS, positions, values[order]).astype(np.float32).astype(np.float64)  # as in a file


def _strangest(novelties: Floats, doubts: Floats, quantiles: Floats) -> Floats:
    """The larger of the shares of known samples that look less new in either way."""
    looks = zip((novelties, doubts), quantiles, strict=False)
    return np.asarray(np.maximum(*(np.interp(values, row, LEVELS) for values, row in looks)))


def _doubles(tensor: npt.NDArray[Any]) -> Floats:
    """A tensor of a file in double precision; a NaN that signals, which only a forged one has, is one like others."""
    with np.errstate(invalid="ignore"):
        return np.asarray(tensor, np.float64)
