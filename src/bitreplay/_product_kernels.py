"""Sums of weights over the bits that are set: the product of a packed binary matrix with a dense one (CPU).

A byte of a row selects one of 256 sums of eight weights, so a table of these sums replaces eight multiplications by one
look-up. Outputs are handled eight at a time; the four tables in use fill a first-level cache, whatever the width.
EM's E-step and the scores of heads are both this product.

`planes[b, i]` is byte `b` of row `i`; `weights[j]` are the eight outputs' weights of bit `j`.
"""

from __future__ import annotations

import numpy as np

from bitreplay._lanes import LANES, add, kernel, load, store, zeros

__all__ = ["add_products", "multiply"]


@kernel("void(float32[:,::1], int64, float32[:,::1])", "void(float64[:,::1], int64, float64[:,::1])")
def byte_table(weights, byte, table):
    """Write the sum of the weights for every value that one byte can take."""
    store(table, 0, zeros(table))
    size = 1
    for bit in range(8):
        x = load(weights, 8 * byte + bit)
        for value in range(size):
            store(table, size + value, add(load(table, value), x))
        size *= 2


@kernel(
    "void(uint8[:,::1], float32[:,::1], float32[:,:,::1], float32[:,::1])",
    "void(uint8[:,::1], float64[:,::1], float64[:,:,::1], float64[:,::1])",
)
def add_products(planes, weights, tables, outputs):
    """Add to every row's eight outputs the weights of the bits that it sets, four bytes at a time."""
    n_bytes, n_rows = planes.shape
    for b in range(0, n_bytes, 4):
        for offset in range(4):
            byte_table(weights, b + offset, tables[offset])
        t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
        for i in range(n_rows):
            left = add(load(t0, planes[b, i]), load(t1, planes[b + 1, i]))
            right = add(load(t2, planes[b + 2, i]), load(t3, planes[b + 3, i]))
            store(outputs, i, add(load(outputs, i), add(left, right)))


@kernel(
    "void(uint8[:,::1], float32[:,::1], float32[:,:,::1], float32[:,::1])",
    "void(uint8[:,::1], float32[:,::1], float64[:,:,::1], float64[:,::1])",
)
def multiply(planes, weights, tables, out):
    """Write the product of packed rows with the rows of `weights` (outputs, bits) to `out` (rows, outputs)."""
    n_bytes, n_rows = planes.shape
    n_outputs, n_bits = weights.shape
    eight = np.zeros((8 * n_bytes, LANES), dtype=tables.dtype)  # padding bits keep weight 0
    sums = np.empty((n_rows, LANES), dtype=tables.dtype)
    for first in range(0, n_outputs, LANES):
        used = min(LANES, n_outputs - first)
        for k in range(used):
            for j in range(n_bits):
                eight[j, k] = weights[first + k, j]
        sums[:] = 0
        add_products(planes, eight, tables, sums)
        for i in range(n_rows):
            for k in range(used):
                out[i, first + k] = sums[i, k]
