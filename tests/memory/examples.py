"""Memories to test with, and what "exactly as it was" means."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import Mixture

ALL_BITS = (*range(1, 17), 32)


def random_mixture(rng: np.random.Generator, n_prototypes: int, n_features: int, count: int = 50) -> Mixture:
    """A mixture with prototypes anywhere in [0, 1], a fifth of them exactly 0 or 1, and unequal weights."""
    prototypes = rng.random((n_prototypes, n_features))
    fixed = rng.random(prototypes.shape) < 0.2
    prototypes[fixed] = rng.integers(0, 2, fixed.sum())
    weights = rng.uniform(0.2, 1.0, n_prototypes)
    return Mixture(prototypes.astype(np.float32), weights / weights.sum(), count)


def random_memory(
    bits: int, n_features: int, sizes: dict[Label, int], seed: int = 0, counts: dict[Label, int] | None = None
) -> BinaryMemory:
    """A memory with so many prototypes for each label."""
    rng = np.random.default_rng(seed)
    memory = BinaryMemory(bits)
    for label, size in sizes.items():
        memory.add(label, random_mixture(rng, size, n_features, (counts or {}).get(label, 50)))
    return memory


def state(memory: BinaryMemory) -> tuple[Any, ...]:
    """Everything a memory holds, to the byte: equal states are equal memories."""
    if memory.fingerprint is None:
        return memory.bits, None, memory.labels
    content, tensors = memory.to_content()
    arrays = {name: (value.dtype.str, value.shape, value.tobytes()) for name, value in tensors.items()}
    kinds = tuple(type(label) for label in memory.labels)
    return json.dumps(content), kinds, arrays


def class_bytes(memory: BinaryMemory, label: Label) -> tuple[bytes, ...]:
    """What is stored for one class: codes, mixing weights, and the number of samples."""
    table = memory._table
    rows = table.rows(table.position(label))
    return table.codes[rows].tobytes(), table.weights[rows].tobytes(), bytes(str(memory.count(label)), "ascii")
