"""Random bytes into the prototypes of starts (CPU), in one pass over them.

In NumPy the same takes four passes and three times as long, and every class of the paper's protocol has five starts.
"""

from __future__ import annotations

from bitreplay._lanes import kernel

__all__ = ["write_starts"]


@kernel("void(uint16[:,::1], float64[::1], float64[::1], float64, float64[:,::1])")
def write_starts(steps, lowest, width, margin, starts):
    """Set `starts` to `lowest + width * steps`, each of its rows, but keep them `margin` away from 0 and 1."""
    for row in range(len(starts)):
        for i in range(len(width)):
            starts[row, i] = min(max(lowest[i] + width[i] * steps[row, i], margin), 1.0 - margin)
