"""Convolutions with their batch normalisation and ReLU6 in one step, for networks that only run.

A frozen network's batch normalisation is a factor and an offset per channel, which the convolution before it can take
over. On a CPU with oneDNN the ReLU6 is part of the same step, and weights are laid out once as that step wants them.
`benchmarks/encoding.py` measures what each of these is worth.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_weights

NOMINAL = 16  # images that weights are laid out for; others are computed with the same layout


class FusedConvolution(nn.Module):
    """A convolution, its batch normalisation, and if wanted a ReLU6; it cannot be trained.

    Parameters
    ----------
    convolution : torch.nn.Conv2d
        With a padding of its own, or one before it.
    normalisation : torch.nn.BatchNorm2d
        In evaluation mode.
    padding : tuple of int
        Left, right, top and bottom, with at least as much on the right and at the bottom, as TensorFlow pads.
    relu6 : bool
        Whether negative values become 0 and those above 6 become 6.

    Examples
    --------
    >>> layer, norm = nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8).eval()
    >>> FusedConvolution(layer, norm, padding=(0, 1, 0, 1), relu6=True)(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 8, 4, 4])
    """

    def __init__(
        self,
        convolution: nn.Conv2d,
        normalisation: nn.BatchNorm2d,
        *,
        padding: tuple[int, int, int, int] = (0, 0, 0, 0),
        relu6: bool,
    ) -> None:
        super().__init__()
        norm: Any = normalisation
        weight, bias = fuse_conv_bn_weights(
            convolution.weight, convolution.bias, norm.running_mean, norm.running_var, norm.eps, norm.weight, norm.bias
        )
        left, right, top, bottom = padding
        # oneDNN pads both sides alike: what is too much on one is met by zeros of the kernel.
        wide = functional.pad(weight.detach(), (right - left, 0, bottom - top, 0))
        self._weight = wide.contiguous(memory_format=torch.channels_last)
        self._bias = None if bias is None else bias.detach()
        self._padding, self._relu6, self._groups = [bottom, right], relu6, convolution.groups
        self._stride = list(convolution.stride)
        self._laid_out: tuple[tuple[int, ...], torch.Tensor] | None = None

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Maps (N, channels, height, width) of maps or images."""
        if images.device.type == "cpu" and len(images) and torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
            after = ("hardtanh", [0.0, 6.0]) if self._relu6 else ("none", [])
            return torch.ops.mkldnn._convolution_pointwise(  # type: ignore[no-any-return]
                images, self._layout(images), self._bias, self._padding, self._stride, [1, 1], self._groups, *after, ""
            )
        weight = self._weight.to(images.device)
        bias = None if self._bias is None else self._bias.to(images.device)
        maps = functional.conv2d(images, weight, bias, self._stride, self._padding, 1, self._groups)
        return functional.relu6(maps, inplace=True) if self._relu6 else maps

    def _layout(self, images: torch.Tensor) -> torch.Tensor:
        """Weights as oneDNN wants them for images of this size; always for as many, so that results do not vary."""
        shape = (NOMINAL, *images.shape[1:])
        if self._laid_out is None or self._laid_out[0] != shape:
            laid_out = torch.ops.mkldnn._reorder_convolution_weight(
                self._weight, self._padding, self._stride, [1, 1], self._groups, list(shape)
            )
            self._laid_out = shape, laid_out  # in one step: other threads may be here, too
            return laid_out  # type: ignore[no-any-return]
        return self._laid_out[1]
