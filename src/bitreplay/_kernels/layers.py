"""Convolutions of ±1 by counting bits that differ (CPU).

A sum of n products of ±1 is n - 2d, where d of the n pairs differ; with 64 values in a word, d is the number of bits
set in the exclusive or of two words. Eight output channels are counted at once: a word of the input meets the same word
of eight kernels, in one vector instruction each for the exclusive or, the count and the sum where the processor has
them (AVX-512 VPOPCNTDQ), and in a few where it has not. Four places of the image share every load of the weights.

Maps between layers have a byte per value, 0 for -1 and 1 for +1. They are packed when a convolution reads them, into
words that no two groups share, with a frame of +1 around them: that is the layer's padding.
"""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from bitreplay._kernels.compiling import kernel
from bitreplay._kernels.lanes import LANES, Row, load, store, zeros

PLACES = 4  # of the image counted together; also those of a 2x2 window of maximum pooling


@intrinsic
def _count(typing, counts, kernels, word):
    """Eight counts plus the numbers of bits in which eight words differ from one."""

    def emit(context, builder, signature, arguments):
        counts, kernels, word = arguments
        vector = kernels.type
        single = builder.insert_element(ir.Constant(vector, ir.Undefined), word, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        splat = builder.shuffle_vector(single, single, everywhere)
        population = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
        )
        return builder.add(counts, builder.call(population, [builder.xor(kernels, splat)]))

    eight = Row(types.uint64)
    return eight(eight, eight, types.uint64), emit


def _packer(width):
    """Make the function that packs `width` bytes of 0 and 1, from position `at` on, into the low bits of a word."""

    @intrinsic
    def pack(typing, values, at):
        def emit(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            vector = ir.VectorType(ir.IntType(8), width)
            address = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
            bits = builder.icmp_unsigned("!=", builder.load(address, align=1), ir.Constant(vector, [0] * width))
            return builder.zext(builder.bitcast(bits, ir.IntType(width)), ir.IntType(64))

        return types.uint64(values, types.int64), emit

    return pack


_pack_64, _pack_8 = _packer(64), _packer(8)


@numba.njit(nogil=True)
def _pack_channels(values, at, n, words):
    """Pack `n` bytes of 0 and 1 into words; bits beyond them are 0."""
    for w in range(len(words)):
        begin, end = 64 * w, min(64 * w + 64, n)
        if end - begin == 64:
            words[w] = _pack_64(values, at + begin)
            continue
        word = np.uint64(0)
        j = begin
        while j + 8 <= end:
            word |= _pack_8(values, at + j) << np.uint64(j - begin)
            j += 8
        while j < end:
            word |= np.uint64(values[at + j]) << np.uint64(j - begin)
            j += 1
        words[w] = word


@kernel("void(uint8[:,:,:,::1], int64, uint64[:,:,:,:,::1])")
def pack_maps(maps, padding, packed):
    """Pack maps (image, row, column, channel) into the middle of `packed` (image, row, column, group, word)."""
    n, height, width, channels = maps.shape
    groups = packed.shape[3]
    per_group = channels // groups
    values = maps.reshape(-1)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                at = ((i * height + y) * width + x) * channels
                for g in range(groups):
                    _pack_channels(values, at + g * per_group, per_group, packed[i, y + padding, x + padding, g])


@kernel("void(uint8[:,:,:,::1], uint64[:,:,::1], int64, uint64[:,:,:,:,::1])")
def code_images(images, table, padding, packed):
    """Look up the code of every pixel: that of colour c and value v is ``table[c, v]``, and the colours are joined."""
    n, height, width, colours = images.shape
    for i in range(n):
        for y in range(height):
            for x in range(width):
                words = packed[i, y + padding, x + padding, 0]
                for w in range(len(words)):
                    word = np.uint64(0)
                    for c in range(colours):
                        word |= table[c, images[i, y, x, c], w]
                    words[w] = word


@numba.njit(nogil=True)
def _gather(packed, i, y, x, g, size, patch):
    """Copy the words of group `g` that a kernel of `size` sees from (y, x)."""
    n_words = packed.shape[4]
    at = 0
    for dy in range(size):
        for dx in range(size):
            for w in range(n_words):
                patch[at] = packed[i, y + dy, x + dx, g, w]
                at += 1


@numba.njit(nogil=True)
def _count_patches(patches, kernels, first, counts):
    """Differences of four patches from the kernels of all blocks of eight channels.

    Row ``first + block * n_words + word`` of `kernels` has that word of the block's eight kernels.
    """
    n_words = patches.shape[1]
    n_blocks = counts.shape[1]
    for block in range(n_blocks):
        a, b, c, d = zeros(kernels), zeros(kernels), zeros(kernels), zeros(kernels)
        row = first + block * n_words
        for k in range(n_words):
            eight = load(kernels, row + k)
            a = _count(a, eight, patches[0, k])
            b = _count(b, eight, patches[1, k])
            c = _count(c, eight, patches[2, k])
            d = _count(d, eight, patches[3, k])
        store(counts[0], block, a)
        store(counts[1], block, b)
        store(counts[2], block, c)
        store(counts[3], block, d)


@kernel(
    "void(uint64[:,:,:,:,::1], uint64[:,::1], int64, int64, boolean, int64[:,::1], int64[:,::1], uint8[:,:,:,::1])",
)
def convolve_to_bits(packed, kernels, size, stride, pool, limits, masks, out):
    """Convolve, pool 2x2 if `pool`, compare, and write bytes of 0 and 1 (image, row, column, channel).

    The sum is the larger the fewer bits differ, so the window's maximum has the smallest count d. A channel's bit is
    ``(d ^ mask) <= limit``, where a mask of -1 turns the comparison round.
    """
    groups, n_words = packed.shape[3], packed.shape[4] * size * size
    n, height, width, channels = out.shape
    per_group = channels // groups
    n_blocks = (per_group + LANES - 1) // LANES
    patches = np.zeros((PLACES, n_words), dtype=np.uint64)
    blocks = np.zeros((PLACES, n_blocks, LANES), dtype=np.uint64)
    counts = blocks.view(np.int64).reshape(PLACES, n_blocks * LANES)
    step = 1 if pool else PLACES
    for i in range(n):
        for y in range(height):
            for x in range(0, width, step):
                places = min(step, width - x)
                for g in range(groups):
                    if pool:
                        for place in range(PLACES):
                            top, left = (2 * y + place // 2) * stride, (2 * x + place % 2) * stride
                            _gather(packed, i, top, left, g, size, patches[place])
                    else:
                        for place in range(places):
                            _gather(packed, i, y * stride, (x + place) * stride, g, size, patches[place])
                    _count_patches(patches, kernels, g * n_blocks * n_words, blocks)
                    if pool:
                        for o in range(n_blocks * LANES):
                            counts[0, o] = min(min(counts[0, o], counts[1, o]), min(counts[2, o], counts[3, o]))
                    for place in range(places):
                        row = out[i, y, x + place]
                        for o in range(per_group):
                            row[g * per_group + o] = (counts[place, o] ^ masks[g, o]) <= limits[g, o]


@kernel("void(uint64[:,:,:,:,::1], uint64[:,::1], int64, int64, int64, int32[:,:,:,::1])")
def convolve_to_sums(packed, kernels, size, stride, fan_in, out):
    """Convolve and write the sums themselves."""
    groups, n_words = packed.shape[3], packed.shape[4] * size * size
    n, height, width, channels = out.shape
    per_group = channels // groups
    n_blocks = (per_group + LANES - 1) // LANES
    patches = np.zeros((PLACES, n_words), dtype=np.uint64)
    blocks = np.zeros((PLACES, n_blocks, LANES), dtype=np.uint64)
    counts = blocks.view(np.int64).reshape(PLACES, n_blocks * LANES)
    for i in range(n):
        for y in range(height):
            for x in range(0, width, PLACES):
                places = min(PLACES, width - x)
                for g in range(groups):
                    for place in range(places):
                        _gather(packed, i, y * stride, (x + place) * stride, g, size, patches[place])
                    _count_patches(patches, kernels, g * n_blocks * n_words, blocks)
                    for place in range(places):
                        for o in range(per_group):
                            out[i, y, x + place, g * per_group + o] = fan_in - 2 * counts[place, o]
