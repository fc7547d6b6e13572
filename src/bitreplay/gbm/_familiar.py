"""What a state knows about how its own samples look, memory/head → **class**: numbers of every class, and what it takes
to be refused.

Samples that were held out when it was learned say how new known samples look to it. Their quantiles are kept, so that
one can refuse any share of the known: a sample is refused if it looks newer than all but that share of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.gbm._novelty import Numbers
from bitreplay.memory import Label

__all__ = ["NEEDED", "REFUSED_BY", "Familiar", "RefuseBy"]

RefuseBy = Literal["novelty", "probability", "both"]
REFUSED_BY: tuple[RefuseBy, ...] = get_args(RefuseBy)
LEVELS = np.linspace(0, 1, 101)  # shares of held-out samples whose quantiles are kept; interpolated in between
NEEDED = 20  # ours: held-out samples that it takes; a twentieth of fewer is less than one
ENOUGH_HELD = 400  # ours: until there are so many, later calls add theirs; 5 % are then known to 1.1 points
NUMBERS, QUANTILES = "numbers", "quantiles"

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

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> familiar = Familiar().with_held_out(rng.normal(size=5000), rng.normal(size=5000))
    >>> familiar.refused(np.array([0.0, 3.0]), np.zeros(2), share=0.05, by="novelty").tolist()
    [False, True]
    >>> float(familiar.refused(*rng.normal(size=(2, 5000)), share=0.05, by="both").mean().round(2))
    0.05
    """

    numbers: Mapping[Label, Numbers] = field(default_factory=dict)
    quantiles: Floats | None = None
    n_held: int = 0

    def with_numbers(self, numbers: Mapping[Label, Numbers]) -> Familiar:
        """The same with the numbers of some classes added or replaced."""
        return replace(self, numbers={**self.numbers, **numbers}) if numbers else self

    def of_classes(self, labels: Iterable[Label]) -> Familiar:
        """The same without the numbers of classes that are gone."""
        there = set(labels)
        return replace(self, numbers={label: own for label, own in self.numbers.items() if label in there})

    @property
    def wants_more(self) -> bool:
        """Whether samples of a further call should be held out."""
        return self.n_held < ENOUGH_HELD

    def with_held_out(self, novelties: Floats, doubts: Floats) -> Familiar:
        """The same, having seen how new some held-out samples look; nothing changes while they are too few."""
        n = len(novelties)
        if n < NEEDED:
            return self
        values, weights = np.stack([novelties, doubts]), np.ones(n)
        if self.quantiles is not None:  # they stand for the samples that they were made of
            values = np.concatenate([values, self.quantiles[:2]], axis=1)
            weights = np.concatenate([weights, np.full(len(LEVELS), self.n_held / len(LEVELS))])
        single = np.stack([_quantiles(row, weights) for row in values])
        both = _quantiles(_strangest(*values, single), weights)
        return replace(self, quantiles=np.stack([*single, both]), n_held=self.n_held + n)

    def refused(self, novelties: Floats, doubts: Floats, share: float, by: RefuseBy) -> npt.NDArray[np.bool_]:
        """Which samples look newer than all but `share` of the known ones; none for a share of 0."""
        if self.quantiles is None:
            raise ValueError("no samples have been held out")
        place = REFUSED_BY.index(by)
        looks = (novelties, doubts)[place] if by != "both" else _strangest(novelties, doubts, self.quantiles)
        most = np.inf if share == 0 else float(np.interp(1 - share, LEVELS, self.quantiles[place]))
        return np.asarray(looks > most)

    # ------------------------------------------------------------------ files

    def to_content(self, labels: tuple[Label, ...]) -> tuple[int, Tensors]:
        """How many samples were held out, and tensors; a class without numbers has not-a-number."""
        tensors: Tensors = {}
        if self.numbers:
            missing = (np.nan,) * 4
            tensors[NUMBERS] = np.array([self.numbers.get(label, missing) for label in labels], np.float32)
        if self.quantiles is not None:
            tensors[QUANTILES] = self.quantiles.astype(np.float32)
        return self.n_held, tensors

    @classmethod
    def from_content(cls, n_held: Any, tensors: Mapping[str, npt.NDArray[Any]], labels: tuple[Label, ...]) -> Familiar:
        """The reverse; raises ValueError for what does not fit together."""
        n_held = integer("held_out", n_held, 0)
        quantiles = tensors.get(QUANTILES)
        if (quantiles is None) != (n_held == 0):
            raise ValueError("quantiles without held-out samples, or the other way round")
        if quantiles is not None:
            quantiles = np.asarray(quantiles, np.float64)
            if quantiles.shape != (len(REFUSED_BY), len(LEVELS)) or not np.isfinite(quantiles).all():
                raise ValueError(f"quantiles must be {len(REFUSED_BY)} x {len(LEVELS)} finite numbers")
            if (np.diff(quantiles, axis=1) < 0).any():
                raise ValueError("quantiles must not fall")
        numbers: dict[Label, Numbers] = {}
        if NUMBERS in tensors:
            values = np.asarray(tensors[NUMBERS], np.float64)
            there = ~np.isnan(values).all(axis=-1)
            if values.shape != (len(labels), 4) or not np.isfinite(values[there]).all():
                raise ValueError("numbers must be four finite numbers of every class, or none")
            if (values[there][:, 1::2] < 0).any():
                raise ValueError("a spread is below 0")
            numbers = {label: tuple(row) for label, row, has in zip(labels, values.tolist(), there, strict=True) if has}
        return cls(numbers, quantiles, n_held)


def _quantiles(values: Floats, weights: Floats) -> Floats:
    """Weighted quantiles; the k-th of n equal samples is at k / (n + 1), so that shares are kept on average."""
    order = np.argsort(values)
    sorted_weights = weights[order]
    positions = (np.cumsum(sorted_weights) - sorted_weights / 2 + 0.5) / (weights.sum() + 1)
    return np.interp(LEVELS, positions, values[order]).astype(np.float32).astype(np.float64)  # as in a file


def _strangest(novelties: Floats, doubts: Floats, quantiles: Floats) -> Floats:
    """The larger of the shares of known samples that look less new in either way."""
    looks = zip((novelties, doubts), quantiles, strict=False)
    return np.asarray(np.maximum(*(np.interp(values, row, LEVELS) for values, row in looks)))
