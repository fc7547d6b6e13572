"""Draws bits from bit planes, 512 at a time (CPU).

A bit is 1 with probability P when a random binary fraction lies below P. Both are compared from the most significant
digit on, for 512 bits at once, one plane against one random vector: where they differ the bit is decided. About ten
planes decide all 512. The planes repeat, so the comparison is with the infinite expansion of code / (2^q - 1): the
probability is exact, and 0 and 1 never flip.

Random numbers come from eight xoshiro256++ generators side by side (Blackman and Vigna, 2019), seeded by splitmix64
from the user's seed and the number of a stretch of rows. A stretch is always drawn whole, so the result does not depend
on threads.

The inner loop is written in LLVM's vector instructions, because numba turns neither a loop nor tuples of 64-bit
integers into vector code.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from bitreplay._kernels.compiling import kernel

STRETCH = 64  # rows drawn from one seed
WORDS = 8  # 64-bit words drawn together
DIGITS = 64  # binary digits compared at most: the chance that a bit is still open then is 2^-64
FIRST, MORE = 8, 2  # digits compared before it is asked whether any bit is open, at first (seldom none) and then

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


def _comparison(n_digits):
    """Make the function that compares `n_digits` more binary digits of eight words.

    ``compare(work, planes, block, order, first)`` steps the generators, decides bits, and returns whether any is still
    open. Rows of `work`: four of generator state, the bits still open, the bits decided to be 1. `order[first]` is the
    plane that holds the next digit.
    """

    @intrinsic
    def compare(typing, work, planes, block, order, first):
        def emit(context, builder, signature, arguments):
            vector = ir.VectorType(ir.IntType(64), WORDS)
            arrays = [
                context.make_array(kind)(context, builder, arguments[i])
                for i, kind in enumerate(signature.args)
                if i in (0, 1, 3)
            ]
            state, digits = (builder.bitcast(array.data, vector.as_pointer()) for array in arrays[:2])
            rows = [builder.gep(state, [ir.Constant(ir.IntType(64), i)]) for i in range(6)]
            n_blocks = builder.extract_value(arrays[1].shape, 1)
            a, b, c, d, still_open, ones = (builder.load(row, align=8) for row in rows)
            for i in range(n_digits):
                at = builder.add(arguments[4], ir.Constant(ir.IntType(64), i))
                plane = builder.load(builder.gep(arrays[2].data, [at]))
                at = builder.add(builder.mul(plane, n_blocks), arguments[2])
                digit = builder.load(builder.gep(digits, [at]), align=8)
                output, a, b, c, d = _xoshiro(builder, vector, a, b, c, d)
                differ = builder.and_(still_open, builder.xor(output, digit))
                ones = builder.or_(ones, builder.and_(differ, digit))  # the fraction has 0 where P has 1: it lies below
                still_open = builder.xor(still_open, differ)
            for row, value in zip(rows, (a, b, c, d, still_open, ones), strict=True):
                builder.store(value, row, align=8)
            whole = ir.IntType(64 * WORDS)
            return builder.icmp_unsigned("!=", builder.bitcast(still_open, whole), ir.Constant(whole, 0))

        return types.boolean(work, planes, types.int64, order, types.int64), emit

    return compare


def _xoshiro(builder, vector, a, b, c, d):
    """Emit one step of xoshiro256++ for eight generators: output and new state."""

    def shift(x, left):
        amount = ir.Constant(vector, [abs(left)] * WORDS)
        return builder.shl(x, amount) if left > 0 else builder.lshr(x, amount)

    def rotate(x, left):
        return builder.or_(shift(x, left), shift(x, left - 64))

    output = builder.add(rotate(builder.add(a, d), 23), a)
    t = shift(b, 17)
    c, d = builder.xor(c, a), builder.xor(d, b)
    return output, builder.xor(a, d), builder.xor(b, c), builder.xor(c, t), rotate(d, 45)


@intrinsic
def _expand(typing, word, out, at):
    """Write the 64 bits of a word as floats to ``out[at : at + 64]``."""

    def emit(context, builder, signature, arguments):
        array = context.make_array(signature.args[1])(context, builder, arguments[1])
        bits = builder.bitcast(arguments[0], ir.VectorType(ir.IntType(1), 64))
        floats = ir.VectorType(ir.FloatType(), 64)
        target = builder.bitcast(builder.gep(array.data, [arguments[2]]), floats.as_pointer())
        builder.store(builder.uitofp(bits, floats), target, align=4)
        return context.get_dummy_value()

    return types.void(types.uint64, out, types.int64), emit


_compare_first = _comparison(FIRST)
_compare_more = _comparison(MORE)


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
def _draw_stretch(planes, order, cumulative, seed, stretch, components, rows):
    """Draw one stretch of rows: a component for each, then its bits.

    `planes` is (component, plane, block, 8 words), `rows` (row, block, 8 words).
    """
    n_blocks = planes.shape[2]
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
            for w in range(WORDS):
                work[4, w] = _ALL
                work[5, w] = 0
            any_open = _compare_first(work, planes[k], block, order, 0)
            at = FIRST
            while any_open and at < DIGITS:
                any_open = _compare_more(work, planes[k], block, order, at)
                at += MORE
            for w in range(WORDS):
                # Bits still open agree with P in every digit, as only P = 0 and P = 1 are likely to: these stay exact.
                rows[r, block, w] = work[5, w] | (work[4, w] & planes[k, 0, block, w])


@kernel("void(uint64[:,:,:,::1], int64[::1], float64[::1], uint64, int64, int64[::1], uint64[:,:,::1])")
def draw_packed(planes, order, cumulative, seed, first, components, rows):
    """Draw all `rows`, of which the first begins stretch number `first`."""
    for begin in range(0, len(rows), STRETCH):
        part = slice(begin, min(begin + STRETCH, len(rows)))
        _draw_stretch(planes, order, cumulative, seed, first + begin // STRETCH, components[part], rows[part])


@kernel("void(uint64[:,:,:,::1], int64[::1], float64[::1], uint64, int64, int64[::1], float32[:,::1])")
def draw_float32(planes, order, cumulative, seed, first, components, out):
    """The same with one float per bit: a stretch is drawn packed and expanded while it is in the cache."""
    n_features = out.shape[1]
    whole = n_features // 64
    flat = out.reshape(-1)
    rows = np.empty((STRETCH, planes.shape[2], WORDS), dtype=np.uint64)
    words = rows.reshape(STRETCH, -1)
    for begin in range(0, len(out), STRETCH):
        size = min(STRETCH, len(out) - begin)
        part = slice(begin, begin + size)
        _draw_stretch(planes, order, cumulative, seed, first + begin // STRETCH, components[part], rows[:size])
        for r in range(size):
            at = (begin + r) * n_features
            for w in range(whole):
                _expand(words[r, w], flat, at + 64 * w)
            for j in range(64 * whole, n_features):
                flat[at + j] = (words[r, whole] >> np.uint64(j - 64 * whole)) & np.uint64(1)
