"""The product of a packed binary matrix with a dense one, block by block (`_kernels.products`), for many rows at once.

It stands apart from the blocks because EM needs only those: a first fit does not wait for both precisions of this.
"""

from __future__ import annotations

import functools
from typing import Any

from bitreplay._kernels.compiling import kernel
from bitreplay._kernels.lanes import LANES, line, rows, store, zeros
from bitreplay._kernels.products import BLOCK, add_block

_SIGNATURE = "void(uint64[:,::1], float32[:,::1], {0}[:,::1], {0}[:,::1], {0}[:,::1], {0}[:,::1])"


@functools.cache
def multiply(dtype: str) -> Any:
    """The product in one precision, "float32" or "float64", compiled on first use."""
    return kernel(_SIGNATURE.format(dtype))(_multiply)


def _multiply(blocks, weights, eight, tables, sums, out):
    """Write the product of packed rows with the rows of `weights` (outputs, bits) to `out` (rows, outputs).

    The rest is room to work in: `eight` for the weights of eight outputs, zero at the start so that padding bits have
    weight 0, and `sums` for the rows of them.
    """
    n_blocks, n_rows = blocks.shape
    n_outputs, n_bits = weights.shape
    for first in range(0, n_outputs, LANES):
        used = min(LANES, n_outputs - first)
        for k in range(used):
            for j in range(n_bits):
                eight[j, k] = weights[first + k, j]
        for i in range(n_rows):
            store(sums, i, zeros(sums))
        for b in range(n_blocks):
            add_block(line(blocks, n_rows * b, n_rows), rows(eight, BLOCK * b, BLOCK), tables, rows(sums, 0, n_rows))
        for i in range(n_rows):
            for k in range(used):
                out[i, first + k] = sums[i, k]
