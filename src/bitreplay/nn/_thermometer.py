"""The first layer of a binary network: pixels in a thermometer code, convolved.

It turns the images themselves into bits, so that the network contains no numbers except sums of ±1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay.errors import InputError
from bitreplay.nn._layers import BinaryConv2d
from bitreplay.nn._straight_through import sign


def pixel_thresholds(levels: int) -> npt.NDArray[np.int64]:
    """Pixel values from 1 to 255 where the bits of a thermometer of `levels` bits become +1, evenly spaced.

    Examples
    --------
    >>> pixel_thresholds(3).tolist(), pixel_thresholds(85)[[0, 1, 84]].tolist()
    ([43, 128, 213], [2, 5, 254])
    """
    if isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= 255:
        raise InputError(f"levels must be an integer from 1 to 255; got {levels!r}")
    return -(-(2 * np.arange(levels) + 1) * 255 // (2 * levels))  # (j + 1/2) / levels of 255, rounded up


class ThermometerConv2d(BinaryConv2d):
    """A binary convolution of images whose pixels are thermometer-coded: `levels` bits for each colour.

    Images are floats from 0 to 1, as `Preprocessing` with mean 0 and standard deviation 1 produces from bytes: every
    byte has exactly one code, because the thresholds lie halfway between bytes. Bit j of colour c is channel
    ``c * levels + j``; padding has all bits +1, like white.

    The code is never stored. A pixel's code depends only on how many thresholds it reaches, so its contribution to the
    outputs is looked up in a table made from the weights. On a CPU that is about ten times as fast as
    the convolution of 255 channels, and exactly the same: all numbers are integers.

    Parameters
    ----------
    in_channels : int
        Colours of the images.
    out_channels, kernel_size, stride, padding, clip
        As in :class:`BinaryConv2d`.
    levels : int
        Bits per colour.

    Examples
    --------
    >>> layer = ThermometerConv2d(3, 16, 3, padding=1, levels=85)
    >>> layer(torch.rand(2, 3, 8, 8)).shape, layer.weight.shape
    (torch.Size([2, 16, 8, 8]), torch.Size([16, 255, 3, 3]))
    """

    thresholds: torch.Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        levels: int = 85,  # Basso-Bert et al., ISCAS 2024: 255 channels from three colours
        clip: float = 1.0,
    ) -> None:
        between = (torch.from_numpy(pixel_thresholds(levels)) - 0.5) / 255
        super().__init__(in_channels * levels, out_channels, kernel_size, stride, padding, clip=clip)
        self.colours, self.levels = in_channels, levels
        self.register_buffer("thresholds", between.float(), persistent=False)

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"{super().extra_repr()}, levels={self.levels}"

    def code(self, images: torch.Tensor) -> torch.Tensor:
        """The code itself, ±1, of images (N, colours, height, width): (N, colours * levels, height, width)."""
        reached = images[:, :, None] >= self.thresholds[:, None, None]
        return (2 * reached.to(images.dtype) - 1).flatten(1, 2)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Sums (N, out_channels, height, width) of images (N, colours, height, width)."""
        if images.ndim != 4 or images.shape[1] != self.colours:
            raise InputError(f"images must have shape (N, {self.colours}, H, W); got {tuple(images.shape)}")
        level = torch.bucketize(images.contiguous(), self.thresholds, right=True)
        level = nn.functional.pad(level, [self.padding] * 4, value=self.levels)
        size, stride = self.kernel_size, self.stride
        seen = level.permute(0, 2, 3, 1).unfold(1, size, stride).unfold(2, size, stride)  # (N, H, W, colour, dy, dx)
        n, height, width = seen.shape[:3]
        table = self._table()
        offsets = torch.arange(table.shape[0] * table.shape[1], device=level.device)[:: table.shape[1]]
        rows = seen.reshape(-1, table.shape[0]) + offsets
        sums: torch.Tensor = _SumOfRows.apply(table.flatten(0, 1), rows)  # type: ignore[no-untyped-call]
        return sums.view(n, height, width, -1).permute(0, 3, 1, 2)

    def _table(self) -> torch.Tensor:
        """The contribution of a pixel: (colour and position in the kernel, thresholds reached, output)."""
        weight = sign(self.weight, self.clip).view(self.out_channels, self.colours, self.levels, -1)
        weight = weight.permute(1, 3, 2, 0).flatten(0, 1)
        none = -weight.sum(1, keepdim=True)
        return torch.cat([none, none + 2 * weight.cumsum(1)], dim=1)


class _SumOfRows(torch.autograd.Function):
    """``table[rows].sum(1)``, without storing the summands."""

    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(rows)
        ctx.n_rows = len(table)
        return nn.functional.embedding_bag(rows, table, mode="sum")

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        [rows], [gradient] = ctx.saved_tensors, gradients
        total = gradient.new_zeros(ctx.n_rows, gradient.shape[1])
        if gradient.device.type == "cpu" and gradient.dtype == torch.float32:
            from bitreplay._kernels.rows import add_to_rows  # compiled when first needed

            add_to_rows(rows.contiguous().numpy(), gradient.contiguous().numpy(), total.numpy())
        else:
            for column in rows.T:
                total.index_add_(0, column, gradient)
        return total, None
