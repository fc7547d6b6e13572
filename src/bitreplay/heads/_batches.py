"""Batches in which every class has its share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


def balanced_rows(
    targets: npt.NDArray[np.int64], size: int, generator: np.random.Generator
) -> Iterator[npt.NDArray[np.intp]]:
    """Endless batches of row numbers, every class equally often whatever its size, each class in shuffled passes."""
    members = [np.flatnonzero(targets == c) for c in np.unique(targets)]
    longest = max(map(len, members))
    while True:
        # As many rows of every class as the largest has: smaller classes are repeated in full passes.
        columns = [
            np.concatenate([generator.permutation(m) for _ in range(-(-longest // len(m)))])[:longest] for m in members
        ]
        order = generator.permutation(np.concatenate(columns)) if len(members) > 1 else columns[0]
        if len(order) < size:
            order = np.tile(order, -(-size // len(order)))
        for begin in range(0, len(order) - size + 1, size):
            yield order[begin : begin + size]
