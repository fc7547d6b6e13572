"""Random bits into the prototypes of starts (CPU), in one pass over them.

In NumPy the same takes four passes and many times as long, and every class of the paper's protocol has five starts.
"""

from __future__ import annotations

from bitreplay._kernels.compiling import kernel
from bitreplay._kernels.lanes import LANES, rows, store, zeros


@kernel("void(uint16[:,:,::1], float64[::1], float64[::1], float64, float64[:,:,::1])")
def write_starts(steps, lowest, width, margin, starts):
    """Set the eight lanes of every feature to its `lowest + width * steps`, but keep them `margin` away from 0 and 1.

    Features beyond the last, which fill up a word, become 0.
    """
    n_rows, n_features, _ = starts.shape
    highest = 1.0 - margin
    for row in range(n_rows):
        for feature in range(len(lowest)):
            for lane in range(LANES):
                value = lowest[feature] + width[feature] * steps[row, feature, lane]
                value = value if value > margin else margin
                starts[row, feature, lane] = value if value < highest else highest
        written = rows(starts, row * n_features, n_features)
        for feature in range(len(lowest), n_features):
            store(written, feature, zeros(written))
