"""A memory as JSON content and tensors, and back (docs/format.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bitreplay._floor.container import Tensors
from bitreplay.bits import Fingerprint
from bitreplay.errors import FileFormatError
from bitreplay.memory._motion_content import motion_tensors, with_motion
from bitreplay.memory._quantisation import check_bits, from_stream, to_stream
from bitreplay.memory._table import PrototypeTable, as_label

KINDS = {"sizes": np.uint16, "counts": np.uint32, "weights": np.uint16}


def to_content(table: PrototypeTable, fingerprint: Fingerprint) -> tuple[dict[str, Any], Tensors]:
    """A memory's description for a file, and its tensors."""
    moving, table = motion_tensors(table), table.settled  # codes are up to date also for those who read nothing else
    content = {"bits": table.bits, "fingerprint": fingerprint.to_json(), "labels": list(table.labels)}
    tensors = {
        "memory.codes": to_stream(table.codes, table.bits, table.n_features),
        "memory.weights": table.weights,
        "memory.counts": np.array(table.counts, dtype=np.uint32),
        "memory.sizes": np.array(table.sizes, dtype=np.uint16),
    }
    return {"memory": content}, {**tensors, **moving}


def from_content(content: Mapping[str, Any], tensors: Tensors, name: str) -> tuple[PrototypeTable, Fingerprint]:
    """The memory's table and fingerprint; inconsistent content is refused. `name` is the file's."""
    try:
        described = content["memory"]
        if not isinstance(described, Mapping) or not isinstance(described["fingerprint"], Mapping):
            raise TypeError("memory and fingerprint are not objects")
        bits, fingerprint = check_bits(described["bits"]), Fingerprint(**described["fingerprint"])
        if not isinstance(described["labels"], list):
            raise TypeError("labels are not a list")
        labels = tuple(as_label(label) for label in described["labels"])
        for part, kind in KINDS.items():
            if tensors[f"memory.{part}"].dtype != kind or not tensors[f"memory.{part}"].all():
                raise ValueError(f"{part} are not positive integers of {np.dtype(kind).itemsize} bytes")
        sizes, counts, weights = (tensors[f"memory.{part}"] for part in KINDS)
        fitting = sizes.shape == counts.shape == (len(labels),) and len(set(labels)) == len(labels)
        if not fitting or weights.shape != (sizes.sum(dtype=np.int64),):
            raise ValueError("labels, counts and weights do not fit together")
        codes = from_stream(tensors["memory.codes"], bits, int(sizes.sum(dtype=np.int64)), fingerprint.n_features)
        table = PrototypeTable(
            bits, fingerprint.n_features, labels, tuple(counts.tolist()), tuple(sizes.tolist()), weights.copy(), codes
        )
        table = with_motion(table, tensors)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise FileFormatError(f"{name} does not hold a memory as this version writes it: {error}") from None
    return table, fingerprint
