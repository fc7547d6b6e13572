"""The fully binary network: bits from the pixels to the embedding.

It is an F without any multiplication, whose features are already bits. After Basso-Bert et al., "On Class-Incremental
Learning for Fully Binarized Convolutional Neural Networks" (ISCAS 2024); details of the smaller network that the GBM
paper leaves open (sec. 5) are parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from bitreplay._floor.arguments import one_of
from bitreplay.errors import InputError
from bitreplay.nn import BinaryConv2d, BinaryLinear, Gain, Sign, SignBatchNorm, ThermometerConv2d


class BinaryVGG(nn.Sequential):
    """Thermometer-coded images, blocks of two grouped 3x3 convolutions, a depthwise one, and a dense layer.

    Every layer is binary, with a sign between layers. It takes images from 0 to 1 without further normalisation, so
    that each byte has exactly one code; its features are ±1. :func:`bitreplay.nn.pack_network` packs it.

    Parameters
    ----------
    widths, groups : sequence of int
        Channels and groups of the convolutions of each block; after each block, maps are halved by maximum pooling.
    n_features : int
        D, bits of the embedding.
    bottleneck : {"mean", "stride"}
        The depthwise layer: a kernel as large as the maps, a weighted mean over all positions, in the ~1 Mbit network;
        or 3x3 with stride 2, as the 4.1 Mbit network's size suggests.
    batch_norm : bool
        Train with batch normalisation, which leaves an integer threshold per channel; or only with the gain
        1 / sqrt(fan_in), which leaves nothing.
    levels : int
        Thermometer bits per colour.
    in_channels : int
        Colours.
    image_size : int
        Height and width of the images, which determine those of the last layers.

    Examples
    --------
    >>> import torch
    >>> network = BinaryVGG(n_features=512)
    >>> embedding = network(torch.rand(2, 3, 32, 32))
    >>> embedding.shape, embedding.unique().tolist()
    (torch.Size([2, 512]), [-1.0, 1.0])
    """

    def __init__(
        self,
        widths: Sequence[int] = (64, 128, 256),  # half of ISCAS 2024's: with D = 1024 and G 1.03 Mbit, sec. 5's "~1 Mb"
        groups: Sequence[int] = (1, 2, 4),  # ISCAS 2024
        n_features: int = 1024,  # ISCAS 2024
        bottleneck: str = "mean",
        batch_norm: bool = True,  # ours: trains faster than the gain alone
        levels: int = 85,  # ISCAS 2024
        in_channels: int = 3,
        image_size: int = 32,
    ) -> None:
        if not widths or len(widths) != len(groups):
            raise InputError(f"widths and groups must have a number for each block; got {widths!r} and {groups!r}")
        one_of("bottleneck", bottleneck, ("mean", "stride"))
        size = image_size // 2 ** len(widths)
        if size < 1:
            raise InputError(f"images of {image_size} pixels cannot be halved {len(widths)} times")

        def activation(layer: BinaryConv2d | BinaryLinear, channels: int) -> list[nn.Module]:
            return [SignBatchNorm(channels) if batch_norm else Gain(layer.fan_in**-0.5), Sign()]

        layers: list[nn.Module] = []
        before = in_channels
        for i, (width, group) in enumerate(zip(widths, groups, strict=True)):
            options: dict[str, Any] = {"groups": group, "binarize_input": False}
            if i == 0 and group != 1:
                raise InputError(f"the first block must have one group, because its input is coded pixels; got {group}")
            first = (
                BinaryConv2d(before, width, 3, padding=1, **options)
                if i
                else ThermometerConv2d(before, width, 3, padding=1, levels=levels)
            )
            second = BinaryConv2d(width, width, 3, padding=1, **options)
            layers += [first, *activation(first, width), second, nn.MaxPool2d(2), *activation(second, width)]
            before = width
        options = {"groups": before, "binarize_input": False}
        if bottleneck == "mean":
            depthwise, size = BinaryConv2d(before, before, size, **options), 1
        else:
            depthwise, size = BinaryConv2d(before, before, 3, stride=2, padding=1, **options), (size + 1) // 2
        dense = BinaryLinear(before * size * size, n_features, binarize_input=False)
        layers += [depthwise, *activation(depthwise, before), nn.Flatten(), dense, *activation(dense, n_features)]
        super().__init__(*layers)
        self.n_features = n_features
