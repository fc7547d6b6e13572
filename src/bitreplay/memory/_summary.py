"""What a memory holds, in words: a table of its classes for a reader."""

from __future__ import annotations

from bitreplay._words import printable
from bitreplay.memory._table import PrototypeTable

FEW = 20  # ours: benchmarks/few_shot.py --others: with 20, recall is 14 points below that of classes of hundreds


def summary(table: PrototypeTable) -> str:
    """A line per class: samples, prototypes, bits; and a warning if some had very few samples."""
    rows = [("class", "samples", "prototypes", "bits")]
    for label, count, size in zip(table.labels, table.counts, table.sizes, strict=True):
        moving = table.motions[label].size_bits if label in table.motions else 0
        n_bits = size * table.n_features * table.bits + moving
        rows.append((printable(str(label), ""), f"{count:,}", str(size), f"{n_bits:,}"))
    rows.append(("total", f"{sum(table.counts):,}", str(sum(table.sizes)), f"{table.size_bits:,}"))
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [
        "  ".join([f"{row[0]:<{first}}", *(f"{cell:>{width}}" for cell, width in zip(row[1:], others, strict=True))])
        for row in rows
    ]
    rule = "-" * len(lines[0])
    few = [printable(str(label), "") for label, count in zip(table.labels, table.counts, strict=True) if count < FEW]
    names = ", ".join(few[:10]) + (", ..." if len(few) > 10 else "")
    warning = [f"warning: fewer than {FEW} samples, so less often recognised: {names}"] if few else []
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1], *_about_motion(table), *warning])


def _about_motion(table: PrototypeTable) -> list[str]:
    """What classes in motion keep, for a reader of the summary."""
    if not table.motions:
        return []
    kept = sum(len(motion.kept) for motion in table.motions.values())
    n_bits = sum(motion.size_bits for motion in table.motions.values())
    samples = f" and {kept:,} samples" if kept else ""
    return [f"in motion: {len(table.motions):,} classes; fine statistics{samples} take {n_bits:,} of these bits"]
