"""The M-step on packed bits (CPU): for every component, the sum of each bit over the samples that belong to it.

Hard samples are counted: the 64 bits of a word are added to 64 counters of a byte each. For soft samples the sum is a
product as in the E-step, with samples and features exchanged: the bits that 48 samples have in one feature select sums
of their responsibilities.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from bitreplay._kernels.compiling import kernel, linked, part
from bitreplay._kernels.lanes import LANES, Row, line, load, multiply, rows, store, zeros
from bitreplay._kernels.products import BLOCK, CHUNK, TABLES, add_block

FULL = 255  # samples after which a counter of one byte is full

_BITS, _BYTES = ir.VectorType(ir.IntType(1), 64), ir.VectorType(ir.IntType(8), 64)
_COUNTERS = Row(types.uint8, 64)


@intrinsic
def _nothing_counted(typing):
    """64 counters of a byte each, at 0."""
    return _COUNTERS(), lambda context, builder, signature, arguments: ir.Constant(_BYTES, None)


def _word(context, builder, signature, arguments, offset):
    """``words[members[first + offset], column]`` as 64 bits; the arguments end with (words, column, members, first)."""
    words, members = (context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (-4, -2))
    at = builder.add(arguments[-1], ir.Constant(ir.IntType(64), offset))
    row = builder.sext(builder.load(builder.gep(members.data, [at])), ir.IntType(64))
    at = builder.add(builder.mul(row, builder.extract_value(words.shape, 1)), arguments[-3])
    return builder.bitcast(builder.load(builder.gep(words.data, [at])), _BITS)


def _counting(n_rows):
    """Make the function that adds the 64 bits of one word of `n_rows` members to 64 counters."""

    @intrinsic
    def count(typing, counters, words, column, members, first):
        def emit(context, builder, signature, arguments):
            counts = arguments[0]
            for i in range(n_rows):
                bits = _word(context, builder, signature, arguments, i)
                counts = builder.sub(counts, builder.sext(bits, _BYTES))  # a set bit, extended, is -1
            return counts

        return _COUNTERS(_COUNTERS, words, types.int64, members, types.int64), emit

    return count


_count_one, _count_four = _counting(1), _counting(4)


@intrinsic
def _transpose(typing, chunks, words, column, members, first):
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
        out = context.make_array(signature.args[0])(context, builder, arguments[0])
        at = builder.mul(arguments[2], ir.Constant(ir.IntType(64), 64))
        address = builder.bitcast(builder.gep(out.data, [at]), planes[0].type.as_pointer())
        builder.store(planes[0], address, align=1)
        return context.get_dummy_value()

    return types.void(chunks, words, types.int64, members, types.int64), emit


def _zip(builder, x, y):
    n = x.type.count
    order = [i // 2 + n * (i % 2) for i in range(2 * n)]
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), 2 * n), order))


@intrinsic
def _add_counters(typing, counters, counts, at):
    """Add 64 counters to ``counts[at : at + 64]``."""

    def emit(context, builder, signature, arguments):
        wide = context.make_array(signature.args[1])(context, builder, arguments[1])
        doubles = ir.VectorType(ir.DoubleType(), 64)
        address = builder.bitcast(builder.gep(wide.data, [arguments[2]]), doubles.as_pointer())
        added = builder.uitofp(arguments[0], doubles)
        builder.store(builder.fadd(builder.load(address, align=8), added), address, align=8)
        return context.get_dummy_value()

    return types.void(_COUNTERS, counts, types.int64), emit


@kernel("void(uint64[:,::1], int32[::1], float64[::1])")
def count_bits(words, members, counts):
    """Write in how many members each bit is set."""
    for j in range(len(counts)):
        counts[j] = 0.0
    for w in range(words.shape[1]):
        for first in range(0, len(members), FULL):
            counters = _nothing_counted()
            end = min(first + FULL, len(members))
            fours = end - (end - first) % 4
            for m in range(first, fours, 4):
                counters = _count_four(counters, words, w, members, m)
            for m in range(fours, end):
                counters = _count_one(counters, words, w, members, m)
            _add_counters(counters, counts, 64 * w)


_count_bits = linked(count_bits)


@part("void(uint64[:,::1], int32[::1], int64, uint64[::1])")
def write_column(words, members, first, chunks):
    """Write the bits that 48 members, from number `first` on, have in every feature, as eight chunks."""
    for w in range(words.shape[1]):
        _transpose(chunks, words, w, members, first)


@kernel("void(uint64[:,::1], int32[::1], uint64[:,::1])")
def write_columns(words, members, columns):
    """Write the bits that members 48b to 48b + 47 have in a feature to ``columns[b, feature]``, as eight chunks."""
    n_blocks, n_features = columns.shape
    for b in range(n_blocks):
        write_column(words, members, BLOCK * b, line(columns, n_features * b, n_features))


@part(
    "void(uint64[:,::1], uint64[:,::1], int32[::1], int64, boolean, float64[:,::1], int64, float64[:,::1], "
    "uint64[::1], float64[:,::1])"
)
def sum_soft(words, columns, soft, n_soft, all_soft, responsibilities, first, tables, chunks, sums):
    """Write the responsibility-weighted sum of every bit over the soft samples, a multiple of 48."""
    n_features = len(sums)
    for j in range(n_features):
        store(sums, j, zeros(sums))
    for begin in range(0, n_soft, BLOCK):
        if all_soft:
            bits = line(columns, begin // BLOCK * n_features, n_features)
        else:
            write_column(words, soft, begin, chunks)
            bits = line(chunks, 0, n_features)
        add_block(bits, rows(responsibilities, first + begin, BLOCK), tables, sums)


@part(
    "void(uint64[:,::1], uint64[:,::1], int32[::1], int32[::1], int64, boolean, float64[:,::1], float64[:,::1], "
    "float64[:,::1], int32[::1], uint64[::1], float64[:,::1])"
)
def m_step(words, columns, owners, soft, n_soft, all_soft, responsibilities, mass, prototypes, order, chunks, room):
    """Write the weighted means of the samples; `mass` holds what to divide by, and is used up.

    The first `n_soft` of `soft` are the soft samples, filled up to a multiple of 48 with some of responsibility 0. The
    last three arguments are room to work in.
    """
    groups, n_samples, n_features = len(mass), len(owners), len(prototypes) // len(mass)
    members, ends = line(order, 0, n_samples), line(order, n_samples, groups * LANES + 1)
    for component in range(len(ends)):
        ends[component] = 0
    for i in range(n_samples):
        if owners[i] >= 0:
            ends[owners[i] + 1] += 1
    for component in range(groups * LANES):
        ends[component + 1] += ends[component]
    for i in range(n_samples):  # hard samples in order of their owners
        if owners[i] >= 0:
            members[ends[owners[i]]] = i
            ends[owners[i]] += 1

    tables, sums = rows(room, 0, TABLES), rows(room, TABLES, n_features)
    counts = line(room, LANES * (TABLES + n_features), n_features)
    begin = 0
    for g in range(groups):
        first = g * (n_samples + BLOCK)
        sum_soft(words, columns, soft, n_soft, all_soft, responsibilities, first, tables, chunks, sums)
        for k in range(LANES):
            end = ends[g * LANES + k]
            if begin < end:
                _count_bits(words, line(members, begin, end - begin), counts)
                for j in range(n_features):
                    sums[j, k] += counts[j]
            begin = end
            mass[g, k] = 1.0 / mass[g, k]
        factors = load(mass, g)
        means = line(prototypes, LANES * n_features * g, LANES * n_features)
        for j in range(n_features):
            store(prototypes, n_features * g + j, multiply(load(sums, j), factors))
        for e in range(len(means)):
            means[e] = means[e] if means[e] < 1.0 else 1.0
