"""Transforms of Winograd's convolution F(4x4, 3x3) (Lavin & Gray 2016): tiles of maps into and out of its domain.

And `change`, a transform by any small matrix along both axes, for kernels and for small maps.

A 3x3 convolution takes nine products per output; in this domain it takes 36 for a tile of 4x4 outputs, a quarter. The
products themselves are matrix products over the channels, 36 of them, and are torch's (`backbones._fast_convolution`).

Maps lie channels last, in rows of eight channels. Tile t covers outputs 4y to 4y + 3 and 4x to 4x + 3 of an image, and
one more input on each side; what lies outside of a map is 0. In the domain, row ((6 i + j) n + t) of `room` holds
element (i, j) of tile t of n.
"""

from __future__ import annotations

from bitreplay._kernels.compiling import inlined, kernel
from bitreplay._kernels.lanes import add, load, scale, store, zeros

TILE = 4  # outputs of a tile along each axis
SIDE = TILE + 2  # its elements along each axis in the domain
WORK_ROWS = 2 * SIDE**2  # of eight floats each: a tile, and what becomes of it along one axis
_ROWS, _NUMBERS = ", ".join(["float32[:,::1]"] * 3), ", ".join(["int64"] * 5)
_SIGNATURE = f"void({_ROWS}, {_NUMBERS})"


@inlined
def _corner(tile, height, width):
    """Image of a tile, and its first output there."""
    down, across = (height + TILE - 1) // TILE, (width + TILE - 1) // TILE
    image, place = tile // (down * across), tile % (down * across)
    return image, TILE * (place // across), TILE * (place % across)


@inlined
def _copy(maps, work, image, top, left, size, height, width, blocks, block):
    """Eight channels of `size` x `size` places of a map into `work`; 0 outside of the map."""
    for y in range(size):
        for x in range(size):
            if 0 <= top + y < height and 0 <= left + x < width:
                value = load(maps, ((image * height + top + y) * width + left + x) * blocks + block)
            else:
                value = zeros(maps)
            store(work, size * y + x, value)


@inlined
def _minus(a, b):
    return add(a, scale(b, -1.0))


@inlined
def _enter(source, target, first, step, to, to_step):
    """B^T times a column of six rows of `source`, into six of `target`."""
    a, b, c = load(source, first), load(source, first + step), load(source, first + 2 * step)
    d, e, f = load(source, first + 3 * step), load(source, first + 4 * step), load(source, first + 5 * step)
    even, odd = add(e, scale(c, -4.0)), add(d, scale(b, -4.0))
    near, far = _minus(e, c), scale(_minus(d, b), 2.0)
    store(target, to, add(add(scale(a, 4.0), scale(c, -5.0)), e))
    store(target, to + to_step, add(even, odd))
    store(target, to + 2 * to_step, _minus(even, odd))
    store(target, to + 3 * to_step, add(near, far))
    store(target, to + 4 * to_step, _minus(near, far))
    store(target, to + 5 * to_step, add(add(scale(b, 4.0), scale(d, -5.0)), f))


@inlined
def _leave(source, target, first, step, to, to_step):
    """A^T times a column of six rows of `source`, into four of `target`."""
    a, b, c = load(source, first), load(source, first + step), load(source, first + 2 * step)
    d, e, f = load(source, first + 3 * step), load(source, first + 4 * step), load(source, first + 5 * step)
    near, far = add(b, c), add(d, e)
    near_odd, far_odd = _minus(b, c), _minus(d, e)
    store(target, to, add(add(a, near), far))
    store(target, to + to_step, add(near_odd, scale(far_odd, 2.0)))
    store(target, to + 2 * to_step, add(near, scale(far, 4.0)))
    store(target, to + 3 * to_step, add(add(near_odd, scale(far_odd, 8.0)), f))


@inlined
def _leave_backwards(source, target, first, step, to, to_step):
    """A times a column of four rows of `source`, into six of `target`."""
    a, b = load(source, first), load(source, first + step)
    c, d = load(source, first + 2 * step), load(source, first + 3 * step)
    even, odd = add(a, c), add(b, d)
    far_even, far_odd = add(a, scale(c, 4.0)), add(scale(b, 2.0), scale(d, 8.0))
    store(target, to, a)
    store(target, to + to_step, add(even, odd))
    store(target, to + 2 * to_step, _minus(even, odd))
    store(target, to + 3 * to_step, add(far_even, far_odd))
    store(target, to + 4 * to_step, _minus(far_even, far_odd))
    store(target, to + 5 * to_step, d)


@kernel(_SIGNATURE)
def enter(maps, room, work, height, width, blocks, first, n):
    """B^T d B of `n` tiles of the inputs, from tile `first` on, into `room`; `work` has `WORK_ROWS`."""
    for t in range(n):
        image, top, left = _corner(first + t, height, width)
        inside = top > 0 and left > 0 and top + TILE < height and left + TILE < width
        corner = ((image * height + top - 1) * width + left - 1) * blocks
        for block in range(blocks):
            if inside:
                for x in range(SIDE):
                    _enter(maps, work, corner + x * blocks + block, width * blocks, 36 + x, SIDE)
            else:
                _copy(maps, work, image, top - 1, left - 1, SIDE, height, width, blocks, block)
                for x in range(SIDE):
                    _enter(work, work, x, SIDE, 36 + x, SIDE)
            for y in range(SIDE):
                _enter(work, room, 36 + SIDE * y, 1, (SIDE * y * n + t) * blocks + block, n * blocks)


@kernel(_SIGNATURE)
def leave(maps, room, work, height, width, blocks, first, n):
    """A^T m A of these tiles in `room`, as outputs into the maps."""
    for t in range(n):
        image, top, left = _corner(first + t, height, width)
        for block in range(blocks):
            for x in range(SIDE):
                _leave(room, work, (x * n + t) * blocks + block, SIDE * n * blocks, x, SIDE)
            for y in range(min(TILE, height - top)):
                _leave(work, work, SIDE * y, 1, 36, 1)
                row = ((image * height + top + y) * width + left) * blocks + block
                for x in range(min(TILE, width - left)):
                    store(maps, row + x * blocks, load(work, 36 + x))


@kernel(_SIGNATURE)
def leave_backwards(maps, room, work, height, width, blocks, first, n):
    """A g A^T of these tiles of the gradients of outputs, into `room`: what the weights' gradient needs of them."""
    for t in range(n):
        image, top, left = _corner(first + t, height, width)
        for block in range(blocks):
            _copy(maps, work, image, top, left, TILE, height, width, blocks, block)
            for x in range(TILE):
                _leave_backwards(work, work, x, TILE, 36 + x, TILE)
            for y in range(SIDE):
                _leave_backwards(work, room, 36 + TILE * y, 1, (SIDE * y * n + t) * blocks + block, n * blocks)


@kernel(f"void({_ROWS}, float32[:,::1], {_NUMBERS}, int64)")
def change(source, target, matrix, work, step, stride, to_step, to_stride, blocks, count):
    """M s M^T of `count` small square arrays s of some channels.

    The matrix has at most `WORK_ROWS` elements, and channels take `blocks` rows of eight. Block b of element e of array
    a is row ``step * e + stride * a + b`` of `source`, and so on of `target`.
    """
    after, before = matrix.shape
    for a in range(count):
        for block in range(blocks):
            origin, goal = stride * a + block, to_stride * a + block
            for x in range(before):  # a column at a time: all elements may fall into the same few places of a cache
                for i in range(after):
                    total = scale(load(source, origin + step * x), matrix[i, 0])
                    for y in range(1, before):
                        total = add(total, scale(load(source, origin + step * (before * y + x)), matrix[i, y]))
                    store(work, before * i + x, total)
            for i in range(after):
                for j in range(after):
                    total = scale(load(work, before * i), matrix[j, 0])
                    for x in range(1, before):
                        total = add(total, scale(load(work, before * i + x), matrix[j, x]))
                    store(target, goal + to_step * (after * i + j), total)
