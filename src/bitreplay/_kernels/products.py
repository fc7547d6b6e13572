"""Sums of weights over the bits that are set: the product of a packed binary matrix with a dense one (CPU).

Six bits of a row select one of 64 sums of six weights, so a table of these sums replaces six multiplications by one
look-up. Outputs are handled eight at a time. Eight tables are in use at once: they fit into the first-level cache and
are cheap to make, so that a few hundred rows pay for them. EM's two steps and the scores of heads all are this product.

A *chunk* is a byte that holds six bits, a *block* is the eight chunks of 48 bits of every row, as one integer.
"""

from __future__ import annotations

import numpy as np

from bitreplay._kernels.compiling import kernel, part
from bitreplay._kernels.lanes import add, load, rows, store, zeros

CHUNK = 6  # bits; ours: of 4 to 8 the fastest for 500, 5000 and 2400 rows of 512, 512 and 12544 bits
BLOCK = 8 * CHUNK
TABLE = 1 << CHUNK  # rows of eight
TABLES = 8 * TABLE

_SIX_BITS = np.uint64(63)
_SHIFTS = tuple(np.uint64(8 * c) for c in range(8))


@kernel("void(uint64[:,::1], uint64[:,::1])")
def write_chunks(words, blocks):
    """Write the bits of packed rows as blocks: byte c of ``blocks[b, i]`` holds bits 48b + 6c to 48b + 6c + 5 of row
    i.
    """
    n_blocks, n_rows = blocks.shape
    last = words.shape[1] - 1
    for b in range(n_blocks):
        word, offset = BLOCK * b // 64, BLOCK * b % 64
        right, left = np.uint64(offset), np.uint64(64 - offset)
        for i in range(n_rows):
            value = words[i, word] >> right
            if offset > 64 - BLOCK and word < last:
                value |= words[i, word + 1] << left
            chunks = np.uint64(0)
            for c in range(8):
                chunks |= ((value >> np.uint64(CHUNK * c)) & _SIX_BITS) << np.uint64(8 * c)
            blocks[b, i] = chunks


@part("void(float32[:,::1], int64, float32[:,::1], int64)", "void(float64[:,::1], int64, float64[:,::1], int64)")
def write_table(weights, first, tables, begin):
    """Write the sum of six rows of weights for every value that a chunk can take, from row `begin` on."""
    store(tables, begin, zeros(tables))
    size = 1
    for bit in range(CHUNK):
        x = load(weights, first + bit)
        for value in range(begin, begin + size):
            store(tables, size + value, add(load(tables, value), x))
        size *= 2


@part(
    "void(uint64[::1], float32[:,::1], float32[:,::1], float32[:,::1])",
    "void(uint64[::1], float64[:,::1], float64[:,::1], float64[:,::1])",
)
def add_block(chunks, weights, tables, outputs):
    """Add to every row's eight outputs the 48 rows of weights whose bits it sets."""
    for c in range(8):
        write_table(weights, CHUNK * c, tables, TABLE * c)
    t0, t1 = rows(tables, 0, TABLE), rows(tables, TABLE, TABLE)
    t2, t3 = rows(tables, 2 * TABLE, TABLE), rows(tables, 3 * TABLE, TABLE)
    t4, t5 = rows(tables, 4 * TABLE, TABLE), rows(tables, 5 * TABLE, TABLE)
    t6, t7 = rows(tables, 6 * TABLE, TABLE), rows(tables, 7 * TABLE, TABLE)
    for i in range(len(outputs)):
        row = chunks[i]  # one load for eight chunks: loads are what this loop waits for
        x = add(
            add(load(t0, row & _SIX_BITS), load(t1, (row >> _SHIFTS[1]) & _SIX_BITS)),
            add(load(t2, (row >> _SHIFTS[2]) & _SIX_BITS), load(t3, (row >> _SHIFTS[3]) & _SIX_BITS)),
        )
        y = add(
            add(load(t4, (row >> _SHIFTS[4]) & _SIX_BITS), load(t5, (row >> _SHIFTS[5]) & _SIX_BITS)),
            add(load(t6, (row >> _SHIFTS[6]) & _SIX_BITS), load(t7, row >> _SHIFTS[7])),
        )
        store(outputs, i, add(load(outputs, i), add(x, y)))
