"""Draws bits from bit planes, 512 at a time (CPU).

A bit is 1 with probability P when a random binary fraction lies below P. Both are compared from the most significant
digit on, for 512 bits at once, one plane against one random vector: where they differ the bit is decided. About ten
planes decide all 512. The planes repeat, so the comparison is with the infinite expansion of code / (2^q - 1): the
probability is exact, and 0 and 1 never flip.

Random numbers come from eight xoshiro256++ generators side by side (Blackman and Vigna, 2019), seeded by splitmix64
from the user's seed and the number of a stretch of rows. A stretch is always drawn whole, so the result does not depend
on threads.
"""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from bitreplay._lanes import kernel, load, store

__all__ = ["STRETCH", "WORDS", "draw", "expand_float32"]

STRETCH = 64  # rows drawn from one seed
WORDS = 8  # 64-bit words drawn together
ROUNDS = 64  # planes compared at most: the chance that a bit is still open then is 2^-64

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_U11, _U27, _U30, _U31 = (np.uint64(n) for n in (11, 27, 30, 31))
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@numba.njit(nogil=True)
def _splitmix(counter):
    z = counter * _GOLDEN
    z = (z ^ (z >> _U30)) * _MIX1
    z = (z ^ (z >> _U27)) * _MIX2
    return z ^ (z >> _U31)


@intrinsic
def _compare(typing, work, digits):
    """Compare one more binary digit of eight words: step the generators, decide bits, return whether any is still open.

    Rows of `work`: four of generator state, the bits still open, the bits decided to be 1. It is written in LLVM's
    vector instructions, because numba turns neither a loop nor tuples of 64-bit integers into vector code.
    """

    def emit(context, builder, signature, arguments):
        vector = ir.VectorType(ir.IntType(64), WORDS)
        pointers = [
            builder.bitcast(context.make_array(kind)(context, builder, value).data, vector.as_pointer())
            for kind, value in zip(signature.args, arguments, strict=True)
        ]
        rows = [builder.gep(pointers[0], [ir.Constant(ir.IntType(64), i)]) for i in range(6)]
        load = partial(builder.load, align=8)

        def shift(x, left):
            amount = ir.Constant(vector, [abs(left)] * WORDS)
            return builder.shl(x, amount) if left > 0 else builder.lshr(x, amount)

        def rotate(x, left):
            return builder.or_(shift(x, left), shift(x, left - 64))

        a, b, c, d = (load(row) for row in rows[:4])  # xoshiro256++
        output = builder.add(rotate(builder.add(a, d), 23), a)
        t = shift(b, 17)
        c, d = builder.xor(c, a), builder.xor(d, b)
        b, a, c, d = builder.xor(b, c), builder.xor(a, d), builder.xor(c, t), rotate(d, 45)

        still_open, ones, digit = load(rows[4]), load(rows[5]), load(pointers[1])
        differ = builder.and_(still_open, builder.xor(output, digit))
        ones = builder.or_(ones, builder.and_(differ, digit))  # the fraction has 0 where P has 1: it lies below
        still_open = builder.xor(still_open, differ)
        for row, value in zip(rows, (a, b, c, d, still_open, ones), strict=True):
            builder.store(value, row, align=8)
        whole = ir.IntType(64 * WORDS)
        return builder.icmp_unsigned("!=", builder.bitcast(still_open, whole), ir.Constant(whole, 0))

    return types.boolean(work, digits), emit


@numba.njit(nogil=True)
def _pick(cumulative, u):
    """First position whose cumulative probability exceeds u."""
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@numba.njit(nogil=True)
def _draw_stretch(planes, cumulative, seed, stretch, components, rows):
    """Draw one stretch of rows: a component for each, then its bits.

    `planes` is (component, plane, block, 8 words), `rows` (row, block, 8 words).
    """
    n_planes, n_blocks = planes.shape[1], planes.shape[2]
    work = np.empty((6, WORDS), dtype=np.uint64)
    key = _splitmix(seed) + (np.uint64(stretch) << np.uint64(6))  # 64 counters per stretch, of which 32 seed it
    for i in range(4):
        for w in range(WORDS):
            work[i, w] = _splitmix(key + np.uint64(WORDS * i + w))
    chooser = _splitmix(~key)
    for r in range(len(rows)):
        chooser += np.uint64(1)
        k = _pick(cumulative, np.float64(_splitmix(chooser) >> _U11) * 2.0**-53 * cumulative[-1])
        components[r] = k
        for block in range(n_blocks):
            work[4] = _ALL
            work[5] = 0
            plane = 0
            for _ in range(ROUNDS):
                if not _compare(work, planes[k, plane, block]):
                    break
                plane = plane + 1 if plane + 1 < n_planes else 0
            for w in range(WORDS):
                # Bits still open agree with P in every digit, as only P = 0 and P = 1 are likely to: these stay exact.
                rows[r, block, w] = work[5, w] | (work[4, w] & planes[k, 0, block, w])


@kernel("void(uint64[:,:,:,::1], float64[::1], uint64, int64, int64[::1], uint64[:,:,::1])", slp=False)
def draw(planes, cumulative, seed, first, components, rows):
    """Draw all `rows`, of which the first begins stretch number `first`."""
    for begin in range(0, len(rows), STRETCH):
        end = min(begin + STRETCH, len(rows))
        _draw_stretch(planes, cumulative, seed, first + begin // STRETCH, components[begin:end], rows[begin:end])


@kernel("void(uint8[:,::1], float32[:,::1], float32[:,::1])")
def expand_float32(rows, byte_to_floats, out):
    """Write packed rows with one float per bit, eight at a time through a table of all bytes."""
    n_features = out.shape[1]
    whole = n_features // 8
    flat = out.reshape(-1)
    for r in range(len(out)):
        begin = r * n_features
        eights = flat[begin : begin + 8 * whole].reshape(whole, 8)
        for b in range(whole):
            store(eights, b, load(byte_to_floats, rows[r, b]))
        for j in range(8 * whole, n_features):
            flat[begin + j] = byte_to_floats[rows[r, whole], j - 8 * whole]
