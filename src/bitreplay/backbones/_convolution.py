"""Convolutions of a ResNet, in the way that takes the fewest products on a CPU.

A ResNet spends nearly all of its training in these. Where maps are small, a 3x3 convolution is computed in one piece
with as few products as its size allows (`_few_products`); where tiles of 4x4 outputs cover the maps well, Winograd's
algorithm needs a quarter of them. Both (`_fast_convolution`) are for training only, and so are shortcuts as one matrix
product. Everything else is torch's. All agree up to rounding, for finite numbers of ordinary size;
`benchmarks/convolution.py` measures what each is worth.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from bitreplay.backbones._fast_convolution import LANES, n_tiles, small_maps, small_maps_halved, tiles
from bitreplay.backbones._few_products import LARGEST

# Ours: where it pays (results/choices/convolution.txt). Channels for every thread that torch has: our transforms have
# one. Waste is the outputs of all tiles over those of the map.
TILED_CHANNELS, MOST_WASTE = 32, 1.5
WHOLE_CHANNELS = 64  # with stride 2, twice as many
# Ours: where a short trial broke even, beside other jobs; not in that file.
FEWEST_CHANNELS = 16  # for the smallest maps
WHOLE_IMAGES = 32  # of a batch: what kernels cost does not fall with it

Way = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # from maps and weight to outputs


class Convolution3x3(nn.Conv2d):
    """A 3x3 convolution with padding 1 and no bias.

    In training mode on a CPU, it takes the fastest way for the size of its maps, and outputs may be channels last
    whatever the maps are.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The convolution."""
        way = self._way(input)
        return super().forward(input) if way is None else way(input, self.weight)

    def _way(self, maps: torch.Tensor) -> Way | None:
        """What computes it, if not `nn.Conv2d`.

        A network that only runs gives what it always gave, to the last digit, and can be exported.
        """
        fits = maps.ndim == 4 and 0 not in maps.shape and maps.shape[1] == self.weight.shape[1]
        if not fits or maps.device.type != "cpu" or not self._is_as_it_was_made():
            return None
        height, width = maps.shape[2:]
        if not self.training or not self._suits_kernels(maps):
            return dense_2x2 if (height, width) == (2, 2) and self.stride == (1, 1) else None
        stride, channels = self.stride[0], min(self.weight.shape[:2])
        if height == width and len(maps) >= WHOLE_IMAGES and _one_piece_pays(height, stride, channels):
            return small_maps if stride == 1 else small_maps_halved
        return tiles if stride == 1 and _tiles_pay(height, width, channels) else None

    def _is_as_it_was_made(self) -> bool:
        """Whether nobody gave the layer a bias, or dilated it, since; and its stride is 1 or 2."""
        one, two = (1, 1), (2, 2)
        sizes = self.stride in (one, two) and (self.padding, self.dilation) == (one, one)
        return sizes and self.bias is None and self.groups == 1 and self.padding_mode == "zeros"

    def _suits_kernels(self, maps: torch.Tensor) -> bool:
        whole = not any(n % LANES for n in self.weight.shape[:2])
        numbers = {maps.dtype, self.weight.dtype} == {torch.float32} and not torch.is_autocast_enabled("cpu")
        plain = type(maps) in (torch.Tensor, nn.Parameter)  # torch has tensors without numbers, too
        return whole and numbers and plain and not _is_transformed()


class Shortcut(nn.Conv2d):
    """A 1x1 convolution without bias, around a block.

    In training mode on a CPU, outputs are channels last whatever the maps are.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__(in_channels, out_channels, 1, stride=stride, bias=False)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The convolution."""
        plain = self.bias is None and self.groups == 1 and self.padding == (0, 0)
        fits = input.ndim == 4 and 0 not in input.shape and input.shape[1] == self.weight.shape[1]
        if not self.training or not plain or not fits or input.device.type != "cpu":
            return super().forward(input)
        down, across = self.stride
        seen = input.permute(0, 2, 3, 1)[:, ::down, ::across]
        return nn.functional.linear(seen, self.weight.flatten(1)).permute(0, 3, 1, 2)


def dense_2x2(maps: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The convolution of maps of 2x2, where every output sees every input, as one matrix product."""
    # The output at (row, column) sees the whole map through a 2x2 window of the kernel.
    windows = [weight[:, :, 1 - row : 3 - row, 1 - column : 3 - column] for row in (0, 1) for column in (0, 1)]
    matrix = torch.stack(windows).flatten(2).flatten(0, 1)  # (4 outputs * channels, channels * 4 inputs)
    output = nn.functional.linear(maps.flatten(1), matrix)
    return output.view(len(maps), 2, 2, len(weight)).permute(0, 3, 1, 2)


def _one_piece_pays(size: int, stride: int, channels: int) -> bool:
    """Whether a map is faster in one piece than with torch or in tiles.

    With another number of threads, other layers may take it, and digits differ.
    """
    if size <= 1 + stride:
        return channels >= FEWEST_CHANNELS
    return size <= (LARGEST if stride == 1 else 4) and channels >= WHOLE_CHANNELS * stride * torch.get_num_threads()


def _tiles_pay(height: int, width: int, channels: int) -> bool:
    """Whether Winograd is faster than torch."""
    few = 16 * n_tiles(height, width) <= MOST_WASTE * height * width
    return few and channels >= TILED_CHANNELS * torch.get_num_threads()


def _is_transformed() -> bool:
    """Whether torch compiles, traces, or transforms the call (`torch.func`): it cannot look into our kernels then."""
    # torch has no public names for these.
    if getattr(torch.autograd.forward_ad, "_current_level", -1) >= 0:
        return True
    asked = (getattr(torch._C, name, None) for name in ("_get_tracing_state", "_are_functorch_transforms_active"))
    return torch.compiler.is_compiling() or any(ask is not None and ask() for ask in asked)
