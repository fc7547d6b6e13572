"""What classes in motion keep, as tensors of a file, and back (docs/format.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.container import Tensors
from bitreplay.bits import PackedBits, concatenate, row_bytes
from bitreplay.memory._motion import Motion
from bitreplay.memory._quantisation import FLOAT
from bitreplay.memory._table import PrototypeTable

PREFIX = "motion."


def motion_tensors(table: PrototypeTable) -> Tensors:
    """Tensors of the classes in motion; none if all are at rest."""
    places = table.moving
    if not places:
        return {}
    motions = [table.motions[table.labels[place]] for place in places]
    width = -(-table.n_features // 8)
    return {
        PREFIX + "classes": np.array(places, dtype=np.uint32),
        PREFIX + "values": np.concatenate([motion.values for motion in motions]),
        PREFIX + "counts": np.concatenate([motion.counts for motion in motions]),
        PREFIX + "equal": np.array([motion.equal for motion in motions], dtype=np.uint8),
        PREFIX + "drawn": np.array([motion.drawn for motion in motions], dtype=np.uint32),
        PREFIX + "kept_sizes": np.array([len(motion.kept) for motion in motions], dtype=np.uint32),
        PREFIX + "kept": np.ascontiguousarray(concatenate([motion.kept for motion in motions]).data[:, :width]),
    }


def with_motion(table: PrototypeTable, tensors: Tensors) -> PrototypeTable:
    """The table with the motions that a file has; raises KeyError or ValueError if they do not fit to it."""
    if not any(name.startswith(PREFIX) for name in tensors):
        return table
    n_features, n_labels = table.n_features, len(table.labels)
    places = _part(tensors, "classes", np.uint32, (None,)).astype(np.int64)
    if not len(places) or (np.diff(places) <= 0).any() or places[-1] >= n_labels:
        raise ValueError("classes in motion are not some of the classes, in their order")
    sizes, totals = (np.array(whole)[places] for whole in (table.sizes, table.counts))
    n_rows, kind = int(sizes.sum()), np.float32 if table.bits == FLOAT else np.uint16
    values = _part(tensors, "values", kind, (n_rows, n_features))
    if kind is np.float32 and not ((values >= 0) & (values <= 1)).all():
        raise ValueError("statistics in motion that do not lie in [0, 1]")
    counts = _part(tensors, "counts", np.float64, (n_rows,))
    begins = np.cumsum(sizes) - sizes
    if not (counts > 0).all() or (np.abs(np.add.reduceat(counts, begins) - totals) > 1e-6 * totals).any():
        raise ValueError("samples of prototypes in motion do not add up to those of their classes")
    equal = _part(tensors, "equal", np.uint8, (len(places),))
    kept_sizes = _part(tensors, "kept_sizes", np.uint32, (len(places),)).astype(np.int64)
    if ((kept_sizes != 0) & (kept_sizes != totals)).any() or (equal > 1).any():
        raise ValueError("samples kept in motion are neither all nor none of a class")
    drawn = _part(tensors, "drawn", np.uint32, (len(places),)).astype(np.int64)
    if (drawn > kept_sizes).any():
        raise ValueError("more samples in motion are drawn than kept")
    kept = _bits(_part(tensors, "kept", np.uint8, (int(kept_sizes.sum()), -(-n_features // 8))), n_features)
    ends = np.cumsum(kept_sizes)
    motions = {
        table.labels[place]: Motion(
            values[begin : begin + size].copy(),
            counts[begin : begin + size].copy(),
            int(total),
            kept[int(end - n) : int(end)],
            int(pseudo),
            bool(same),
        )
        for place, begin, size, total, n, end, pseudo, same in zip(
            places.tolist(), begins, sizes, totals, kept_sizes, ends, drawn, equal, strict=True
        )
    }
    return replace(table, motions=motions)


def _part(tensors: Tensors, name: str, kind: Any, shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
    """A tensor of the expected kind and shape, where None is any number."""
    tensor = tensors[PREFIX + name]
    fits = tensor.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, tensor.shape, strict=True))
    if tensor.dtype != kind or not fits:
        raise ValueError(f"{PREFIX + name} is {tensor.dtype} of shape {tensor.shape}")
    return tensor


def _bits(rows: npt.NDArray[np.uint8], n_features: int) -> PackedBits:
    data = np.zeros((len(rows), row_bytes(n_features)), dtype=np.uint8)
    data[:, : rows.shape[1]] = rows
    spare = -n_features % 8
    if spare and (rows[:, -1] >> (8 - spare)).any():
        raise ValueError("kept samples have bits beyond the last feature")
    return PackedBits(data, n_features)
