"""The 3x3 convolution of a ResNet, in the way that takes the fewest products on a CPU.

A ResNet spends nearly all of its training in these. Where maps are 2x2, Karatsuba's trick needs nine products over
the channels instead of the sixteen of a dense matrix. Where tiles of 4x4 outputs cover the maps well, Winograd's
algorithm needs 36 for sixteen outputs instead of 144. Everything else is torch's. All agree up to rounding;
`benchmarks/convolution.py` measures what each is worth.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.autograd.function import once_differentiable

TILE, DOMAIN = 4, 36  # outputs of a Winograd tile along an axis; numbers that stand for the tile
# Ours: where tiles pay (results/choices/convolution.txt). Waste is the outputs of all tiles over those of the map.
FEW_CHANNELS, LITTLE_WASTE = 32, 1.5  # for every thread that torch has; our transforms have one
MANY_CHANNELS, MOST_WASTE = 256, 2.0  # with one thread
CHUNK = 2**19  # ours: floats in the domain at a time, 2 MB, which the caches of a core still hold,
FEWEST = 128  # but as many tiles as make good matrix products with kernels of many channels
LANES, WORK_ROWS = 8, 72  # channels that a kernel takes at a time, and rows to work in; importing it loads a compiler

Floats = npt.NDArray[np.float32]

# What becomes of kernels in Winograd's domain for the points 0, 1, -1, 2, -2 and infinity (Lavin & Gray 2016).
KERNELS = np.array(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ],
    dtype=np.float32,
)
# Along an axis of two, outputs are w1 a + w2 b and w0 a + w1 b: w1 (a + b), (w2 - w1) b and (w0 - w1) a give both.
SUMS = np.array([[1, 1], [0, 1], [1, 0]], dtype=np.float32)
DIFFERENCES = np.array([[0, 1, 0], [0, -1, 1], [1, -1, 0]], dtype=np.float32)
BOTH = np.array([[1, 1, 0], [1, 0, 1]], dtype=np.float32)


class Convolution3x3(nn.Conv2d):
    """A 3x3 convolution with padding 1 and no bias.

    While it is trained on a CPU, it takes the fastest way for the size of its maps.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The convolution."""
        way = self._way(input)
        return super().forward(input) if way is None else way(input, self.weight)

    def _way(self, maps: torch.Tensor) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor] | None:
        """What computes it, if not torch.

        A network that only runs gives what it always gave, to the last digit, and can be exported.
        """
        if self.stride != (1, 1) or maps.device.type != "cpu":
            return None
        height, width = maps.shape[2:]
        can_be_dense = (height, width) == (2, 2)
        if not self.training or not self._suits_kernels(maps):
            return dense_2x2 if can_be_dense else None
        if can_be_dense:
            return Karatsuba.apply
        return Winograd.apply if _tiles_pay(height, width, min(self.weight.shape[:2])) else None

    def _suits_kernels(self, maps: torch.Tensor) -> bool:
        whole = not any(n % LANES for n in self.weight.shape[:2])
        plain = {maps.dtype, self.weight.dtype} == {torch.float32} and not torch.is_autocast_enabled("cpu")
        return whole and plain and len(maps) > 0


def _tiles_pay(height: int, width: int, channels: int) -> bool:
    waste, threads = TILE**2 * _tiles(height, width) / (height * width), torch.get_num_threads()
    if waste <= LITTLE_WASTE:
        return channels >= FEW_CHANNELS * threads
    return waste <= MOST_WASTE and channels >= MANY_CHANNELS and threads == 1


def dense_2x2(maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of maps of 2x2, where every output sees every input, as one matrix product."""
    # The output at (row, column) sees the whole map through a 2x2 window of the kernel.
    windows = [weight[:, :, 1 - row : 3 - row, 1 - column : 3 - column] for row in (0, 1) for column in (0, 1)]
    matrix = torch.stack(windows).flatten(2).flatten(0, 1)  # (4 outputs * channels, channels * 4 inputs)
    output = nn.functional.linear(maps.flatten(1), matrix)
    return output.view(len(maps), 2, 2, len(weight)).permute(0, 3, 1, 2)


class Karatsuba(torch.autograd.Function):
    """The same in nine products instead of sixteen, with its gradients."""

    @staticmethod
    def forward(ctx: Any, maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Outputs (N, outputs, 2, 2)."""
        sums = _to_domain(maps, SUMS)
        kernels = _to_domain(weight, DIFFERENCES)
        ctx.save_for_backward(sums, kernels)
        return _from_domain(torch.bmm(sums, kernels.transpose(1, 2)), BOTH)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Gradients of maps and weight, as far as they are needed."""
        sums, kernels = ctx.saved_tensors
        to_maps, to_weight = ctx.needs_input_grad
        products = _to_domain(gradient, BOTH.T)
        return (
            _from_domain(torch.bmm(products, kernels), SUMS.T) if to_maps else None,
            _from_domain(torch.bmm(products.transpose(1, 2), sums), DIFFERENCES.T) if to_weight else None,
        )


class Winograd(torch.autograd.Function):
    """The convolution of larger maps in tiles, with its gradients."""

    @staticmethod
    def forward(ctx: Any, maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """Outputs (N, outputs, height, width)."""
        ctx.save_for_backward(maps, weight)
        return _convolve(maps, _to_domain(weight, KERNELS).transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Gradients of maps and weight, as far as they are needed."""
        maps, weight = ctx.saved_tensors
        to_maps, to_weight = ctx.needs_input_grad
        turned = KERNELS[:, ::-1]  # the gradient of the maps is the convolution with kernels turned around
        return (
            _convolve(gradient, _to_domain(weight, turned)) if to_maps else None,
            _weight_gradient(maps, gradient) if to_weight else None,
        )


def _convolve(maps: torch.Tensor, kernels: torch.Tensor) -> torch.Tensor:
    """Outputs of maps, with kernels (36, channels, outputs) in the domain."""
    from bitreplay._kernels import winograd

    source, outputs = _channels_last(maps), kernels.shape[2]
    output = source.new_empty(*source.shape[:3], outputs)
    for chunk in _Chunk.all_of(source, outputs):
        entered = chunk.run(winograd.enter, source, chunk.room(0, source))
        products = torch.bmm(entered, kernels, out=chunk.room(1, output))
        chunk.run(winograd.leave, output, products)
    return output.permute(0, 3, 1, 2)


def _weight_gradient(maps: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    from bitreplay._kernels import winograd

    source, above = _channels_last(maps), _channels_last(gradient)
    total = source.new_zeros(DOMAIN, above.shape[3], source.shape[3])
    for chunk in _Chunk.all_of(source, above.shape[3]):
        entered = chunk.run(winograd.enter, source, chunk.room(0, source))
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
        count = images * _tiles(height, width)
        at_once = max(FEWEST, CHUNK // (DOMAIN * max(channels, outputs)))
        return (cls(maps, first, min(at_once, count - first)) for first in range(0, count, at_once))

    def room(self, number: int, maps: torch.Tensor) -> torch.Tensor:
        """Room for the tiles of such maps in the domain, (36, n, channels); 0 and 1 are two of them.

        It is kept for the next time: new memory has to be cleared by the system, which takes as long as the arithmetic.
        """
        size = DOMAIN * self._n * maps.shape[3]
        if _kept.rooms[number].numel() < size:
            _kept.rooms[number] = torch.empty(size)
        return _kept.rooms[number][:size].view(DOMAIN, self._n, -1)

    def run(self, kernel: Callable[..., None], maps: torch.Tensor, domain: torch.Tensor) -> torch.Tensor:
        """Run a kernel between maps and the domain; returns the latter."""
        rows, room = _rows(maps), _rows(domain)
        fixed = (*self._size, maps.shape[3] // LANES, self._first, self._n)
        kernel(rows, room, _work(), *fixed)
        return domain


class _Kept(threading.local):
    def __init__(self) -> None:
        self.rooms = [torch.empty(0), torch.empty(0)]


_kept = _Kept()


def _to_domain(arrays: torch.Tensor, matrix: Floats) -> torch.Tensor:
    """Small arrays (A, channels, s, s) as (m * m, A, channels): a matrix (m, s) applied along both axes."""
    last = _channels_last(arrays)
    count, elements, blocks = len(last), matrix.shape[1] ** 2, last.shape[3] // LANES
    domain = last.new_empty(len(matrix) ** 2, count, last.shape[3])
    _change(last, domain, matrix, (blocks, elements * blocks, count * blocks, blocks), count)
    return domain


def _from_domain(domain: torch.Tensor, matrix: Floats) -> torch.Tensor:
    """The other way: (s * s, A, channels) as arrays (A, channels, m, m), channels last."""
    count, blocks, size = domain.shape[1], domain.shape[2] // LANES, len(matrix)
    arrays = domain.new_empty(count, size, size, domain.shape[2])
    _change(domain, arrays, matrix, (count * blocks, blocks, blocks, size**2 * blocks), count)
    return arrays.permute(0, 3, 1, 2)


def _change(
    source: torch.Tensor, target: torch.Tensor, matrix: Floats, layout: tuple[int, int, int, int], count: int
) -> None:
    from bitreplay._kernels import winograd

    rows, to_rows, whole = _rows(source), _rows(target), np.ascontiguousarray(matrix)
    winograd.change(rows, to_rows, whole, _work(), *layout, count)


def _work() -> Floats:
    """Room of a kernel."""
    return np.empty((WORK_ROWS, LANES), np.float32)


def _tiles(height: int, width: int) -> int:
    return -(-height // TILE) * -(-width // TILE)


def _channels_last(arrays: torch.Tensor) -> torch.Tensor:
    """Arrays (N, channels, height, width) as (N, height, width, channels), row by row in the memory."""
    return arrays.detach().permute(0, 2, 3, 1).contiguous()


def _rows(numbers: torch.Tensor) -> Floats:
    """Eight channels a row, for a kernel."""
    rows: Floats = numbers.view(-1, LANES).numpy()
    return rows
