"""Layers whose weights and inputs are ±1: the building blocks of binary networks.

They form encoders and heads that need no multiplication: a sum of products of ±1 is a count of equal bits. During
training their weights are latent floating-point numbers of which only the sign is used (Courbariaux et al. 2016,
Binarized Neural Networks); :func:`keep_clipped` keeps those numbers in the range where a gradient can still flip them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bitreplay._floor.arguments import check_positive
from bitreplay.errors import InputError
from bitreplay.nn._straight_through import sign


class BinaryConv2d(nn.Module):
    """A convolution of the signs of its input with the signs of its weights; without bias.

    Parameters
    ----------
    in_channels, out_channels : int
        Channels.
    kernel_size : int
        Height and width of the kernel.
    stride : int
        Step of the kernel.
    padding : int
        Rows and columns around the input, filled with +1 after the input is binarized: 0 would be a third value.
    groups : int
        Groups of channels that are convolved separately; one group per channel makes a depthwise convolution.
    clip : float
        Bound of the latent weights and of inputs that get a gradient; 1.25 in QuickNet (Bannink et al. 2021).
    binarize_input : bool
        False means that the input is already ±1, or should be used unchanged.

    Examples
    --------
    >>> layer = BinaryConv2d(4, 8, 3, padding=1, groups=2)
    >>> layer(torch.randn(1, 4, 5, 5)).shape
    torch.Size([1, 8, 5, 5])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        groups: int = 1,
        clip: float = 1.0,
        binarize_input: bool = True,
    ) -> None:
        super().__init__()
        positive = {"in_channels": in_channels, "out_channels": out_channels, "kernel_size": kernel_size}
        check_positive(**positive, stride=stride, groups=groups)
        _check_clip(clip)
        if padding < 0:
            raise InputError(f"padding must not be negative; got {padding}")
        if in_channels % groups or out_channels % groups:
            raise InputError(f"{groups} groups must divide {in_channels} input and {out_channels} output channels")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.clip, self.binarize_input = clip, binarize_input
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, kernel_size, kernel_size))
        nn.init.xavier_normal_(self.weight)  # QuickNet's choice for binary weights

    @property
    def fan_in(self) -> int:
        """Number of products per output."""
        return self.weight[0].numel()

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, groups={self.groups}, clip={self.clip}, binarize_input={self.binarize_input}"
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Sums (N, out_channels, height, width) of an input (N, in_channels, height, width)."""
        if self.binarize_input:
            x = sign(x, self.clip)
        weight = sign(self.weight, self.clip)
        if not self.padding:
            return nn.functional.conv2d(x, weight, stride=self.stride, groups=self.groups)
        # Convolving x - 1, padded with 0, and adding what the convolution makes of 1 everywhere: the same as padding x
        # with 1, without copying it into a larger map. On a CPU that takes half of the time.
        ones = weight.sum((1, 2, 3))
        return nn.functional.conv2d(x - 1, weight, ones, self.stride, self.padding, groups=self.groups)


class BinaryLinear(nn.Module):
    """A matrix product of the signs of its input with the signs of its weights; without bias.

    Parameters
    ----------
    in_features, out_features : int
        Width of input and output.
    clip : float
        Bound of the latent weights and of inputs that get a gradient.
    binarize_input : bool
        False means that the input is already ±1, or should be used unchanged.

    Examples
    --------
    >>> layer = BinaryLinear(3, 2)
    >>> with torch.no_grad():
    ...     _ = layer.weight.copy_(torch.tensor([[0.1, -0.2, 0.0], [-0.3, -0.4, 0.5]]))
    >>> layer(torch.tensor([[0.0, -2.0, 0.5]])).tolist()
    [[3.0, 1.0]]
    """

    def __init__(self, in_features: int, out_features: int, clip: float = 1.0, binarize_input: bool = True) -> None:
        super().__init__()
        check_positive(in_features=in_features, out_features=out_features)
        _check_clip(clip)
        self.in_features, self.out_features = in_features, out_features
        self.clip, self.binarize_input = clip, binarize_input
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        nn.init.xavier_normal_(self.weight)

    @property
    def fan_in(self) -> int:
        """Number of products per output."""
        return self.in_features

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"{self.in_features}, {self.out_features}, clip={self.clip}, binarize_input={self.binarize_input}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Sums (..., out_features) of an input (..., in_features)."""
        if self.binarize_input:
            x = sign(x, self.clip)
        return nn.functional.linear(x, sign(self.weight, self.clip))


class LearnableThreshold(nn.Module):
    """Subtracts a learned number per channel from its input, so that a following sign compares with it.

    The "RSign" of ReActNet (Liu et al. 2020) without its sign.

    Parameters
    ----------
    channels : int
        Channels: the second dimension of the input.

    Examples
    --------
    >>> layer = LearnableThreshold(2)
    >>> with torch.no_grad():
    ...     _ = layer.threshold.copy_(torch.tensor([0.5, -1.0]))
    >>> layer(torch.tensor([[1.0, 1.0]])).tolist()
    [[0.5, 2.0]]
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        check_positive(channels=channels)
        self.threshold = nn.Parameter(torch.zeros(channels))

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return str(len(self.threshold))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The input minus the thresholds; channels are the second dimension."""
        return x - self.threshold.view(-1, *[1] * (x.ndim - 2))


def binary_layers(network: nn.Module) -> list[BinaryConv2d | BinaryLinear]:
    """All layers of a network that have binary weights, in the order of its modules.

    Examples
    --------
    >>> binary_layers(nn.Sequential(BinaryLinear(8, 4), nn.Linear(4, 2)))
    [BinaryLinear(8, 4, clip=1.0, binarize_input=True)]
    """
    return [module for module in network.modules() if isinstance(module, BinaryConv2d | BinaryLinear)]


def keep_clipped(optimizer: torch.optim.Optimizer, network: nn.Module) -> torch.optim.Optimizer:
    """Clip the latent weights of the network's binary layers after every step of the optimizer from now on.

    A latent weight far from 0 would not change its sign for many steps, and beyond `clip` it gets no gradient at all.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        The optimizer that trains them; it is returned.
    network : torch.nn.Module
        The network, or a part of it.

    Examples
    --------
    >>> layer = BinaryLinear(2, 2)
    >>> _ = torch.nn.init.zeros_(layer.weight)
    >>> optimizer = keep_clipped(torch.optim.SGD(layer.parameters(), lr=100.0), layer)
    >>> layer(torch.ones(1, 2)).sum().backward()
    >>> optimizer.step()
    >>> layer.weight.tolist()
    [[-1.0, -1.0], [-1.0, -1.0]]
    """
    layers = binary_layers(network)

    @torch.no_grad()
    def clip(*_: Any) -> None:
        for layer in layers:
            layer.weight.clamp_(-layer.clip, layer.clip)

    optimizer.register_step_post_hook(clip)
    return optimizer


def _check_clip(clip: float) -> None:
    if not clip > 0:
        raise InputError(f"clip must be positive; got {clip!r}")
