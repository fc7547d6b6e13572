"""Prepares draws from some classes of a memory, **memory → head**, and keeps the preparation for the next batch.

A training loop draws from the same classes thousands of times: the rows of the table they own, the probability of each
prototype and the class it represents are worked out once.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError
from bitreplay.memory._labels import Label
from bitreplay.memory._quantisation import shares
from bitreplay.memory._sampler import Sampler
from bitreplay.memory._table import PrototypeTable

__all__ = ["Drawer", "Drawers", "Prior"]

Prior = Literal["balanced", "empirical"]
PRIORS = get_args(Prior)
MOST_DRAWERS = 8  # combinations of classes that are kept ready to be drawn from


class Drawer(NamedTuple):
    """A sampler of some classes, and the class of each of its prototypes."""

    sampler: Sampler
    positions: npt.NDArray[np.int64]  # of the class among the memory's labels
    labels: npt.NDArray[Any]


class Drawers:
    """The drawers of one table, made on first use."""

    def __init__(self, table: PrototypeTable) -> None:
        self._table = table
        self._ready: dict[tuple[tuple[Label, ...] | None, str], Drawer] = {}

    def of(self, classes: tuple[Label, ...] | None, prior: Prior) -> Drawer:
        """The drawer of these classes, or of all, under a prior."""
        if prior not in PRIORS:
            raise InputError(f"prior must be one of {', '.join(PRIORS)}; got {prior!r}")
        if (classes, prior) not in self._ready:
            drawer = self._make(classes, prior)
            if len(self._ready) >= MOST_DRAWERS:
                self._ready.clear()  # they can be made again at any time
            self._ready[classes, prior] = drawer
        return self._ready[classes, prior]

    def _make(self, classes: tuple[Label, ...] | None, prior: Prior) -> Drawer:
        table = self._table.settled
        chosen = table.labels if classes is None else classes
        if not chosen:
            raise InputError("there are no classes to draw from")
        if len(set(chosen)) != len(chosen):
            raise InputError(f"a class is named twice: {list(chosen)}")
        at = np.arange(len(chosen)) if classes is None else np.array([table.position(label) for label in chosen])
        rows = slice(None) if classes is None else table.rows_of(at)  # all of them: no copy is made
        sizes = np.diff(table.offsets)[at]
        chances = shares(table.weights[rows], sizes)
        if prior == "empirical":
            chances *= np.repeat(np.array(table.counts)[at], sizes)
        positions = np.repeat(at, sizes)
        sampler = Sampler(table.codes[rows], table.bits, table.n_features, chances)
        return Drawer(sampler, positions, table.label_array[positions])
