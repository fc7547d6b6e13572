"""The product of packed bits with a dense matrix: the step **bits → head** → class, and the basis of every score.

Few rows are unpacked and multiplied by BLAS, which needs no compiler in the process. Many rows are multiplied in
packed form: no unpacked copy is made, and a row's result does not depend on its neighbours (times in docs/speed.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bitreplay.bits._packed import PackedBits
from bitreplay.errors import InputError

FLOAT32_FEATURES = 1024  # ours: sums over this many bits keep five digits in float32; longer ones use float64
MANY_ROWS = 512  # ours: for fewer rows building the tables takes longer than the product
ROWS_AT_ONCE = 2048  # sums of this many rows stay in a second-level cache
# Ours: weights that are widened to float64 at once, in a second-level cache; widening more takes longer than the
# product of a row.
WIDENED = 2**16
UNPACKED = 2**22  # elements of unpacked bits that are alive at once

_kept = threading.local()


def product(bits: PackedBits, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.floating]:
    """``bits @ weights.T`` for weights of shape (outputs, features).

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> product(pack([[1, 0, 1], [0, 0, 0]]), np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)).tolist()
    [[4.0, 10.0], [0.0, 0.0]]
    """
    if bits.n_features != weights.shape[1]:  # the kernels below trust the width: they would write beyond their arrays
        raise InputError(f"got rows of {bits.n_features} bits, expected {weights.shape[1]}")
    if len(bits) < MANY_ROWS:
        if weights.size <= WIDENED or bits.n_features > FLOAT32_FEATURES:
            return _precise(bits, weights)
        out = np.empty((len(bits), len(weights)), np.float32)
        for rows in row_blocks(*bits.shape):
            np.matmul(_rows(bits, rows).unpack(np.float32), weights.T, out=out[rows])
        return out
    # Compiled on first use.
    from bitreplay._kernels.lanes import LANES, aligned_rows
    from bitreplay._kernels.multiply import multiply
    from bitreplay._kernels.products import BLOCK, TABLES, write_chunks

    dtype = np.float32 if bits.n_features <= FLOAT32_FEATURES else np.float64
    in_blocks, words = multiply(dtype.__name__), bits.words
    blocks = np.empty((-(-bits.n_features // BLOCK), min(len(bits), ROWS_AT_ONCE)), dtype=np.uint64)
    eight = np.zeros((BLOCK * len(blocks), LANES), dtype=dtype)
    tables, sums = (
        np.empty((n, LANES), dtype) if dtype is np.float32 else aligned_rows(n) for n in (TABLES, blocks.shape[1])
    )
    result = np.empty((len(bits), len(weights)), dtype=dtype)
    for begin in range(0, len(bits), ROWS_AT_ONCE):
        rows = slice(begin, begin + ROWS_AT_ONCE)
        chunks = blocks if len(result[rows]) == blocks.shape[1] else np.empty_like(blocks[:, : len(result[rows])])
        write_chunks(words[rows], chunks)
        in_blocks(chunks, weights, eight, tables, sums, result[rows])
    return result


def _precise(bits: PackedBits, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """The product of few rows, in float64; weights are widened so few at a time that they stay in a cache."""
    n_rows, n_features = bits.shape
    out = np.empty((n_rows, len(weights)))
    step = max(1, WIDENED // max(1, n_features))
    wide = _scratch(min(step, len(weights)) * n_features).reshape(-1, n_features)
    for rows in row_blocks(n_rows, n_features):
        unpacked = _rows(bits, rows).unpack(np.float64)
        for begin in range(0, len(weights), step):
            part = weights[begin : begin + step]
            np.copyto(wide[: len(part)], part)
            np.matmul(unpacked, wide[: len(part)].T, out=out[rows, begin : begin + step])
    return out


def _rows(bits: PackedBits, rows: slice) -> PackedBits:
    return bits if rows == slice(0, len(bits)) else bits[rows]


def _scratch(n_values: int) -> npt.NDArray[np.float64]:
    """An array of this thread's to write to: to get fresh memory takes longer than the product of a row."""
    if n_values > WIDENED:
        return np.empty(n_values)
    if not hasattr(_kept, "scratch"):
        _kept.scratch = np.empty(WIDENED)
    scratch: npt.NDArray[np.float64] = _kept.scratch
    return scratch[:n_values]


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices of rows small enough to be unpacked."""
    size = max(1, UNPACKED // max(1, n_features))
    for begin in range(0, n_rows, size):
        yield slice(begin, min(begin + size, n_rows))
