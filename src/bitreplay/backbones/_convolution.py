"""The 3x3 convolution of a ResNet, in the way that takes the fewest products on a CPU.

A ResNet spends nearly all of its training in these. Where maps are 2x2, Karatsuba's trick needs nine matrix products
over the channels instead of the sixteen of a dense matrix. Where tiles of 4x4 outputs cover the maps well, Winograd's
algorithm needs 36 for sixteen outputs instead of 144. Everything else is torch's. All agree up to rounding;
`benchmarks/convolution.py` measures what each is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.autograd.function import once_differentiable

from bitreplay._kernels.lanes import LANES

TILE, ELEMENTS = 4, 36  # outputs of a Winograd tile along an axis; numbers that stand for it in the domain
WORK_ROWS = 72  # room of a kernel
MOST_WASTE = (
    1.5  # ours: outputs of all tiles over those of the map; at 16/9 torch is as fast (benchmarks/convolution.py)
)
CHUNK = 2**19  # ours: floats in the domain at a time, 2 MB, which the caches of a core still hold

# What becomes of kernels (G, 6 x 3) in Winograd's domain for the points 0, 1, -1, 2, -2 and infinity.
_KERNEL = torch.tensor(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ],
    dtype=torch.float64,
)
# Along an axis of two, outputs are w1 a + w2 b and w0 a + w1 b: w1 (a + b), (w2 - w1) b and (w0 - w1) a give both.
_SUMS = torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
_DIFFERENCES = torch.tensor([[0.0, 1.0, 0.0], [0.0, -1.0, 1.0], [1.0, -1.0, 0.0]])
_BOTH = torch.tensor([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])


def _both_axes(matrix: torch.Tensor) -> torch.Tensor:
    return torch.kron(matrix, matrix).float()


TO_DOMAIN = _both_axes(_KERNEL)  # (36, 9)
SUMS, DIFFERENCES, BOTH = _both_axes(_SUMS), _both_axes(_DIFFERENCES), _both_axes(_BOTH)  # (9, 4), (9, 9), (4, 9)


class Convolution3x3(nn.Conv2d):
    """A 3x3 convolution with padding 1 and no bias.

    On a CPU it takes the fastest way for the size of its maps: while it is trained, 2 to 3 times as fast as torch's on
    maps of 2x2 and on those of 4x4 and more that tiles of 4x4 cover well.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The convolution."""
        if input.device.type != "cpu" or self.stride != (1, 1):
            return super().forward(input)
        if input.shape[2:] == (2, 2):
            return convolve_2x2(input, self.weight)
        # A network that only runs gives what it always gave, to the last digit.
        if self.training and is_worth_tiles(input, self.weight) and not torch.is_autocast_enabled("cpu"):
            output: torch.Tensor = _Winograd.apply(input, self.weight)  # type: ignore[no-untyped-call]
            return output
        return super().forward(input)


def convolve_2x2(maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of maps (N, C, 2, 2), where every output sees every input, in nine matrix products."""
    (n, channels), outputs = maps.shape[:2], len(weight)
    sums = (SUMS.to(maps.dtype) @ maps.permute(2, 3, 0, 1).reshape(4, -1)).view(9, n, channels)
    kernels = (DIFFERENCES.to(maps.dtype) @ weight.permute(2, 3, 0, 1).reshape(9, -1)).view(9, outputs, channels)
    products = torch.bmm(sums, kernels.transpose(1, 2)).view(9, -1)
    return (BOTH.to(maps.dtype) @ products).view(2, 2, n, outputs).permute(2, 3, 0, 1)


def is_worth_tiles(maps: torch.Tensor, weight: torch.Tensor) -> bool:
    """Whether Winograd's algorithm can be used for these maps, and pays."""
    height, width = maps.shape[2:]
    covered = TILE**2 * _tiles(height, width)
    whole = maps.shape[1] % LANES == 0 and len(weight) % LANES == 0
    return whole and maps.dtype == weight.dtype == torch.float32 and 0 < covered <= MOST_WASTE * height * width


class _Winograd(torch.autograd.Function):
    """The convolution with its gradients; inputs are taken to the domain again for that of the weights."""

    @staticmethod
    def forward(ctx: Any, maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        last = _channels_last(maps)
        ctx.save_for_backward(last, weight)
        return _convolve(last, _in_domain(weight).transpose(1, 2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        maps, weight = ctx.saved_tensors
        last = _channels_last(gradient)
        to_maps, to_weight = ctx.needs_input_grad
        return (
            _convolve(last, _in_domain(weight.flip(2, 3))) if to_maps else None,
            _weight_gradient(maps, last) if to_weight else None,
        )


def _channels_last(maps: torch.Tensor) -> torch.Tensor:
    """Maps (N, C, H, W) as (N, H, W, C), row by row in the memory."""
    return maps.detach().permute(0, 2, 3, 1).contiguous()


def _in_domain(weight: torch.Tensor) -> torch.Tensor:
    """Kernels (outputs, inputs, 3, 3) as (36, outputs, inputs)."""
    return (TO_DOMAIN @ weight.detach().permute(2, 3, 0, 1).reshape(9, -1)).view(ELEMENTS, *weight.shape[:2])


def _convolve(maps: torch.Tensor, kernels: torch.Tensor) -> torch.Tensor:
    """Outputs (N, outputs, H, W) of maps (N, H, W, C), with kernels (36, C, outputs) in the domain."""
    from bitreplay._kernels import winograd

    output = maps.new_empty(*maps.shape[:3], kernels.shape[2])
    with _Tiles(maps.shape, kernels.shape[2]) as tiles:
        entered, products = tiles.room(maps.shape[3]), tiles.room(kernels.shape[2])
        for first, n in tiles.chunks():
            tiles.run(winograd.enter, maps, entered, first, n)
            torch.bmm(tiles.in_domain(entered, n), kernels, out=tiles.in_domain(products, n))
            tiles.run(winograd.leave, output, products, first, n)
    return output.permute(0, 3, 1, 2)


def _weight_gradient(maps: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """The gradient of kernels (outputs, inputs, 3, 3) from maps (N, H, W, C) and the gradient of their outputs."""
    from bitreplay._kernels import winograd

    inputs, outputs = maps.shape[3], gradient.shape[3]
    total = maps.new_zeros(ELEMENTS, outputs, inputs)
    with _Tiles(maps.shape, outputs) as tiles:
        entered, left = tiles.room(inputs), tiles.room(outputs)
        for first, n in tiles.chunks():
            tiles.run(winograd.enter, maps, entered, first, n)
            tiles.run(winograd.leave_backwards, gradient, left, first, n)
            total.baddbmm_(tiles.in_domain(left, n).transpose(1, 2), tiles.in_domain(entered, n))
    return (TO_DOMAIN.T @ total.view(ELEMENTS, -1)).view(3, 3, outputs, inputs).permute(2, 3, 0, 1)


class _Tiles:
    """The tiles of a batch of maps, taken a few at a time, with as many threads as torch uses."""

    def __init__(self, shape: torch.Size, outputs: int) -> None:
        images, self._height, self._width, inputs = shape
        self._count = images * _tiles(self._height, self._width)
        self._at_once = max(1, min(self._count, CHUNK // (ELEMENTS * max(inputs, outputs))))
        self._threads = torch.get_num_threads()
        self._pool: Any = ThreadPoolExecutor(self._threads) if self._threads > 1 else nullcontext()

    def __enter__(self) -> _Tiles:
        self._pool.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool.__exit__(*error)

    def room(self, channels: int) -> torch.Tensor:
        """Room for as many tiles in the domain as are taken at a time."""
        return torch.empty(ELEMENTS * self._at_once * channels)

    def in_domain(self, room: torch.Tensor, n: int) -> torch.Tensor:
        """What is in it, as (36, n, channels)."""
        channels = len(room) // (ELEMENTS * self._at_once)
        return room[: ELEMENTS * n * channels].view(ELEMENTS, n, channels)

    def chunks(self) -> list[tuple[int, int]]:
        """First tile and number of tiles of each."""
        return [(first, min(self._at_once, self._count - first)) for first in range(0, self._count, self._at_once)]

    def run(self, kernel: Callable[..., None], maps: torch.Tensor, room: torch.Tensor, first: int, n: int) -> None:
        """Run a kernel on `n` tiles."""
        blocks = maps.shape[3] // LANES

        def share(number: int) -> None:
            begin, end = n * number // self._threads, n * (number + 1) // self._threads
            work = np.empty((WORK_ROWS, LANES), np.float32)
            kernel(_rows(maps), _rows(room), work, self._height, self._width, blocks, first, n, begin, end)

        if self._threads == 1:
            share(0)
        else:
            list(self._pool.map(share, range(self._threads)))


def _tiles(height: int, width: int) -> int:
    return -(-height // TILE) * -(-width // TILE)


def _rows(numbers: torch.Tensor) -> npt.NDArray[np.float32]:
    """Eight channels a row, for a kernel."""
    rows: npt.NDArray[np.float32] = numbers.detach().view(-1, LANES).numpy()
    return rows
