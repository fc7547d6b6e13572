"""Joins two tables of prototypes: what two devices learned becomes one **memory**, without any sample."""

from __future__ import annotations

import numpy as np

from bitreplay.errors import InputError
from bitreplay.memory._table import PrototypeTable
from bitreplay.mixture import combine


def merged(table: PrototypeTable, other: PrototypeTable, prototypes: int | None) -> PrototypeTable:
    """A table with the classes of both; one known to both is reduced to `prototypes`, and is at rest."""
    if table.bits != other.bits:
        raise InputError(
            f"memories of q={table.bits} and q={other.bits} cannot be merged: both must use the same number of bits"
        )
    shared = {}
    for label in other.labels:
        if label in table:
            mine, theirs = table.mixture(label), other.mixture(label)
            shared[label] = combine([mine, theirs], prototypes or max(len(mine.weights), len(theirs.weights)))
    new = np.array([place for place, label in enumerate(other.labels) if label not in table], dtype=np.intp)
    return (table.replaced(shared) if shared else table).joined(other, new)
