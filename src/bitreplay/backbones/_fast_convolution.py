"""3x3 convolutions with fewer products, and their gradients: small maps in one piece, larger ones in Winograd's tiles.

Both change maps and kernels so that the convolution becomes a product, element by element, of matrices over the
channels: their *domain*. Numba's kernels (`_kernels.winograd`) go into it and out of it, torch multiplies. Maps and
kernels are float32 on the CPU, channels last inside, with channels in multiples of eight.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from bitreplay.backbones._few_products import Floats, few_products, toom_cook

TILE, ELEMENTS = 4, 36  # outputs of a Winograd tile along an axis; numbers that stand for the tile in the domain
LANES, WORK_ROWS = 8, 72  # as in `_kernels`, which loads a compiler when it is imported
CHUNK = 2**19  # ours: floats of a room at a time, 2 MB, which the caches of a core still hold,
FEWEST = 128  # but as many tiles as make good matrix products: 9 MB with 512 channels

Gradients = tuple[torch.Tensor | None, ...]  # of maps and weight, as far as they are needed, and None of a stride

# What becomes of kernels in Winograd's domain.
KERNELS: Floats = toom_cook(TILE, 3)[1].astype(np.float32)


def small_maps(maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of square maps of up to 6x6."""
    output: torch.Tensor = SmallMaps.apply(maps, weight, 1)  # type: ignore[no-untyped-call]
    return output


def small_maps_halved(maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The same with stride 2."""
    output: torch.Tensor = SmallMaps.apply(maps, weight, 2)  # type: ignore[no-untyped-call]
    return output


def tiles(maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of maps of any size."""
    output: torch.Tensor = Winograd.apply(maps, weight)  # type: ignore[no-untyped-call]
    return output


class SmallMaps(torch.autograd.Function):
    """The convolution of square maps of up to 6x6, each in one piece: nine products for maps of 2x2, 64 for 6x6.

    Until the gradients are computed it keeps maps and kernels in the domain, where kernels are up to seven times as
    large (64 numbers for nine).
    """

    @staticmethod
    def forward(ctx: Any, maps: torch.Tensor, weight: torch.Tensor, stride: int) -> torch.Tensor:
        """Outputs (N, outputs, height, width)."""
        way = few_products(maps.shape[2], stride)
        inputs, kernels = _to_domain(maps, way.maps), _to_domain(weight, way.kernels)
        to_maps, to_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(maps, weight, inputs if to_weight else None, kernels if to_maps else None)
        ctx.stride, ctx.way = stride, way
        return _from_domain(torch.bmm(inputs, kernels.transpose(1, 2)), way.outputs)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Gradients:
        """Gradients of maps and weight."""
        maps, weight, inputs, kernels = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _differentiable_gradients(ctx, gradient, maps, weight, ctx.stride)
        to_maps, to_weight, _ = ctx.needs_input_grad
        with torch.autocast("cpu", enabled=False):
            products = _to_domain(gradient, ctx.way.outputs.T)
            return (
                _from_domain(torch.bmm(products, kernels), ctx.way.maps.T) if to_maps else None,
                _from_domain(torch.bmm(products.transpose(1, 2), inputs), ctx.way.kernels.T) if to_weight else None,
                None,
            )


class Winograd(torch.autograd.Function):
    """The convolution of larger maps in tiles of 4x4 outputs, each in 36 products instead of 144."""

    @staticmethod
    def forward(ctx: Any, maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Outputs (N, outputs, height, width)."""
        ctx.save_for_backward(maps, weight)
        return _convolve(maps, _to_domain(weight, KERNELS).transpose(1, 2))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Gradients:
        """Gradients of maps and weight."""
        maps, weight = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _differentiable_gradients(ctx, gradient, maps, weight)
        to_maps, to_weight = ctx.needs_input_grad
        turned = KERNELS[:, ::-1]  # the gradient of the maps is the convolution with kernels turned around
        with torch.autocast("cpu", enabled=False):
            return (
                _convolve(gradient, _to_domain(weight, turned)) if to_maps else None,
                _weight_gradient(maps, gradient) if to_weight else None,
            )


def _differentiable_gradients(
    ctx: Any, gradient: torch.Tensor, maps: torch.Tensor, weight: torch.Tensor, stride: int = 1
) -> Gradients:
    """torch's, for those who differentiate gradients once more."""
    one, rest = (1, 1), ctx.needs_input_grad[2:]
    sizes = (stride, stride), one, one, False, (0, 0), 1  # of stride, padding and dilation; not transposed
    needed = *ctx.needs_input_grad[:2], False
    found = torch.ops.aten.convolution_backward(gradient, maps, weight, None, *sizes, needed)
    return found[0], found[1], *(None for _ in rest)


def _convolve(maps: torch.Tensor, kernels: torch.Tensor) -> torch.Tensor:
    """Outputs of maps, with kernels (36, channels, outputs) in the domain."""
    from bitreplay._kernels import winograd

    source = _channels_last(maps)
    output = _new(len(source), kernels.shape[2], *source.shape[1:3])
    target = _channels_last(output)
    for chunk in _Chunk.all_of(source, kernels.shape[2]):
        entered = chunk.run(winograd.enter, source, chunk.room(0, source))
        products = torch.bmm(entered, kernels, out=chunk.room(1, target))
        chunk.run(winograd.leave, target, products)
    return output


def _weight_gradient(maps: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    from bitreplay._kernels import winograd

    source, above = _channels_last(maps), _channels_last(gradient)
    total = source.new_zeros(ELEMENTS, above.shape[3], source.shape[3])
    for chunk in _Chunk.all_of(source, above.shape[3]):
        entered = chunk.run(winograd.enter, source, chunk.room(0, source))  # again: to keep it takes twice the memory
        products = chunk.run(winograd.leave_backwards, above, chunk.room(1, above))
        total.baddbmm_(products.transpose(1, 2), entered)
    return _from_domain(total, KERNELS.T)


class _Chunk:
    """Some tiles of a batch of maps (N, height, width, channels): `n` of them from tile `first` on."""

    def __init__(self, maps: torch.Tensor, first: int, n: int) -> None:
        self._size, self._first, self._n = maps.shape[1:3], first, n

    @classmethod
    def all_of(cls, maps: torch.Tensor, outputs: int) -> Iterator[_Chunk]:
        """All tiles of the maps, as many at a time as caches hold."""
        images, height, width, channels = maps.shape
        count = images * n_tiles(height, width)
        at_once = max(FEWEST, CHUNK // (ELEMENTS * max(channels, outputs)))
        return (cls(maps, first, min(at_once, count - first)) for first in range(0, count, at_once))

    def room(self, number: int, maps: torch.Tensor) -> torch.Tensor:
        """Room for the tiles of such maps in the domain, (36, n, channels); 0 and 1 are two of them.

        It is kept for the next call: new memory has to be cleared by the system, which takes as long as the arithmetic.
        """
        size = ELEMENTS * self._n * maps.shape[3]
        if _kept.rooms[number].size < size:
            _kept.rooms[number] = np.empty(size, np.float32)
        return torch.from_numpy(_kept.rooms[number][:size]).view(ELEMENTS, self._n, -1)

    def run(self, kernel: Callable[..., None], maps: torch.Tensor, domain: torch.Tensor) -> torch.Tensor:
        """Run a kernel between maps and the domain; returns the latter."""
        sizes = (*self._size, maps.shape[3] // LANES, self._first, self._n)
        kernel(_rows(maps), _rows(domain), _scratch(), *sizes)
        return domain


class _Kept(threading.local):
    """Rooms of each thread, of NumPy: torch would remember under which of its modes they were made."""

    def __init__(self) -> None:
        self.rooms = [np.empty(0, np.float32), np.empty(0, np.float32)]


_kept = _Kept()


def _to_domain(arrays: torch.Tensor, matrix: Floats) -> torch.Tensor:
    """Small arrays (A, channels, s, s) as (m * m, A, channels): a matrix (m, s) applied along both axes."""
    last = _channels_last(arrays)
    count, blocks = len(last), last.shape[3] // LANES
    domain = last.new_empty(len(matrix) ** 2, count, last.shape[3])
    _change(last, domain, matrix, (blocks, matrix.shape[1] ** 2 * blocks), (count * blocks, blocks), count)
    return domain


def _from_domain(domain: torch.Tensor, matrix: Floats) -> torch.Tensor:
    """The other way: (s * s, A, channels) as arrays (A, channels, m, m)."""
    count, blocks, size = domain.shape[1], domain.shape[2] // LANES, len(matrix)
    arrays = _new(count, domain.shape[2], size, size)
    _change(domain, _channels_last(arrays), matrix, (count * blocks, blocks), (blocks, size**2 * blocks), count)
    return arrays


def _change(
    source: torch.Tensor,
    target: torch.Tensor,
    matrix: Floats,
    steps: tuple[int, int],  # rows from an element of an array to the next one, and from an array to the next
    to_steps: tuple[int, int],  # the same in the target
    count: int,
) -> None:
    from bitreplay._kernels import winograd

    blocks = source.shape[-1] // LANES
    whole = np.ascontiguousarray(matrix)
    winograd.change(_rows(source), _rows(target), whole, _scratch(), *steps, *to_steps, blocks, count)


def n_tiles(height: int, width: int) -> int:
    """Tiles that cover a map."""
    return -(-height // TILE) * -(-width // TILE)


def _new(*shape: int) -> torch.Tensor:
    """A new array (N, channels, height, width), channels last."""
    return torch.empty(shape, dtype=torch.float32, device="cpu", memory_format=torch.channels_last)


def _channels_last(arrays: torch.Tensor) -> torch.Tensor:
    """Arrays (N, channels, height, width) as (N, height, width, channels), row by row in the memory."""
    return arrays.detach().permute(0, 2, 3, 1).contiguous()


def _rows(numbers: torch.Tensor) -> Floats:
    """Eight channels a row, for a kernel."""
    rows: Floats = numbers.view(-1, LANES).numpy()
    return rows


def _scratch() -> Floats:
    """Rows for a kernel to work in."""
    return np.empty((WORK_ROWS, LANES), np.float32)
