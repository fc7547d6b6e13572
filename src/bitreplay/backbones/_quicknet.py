"""QuickNet (Bannink et al. 2021, "Larq Compute Engine"), a hybrid network: most of its weights and sums are binary.

It is the paper's encoder for CORe50 (sec. 5.1): F ends in the middle of the network, and what follows, the tail, is the
G that learns new classes. Everything here matches larq-zoo's Keras model, so that its published weights can be used
 (`_quicknet_weights.py`).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn

from bitreplay._floor.arguments import integer, one_of
from bitreplay.backbones._quicknet_weights import load_weights, published_weights
from bitreplay.backbones._tapped import TappedNetwork
from bitreplay.errors import InputError
from bitreplay.nn import BinaryConv2d

Tap = Literal["input", "output", "pooled"]

CLIP = 1.25  # larq-zoo: SteSign and WeightClip of QuickNet
BLUR = (1.0, 2.0, 1.0)  # larq-zoo: the blur kernel is [1 2 1] x [1 2 1] / 16, and is not trained
LAST_PROJECTION = "project_4"  # the layer that larq-zoo's QuickNetLarge calls quant_conv2d_30


class QuickNet(TappedNetwork):
    """QuickNet from images to a tap in its middle.

    Parameters
    ----------
    blocks, filters : sequence of 4 int
        Residual blocks and channels of the four sections.
    tap : {"input", "output", "pooled"}
        What the features are: the input or the output of the last 1x1 projection (`quant_conv2d_30` in
        QuickNetLarge), channel by channel; or the input of the last layer, averaged over the image.
    image_size : int
        Height and width of the images: the number of features depends on it.
    n_classes : int
        Classes of the last layer, which only `whole` uses.

    Attributes
    ----------
    n_features : int
        At 224 pixels and 256 channels 12544 for the tap "input", 25088 for "output".

    Examples
    --------
    >>> network = QuickNet((1, 1, 1, 1), (16, 16, 32, 64), image_size=64).eval()
    >>> network(torch.zeros(2, 3, 64, 64)).shape, network.n_features
    (torch.Size([2, 128]), 128)
    >>> network.tail(128, 5).eval()(torch.ones(2, 128)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        blocks: Sequence[int] = (4, 4, 4, 4),
        filters: Sequence[int] = (64, 128, 256, 512),
        *,
        tap: Tap = "input",  # sec. 5.1: D = 12544, which is the input of quant_conv2d_30 and not its output
        image_size: int = 224,  # larq-zoo
        n_classes: int = 1000,  # ImageNet
    ) -> None:
        super().__init__()
        for name, values in (("blocks", blocks), ("filters", filters)):
            if len(values) != 4 or any(not isinstance(value, int) or value < 1 for value in values):
                raise InputError(f"{name} must be four positive integers; got {values!r}")
        if filters[0] % 4:
            raise InputError(f"the first of filters must be a multiple of 4; got {filters[0]}")
        one_of("tap", tap, Tap)
        integer("image_size", image_size, 32)
        integer("n_classes", n_classes, 1)
        layers: OrderedDict[str, nn.Module] = OrderedDict(stem=_stem(filters[0]))
        for section, (count, channels) in enumerate(zip(blocks, filters, strict=True), start=1):
            if section > 1:
                before = filters[section - 2]
                layers[f"pool_{section}"] = BlurPool(before)
                layers[f"project_{section}"] = nn.Conv2d(before, channels, 1, bias=False)
                layers[f"normalise_{section}"] = nn.BatchNorm2d(channels)
                nn.init.xavier_normal_(layers[f"project_{section}"].weight)  # type: ignore[arg-type]
            for block in range(1, count + 1):
                layers[f"block_{section}_{block}"] = ResidualBlock(channels)
        layers["average"] = Average()
        self.layers = nn.Sequential(layers)
        self.dense = nn.Linear(filters[3], n_classes)
        self.tap, self.image_size = tap, image_size
        sides = [_side(image_size)] * (0 if tap == "pooled" else 2)
        self.shape = (filters[2] if tap == "input" else filters[3], *sides)
        self.n_features = math.prod(self.shape)

    def _cut(self) -> int:
        names = [name for name, _ in self.layers.named_children()]
        at = names.index(LAST_PROJECTION)
        return {"input": at, "output": at + 1, "pooled": len(names)}[self.tap]


class ResidualBlock(nn.Module):
    """A binary 3x3 convolution, ReLU, batch normalisation (or what stands for it), and a shortcut around them."""

    def __init__(self, channels: int, normalise: nn.Module | None = None) -> None:
        super().__init__()
        self.convolution = BinaryConv2d(channels, channels, 3, padding=1, clip=CLIP)
        self.normalise = nn.BatchNorm2d(channels) if normalise is None else normalise

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """The block's output maps."""
        residual: torch.Tensor = self.normalise(torch.relu(self.convolution(maps)))
        return maps + residual


class SameConv2d(nn.Conv2d):
    """A 3x3 convolution of stride 2 that pads as Keras does: for even sizes only on the right and at the bottom."""

    def __init__(self, in_channels: int, out_channels: int, groups: int = 1, *, bias: bool = False) -> None:
        super().__init__(in_channels, out_channels, 3, stride=2, groups=groups, bias=bias)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The convolution; its output is half as large, rounded up."""
        rows, columns = (size % 2 for size in input.shape[2:])  # 1 on odd sizes: both sides are padded
        return super().forward(nn.functional.pad(input, (columns, 1, rows, 1)))


class BlurPool(nn.Module):
    """ReLU, the maximum of neighbours, and every second pixel of the blurred maps."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.blur = SameConv2d(channels, channels, groups=channels)
        kernel = torch.outer(torch.tensor(BLUR), torch.tensor(BLUR)) / sum(BLUR) ** 2
        self.blur.weight = nn.Parameter(kernel.repeat(channels, 1, 1, 1), requires_grad=False)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Maps of half the size, none of them negative."""
        blurred: torch.Tensor = self.blur(nn.functional.max_pool2d(torch.relu(maps), 2, stride=1))
        return blurred


class Average(nn.Module):
    """ReLU and the mean over the image."""

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Features (N, channels)."""
        return torch.relu(maps).mean((2, 3))


def _stem(channels: int) -> nn.Sequential:
    """The stem: maps of a quarter of the image's size, in floating point."""
    narrow = channels // 4
    # Keras' momentum of 0.99 is torch's 0.01.
    stem = nn.Sequential(
        SameConv2d(3, narrow),
        nn.BatchNorm2d(narrow, eps=1e-3, momentum=0.01),
        nn.ReLU(),
        SameConv2d(narrow, narrow, groups=narrow),
        nn.BatchNorm2d(narrow, eps=1e-3, momentum=0.01, affine=False),
        nn.Conv2d(narrow, channels, 1, bias=False),
        nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01),
    )
    for layer in stem:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight)
    return stem


def _side(size: int) -> int:
    """Height and width of the maps at the last projection: two halvings round up, the three of the pools down."""
    size = -(-size // 4)
    return size // 8


def quicknet(
    weights: str | None = "published",
    *,
    blocks: Sequence[int] = (4, 4, 4, 4),
    filters: Sequence[int] = (64, 128, 256, 512),
    tap: Tap = "input",
    image_size: int = 224,
    n_classes: int = 1000,
) -> QuickNet:
    """QuickNet, with 13.2 million parameters in its usual size.

    Parameters
    ----------
    weights : str or None
        A `.h5` file as larq-zoo saves it; "published" for larq-zoo's own, if it is in `$BITREPLAY_DATA/quicknet` or was
        fetched (it is never downloaded without being requested); or None for random weights.
    blocks, filters, tap, image_size, n_classes
        As of :class:`QuickNet`.
    """
    return _build("quicknet", weights, blocks, filters, tap, image_size, n_classes)


def quicknet_small(weights: str | None = "published", *, tap: Tap = "input", image_size: int = 224) -> QuickNet:
    """QuickNetSmall: fewer channels in the first two sections."""
    return _build("quicknet_small", weights, (4, 4, 4, 4), (32, 64, 256, 512), tap, image_size)


def quicknet_large(weights: str | None = "published", *, tap: Tap = "input", image_size: int = 224) -> QuickNet:
    """QuickNetLarge, the encoder of the paper's table 5."""
    return _build("quicknet_large", weights, (6, 8, 12, 6), (64, 128, 256, 512), tap, image_size)


def _build(
    name: str,
    weights: str | None,
    blocks: Sequence[int],
    filters: Sequence[int],
    tap: Tap,
    image_size: int,
    n_classes: int = 1000,
) -> QuickNet:
    network = QuickNet(blocks, filters, tap=tap, image_size=image_size, n_classes=n_classes)
    if weights is not None:
        load_weights(network, published_weights(name) if weights == "published" else weights)
        network.freeze_features()
    return network
