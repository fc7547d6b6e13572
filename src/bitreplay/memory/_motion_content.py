"""What classes in motion keep, as tensors of a file, and back (docs/format.md)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.container import Tensors
from bitreplay.bits import PackedBits, concatenate, row_bytes
from bitreplay.memory._motion import Motion, Past
from bitreplay.memory._quantisation import FLOAT, empty_codes, from_stream, to_stream
from bitreplay.memory._table import PrototypeTable

PREFIX = "motion."


def motion_tensors(table: PrototypeTable) -> Tensors:
    """Tensors of the classes in motion; none if all are at rest."""
    places = table.moving
    if not places:
        return {}
    motions = [table.motions[table.labels[place]] for place in places]
    pasts = [motion.past for motion in motions if motion.past]
    codes = np.concatenate([empty_codes(table.bits, table.n_features), *(past.codes for past in pasts)])
    kept = concatenate([motion.kept for motion in motions]).data[:, : -(-table.n_features // 8)]
    none = np.zeros(len(motions), dtype=np.uint32)
    return {
        PREFIX + "classes": np.array(places, dtype=np.uint32),
        PREFIX + "values": np.concatenate([motion.values for motion in motions]),
        PREFIX + "counts": np.concatenate([motion.counts for motion in motions]),
        PREFIX + "equal": np.array([motion.equal for motion in motions], dtype=np.uint8),
        PREFIX + "samples_sizes": np.array([len(motion.kept) for motion in motions], dtype=np.uint32),
        PREFIX + "samples": np.ascontiguousarray(kept),
        PREFIX + "past_sizes": np.array([len(m.past.weights) if m.past else 0 for m in motions], dtype=np.uint32),
        PREFIX + "past_weights": np.concatenate([none[:0].astype(np.uint16), *(past.weights for past in pasts)]),
        PREFIX + "past_codes": to_stream(codes, table.bits, table.n_features),
        # Version 0.2.0 kept all samples of a class, or none: it finds none, and learns on in steps.
        **{PREFIX + name: none for name in ("kept_sizes", "drawn")},
        PREFIX + "kept": np.zeros((0, kept.shape[1]), dtype=np.uint8),
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
    if (equal > 1).any():
        raise ValueError("mixing weights in motion are neither equal nor not")
    named = "samples" if PREFIX + "samples" in tensors else "kept"  # as 0.2.0 called them, which had no past
    n_kept = _part(tensors, f"{named}_sizes", np.uint32, (len(places),)).astype(np.int64)
    kept = _bits(_part(tensors, named, np.uint8, (int(n_kept.sum()), -(-n_features // 8))), n_features)
    pasts = _pasts(table, tensors, totals - n_kept) if named == "samples" else [None] * len(places)
    for n, past, total in zip(n_kept, pasts, totals, strict=True):
        if (past is None and n not in (0, total)) or (past is not None and not 0 < n < total):
            raise ValueError("samples kept in motion and those of the past are neither all nor none of a class")
    ends = np.cumsum(n_kept)
    motions = {
        table.labels[place]: Motion(
            values[begin : begin + size].copy(),
            counts[begin : begin + size].copy(),
            int(total),
            kept[int(end - n) : int(end)],
            past,
            bool(same),
        )
        for place, begin, size, total, n, end, past, same in zip(
            places.tolist(), begins, sizes, totals, n_kept, ends, pasts, equal, strict=True
        )
    }
    return replace(table, motions=motions)


def _pasts(table: PrototypeTable, tensors: Tensors, counts: npt.NDArray[np.int64]) -> list[Past | None]:
    """What each class in motion was before the samples that it keeps, when it had so many; None where it keeps none."""
    sizes = _part(tensors, "past_sizes", np.uint32, counts.shape).astype(np.int64)
    n_rows, ends = int(sizes.sum()), np.cumsum(sizes)
    weights = _part(tensors, "past_weights", np.uint16, (n_rows,))
    if not weights.all():
        raise ValueError("mixing weights of the past in motion that are not positive")
    codes = from_stream(tensors[PREFIX + "past_codes"], table.bits, n_rows, table.n_features)
    return [
        Past(codes[end - size : end].copy(), weights[end - size : end].copy(), int(count), table.n_features)
        if size
        else None
        for size, end, count in zip(sizes, ends, counts, strict=True)
    ]


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
