"""The M-step on packed bits (CPU): for every component, the sum of each bit over the samples that belong to it.

Hard samples are counted: the 64 bits of a word are added to 64 counters of a byte each. For soft samples the sum is a
product as in the E-step, with samples and features exchanged: the bits that 48 samples have in one feature select sums
of their responsibilities.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from bitreplay._kernels.lanes import LANES, kernel, load, multiply, rows_of_eight, store
from bitreplay._kernels.products import BLOCK, CHUNK, add_block

__all__ = ["count_bits", "m_step", "write_columns"]

FULL = 255  # samples after which a counter of one byte is full

_BITS, _BYTES = ir.VectorType(ir.IntType(1), 64), ir.VectorType(ir.IntType(8), 64)


def _word(context, builder, signature, arguments, offset):
    """``words[members[first + offset], column]`` as 64 bits; the arguments are (words, column, members, first)."""
    words, members = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 2))
    at = builder.add(arguments[3], ir.Constant(ir.IntType(64), offset))
    row = builder.sext(builder.load(builder.gep(members.data, [at])), ir.IntType(64))
    at = builder.add(builder.mul(row, builder.extract_value(words.shape, 1)), arguments[1])
    return builder.bitcast(builder.load(builder.gep(words.data, [at])), _BITS)


def _counting(n_rows):
    """Make the function that adds the 64 bits of one word of `n_rows` members to 64 counters."""

    @intrinsic
    def count(typing, words, column, members, first, counters):
        def emit(context, builder, signature, arguments):
            out = context.make_array(signature.args[4])(context, builder, arguments[4])
            address = builder.bitcast(out.data, _BYTES.as_pointer())
            counts = builder.load(address, align=1)
            for i in range(n_rows):
                bits = _word(context, builder, signature, arguments, i)
                counts = builder.sub(counts, builder.sext(bits, _BYTES))  # a set bit, extended, is -1
            builder.store(counts, address, align=1)
            return context.get_dummy_value()

        return types.void(words, types.int64, members, types.int64, counters), emit

    return count


_count_one, _count_four = _counting(1), _counting(4)


@intrinsic
def _transpose(typing, words, column, members, first, chunks):
    """Write the bits that 48 members have in the 64 features of a word to 64 rows of eight chunks."""

    def emit(context, builder, signature, arguments):
        planes = []
        for c in range(8):
            plane = ir.Constant(_BYTES, None)
            for s in range(CHUNK):
                bits = _word(context, builder, signature, arguments, CHUNK * c + s)
                plane = builder.or_(
                    plane, builder.select(bits, ir.Constant(_BYTES, [1 << s] * 64), ir.Constant(_BYTES, None))
                )
            planes.append(plane)
        while len(planes) > 1:  # zip the first half with the second until the eight chunks of a feature are neighbours
            half = len(planes) // 2
            planes = [_zip(builder, planes[i], planes[i + half]) for i in range(half)]
        out = context.make_array(signature.args[4])(context, builder, arguments[4])
        at = builder.mul(arguments[1], ir.Constant(ir.IntType(64), 64))
        address = builder.bitcast(builder.gep(out.data, [at]), planes[0].type.as_pointer())
        builder.store(planes[0], address, align=1)
        return context.get_dummy_value()

    return types.void(words, types.int64, members, types.int64, chunks), emit


def _zip(builder, x, y):
    n = x.type.count
    order = [i // 2 + n * (i % 2) for i in range(2 * n)]
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), 2 * n), order))


@intrinsic
def _add_counters(typing, counters, counts, at):
    """Add 64 counters of a byte each to ``counts[at : at + 64]``."""

    def emit(context, builder, signature, arguments):
        narrow, wide = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (0, 1))
        doubles = ir.VectorType(ir.DoubleType(), 64)
        address = builder.bitcast(builder.gep(wide.data, [arguments[2]]), doubles.as_pointer())
        added = builder.uitofp(builder.load(builder.bitcast(narrow.data, _BYTES.as_pointer()), align=1), doubles)
        builder.store(builder.fadd(builder.load(address, align=8), added), address, align=8)
        return context.get_dummy_value()

    return types.void(counters, counts, types.int64), emit


@kernel("void(uint64[:,::1], int32[::1], float64[::1])")
def count_bits(words, members, counts):
    """Write in how many members each bit is set."""
    counters = np.empty(64, dtype=np.uint8)
    counts[:] = 0.0
    for w in range(words.shape[1]):
        for first in range(0, len(members), FULL):
            counters[:] = 0
            end = min(first + FULL, len(members))
            fours = end - (end - first) % 4
            for m in range(first, fours, 4):
                _count_four(words, w, members, m, counters)
            for m in range(fours, end):
                _count_one(words, w, members, m, counters)
            _add_counters(counters, counts, 64 * w)


@kernel("void(uint64[:,::1], uint64[:,::1])")
def write_columns(words, columns):
    """Write the bits that samples 48b to 48b + 47 have in a feature to ``columns[b, feature]``, as eight chunks.

    Beyond the last sample stand the bits of the first one: they are given responsibility 0.
    """
    members = np.zeros(BLOCK * len(columns), dtype=np.int32)
    for i in range(len(words)):
        members[i] = i
    for b in range(len(columns)):
        for w in range(words.shape[1]):
            _transpose(words, w, members, BLOCK * b, columns[b])


@kernel("void(uint64[:,::1], float64[:,::1], float64[:,::1])")
def sum_all(columns, responsibilities, sums):
    """Write the responsibility-weighted sum of every bit over all samples."""
    tables = rows_of_eight(8 << CHUNK).reshape(8, 1 << CHUNK, LANES)
    sums[:] = 0.0
    for b in range(len(columns)):
        add_block(columns[b], responsibilities[BLOCK * b : BLOCK * (b + 1)], tables, sums)


@kernel("void(uint64[:,::1], int32[::1], float64[:,::1], float64[:,::1])")
def sum_soft(words, soft, responsibilities, sums):
    """Write the responsibility-weighted sum of every bit over the soft samples, a multiple of 48."""
    chunks = np.empty(64 * words.shape[1], dtype=np.uint64)
    tables = rows_of_eight(8 << CHUNK).reshape(8, 1 << CHUNK, LANES)
    sums[:] = 0.0
    for first in range(0, len(soft), BLOCK):
        for w in range(words.shape[1]):
            _transpose(words, w, soft, first, chunks)
        add_block(chunks, responsibilities[first : first + BLOCK], tables, sums)


@kernel(
    "void(uint64[:,::1], uint64[:,::1], int32[::1], int32[::1], boolean, float64[:,:,::1], float64[:,::1], "
    "float64[:,:,::1])"
)
def m_step(words, columns, owners, soft, all_soft, responsibilities, mass, prototypes):
    """Write the weighted means of the samples; `mass` holds what to divide by.

    `soft` is filled up to a multiple of 48 with samples of responsibility 0.
    """
    groups, n_features, _ = prototypes.shape
    ends = np.zeros(groups * LANES + 1, dtype=np.int64)  # hard samples in order of their owners
    for i in range(len(owners)):
        if owners[i] >= 0:
            ends[owners[i] + 1] += 1
    for component in range(groups * LANES):
        ends[component + 1] += ends[component]
    members = np.empty(len(owners), dtype=np.int32)
    for i in range(len(owners)):
        if owners[i] >= 0:
            members[ends[owners[i]]] = i
            ends[owners[i]] += 1

    counts = np.empty(n_features, dtype=np.float64)
    sums = rows_of_eight(n_features)
    inverse = rows_of_eight(1)
    for g in range(groups):
        if all_soft:
            sum_all(columns, responsibilities[g], sums)
        else:
            sum_soft(words, soft, responsibilities[g], sums)
        begin = ends[g * LANES - 1] if g else 0
        for k in range(LANES):
            end = ends[g * LANES + k]
            if begin < end:
                count_bits(words, members[begin:end], counts)
                for j in range(n_features):
                    sums[j, k] += counts[j]
            begin = end
            inverse[0, k] = 1.0 / mass[g, k]
        factors = load(inverse, 0)
        for j in range(n_features):
            store(prototypes[g], j, multiply(load(sums, j), factors))
        means = prototypes[g].ravel()
        for e in range(means.size):
            means[e] = means[e] if means[e] < 1.0 else 1.0
