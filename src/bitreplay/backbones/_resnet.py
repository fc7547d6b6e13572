"""ResNet-18 and its relatives, for small images and with torchvision's parameter names.

It is the paper's F: trained on task 0, then frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import nn

from bitreplay._floor.arguments import check_positive, one_of
from bitreplay.backbones._convolution import Convolution3x3, Shortcut
from bitreplay.errors import InputError

Stem = Literal["small", "imagenet"]


class ResNet(nn.Module):
    """A residual network (He et al. 2016) without its classification layer.

    Parameters
    ----------
    blocks : sequence of 4 int
        Residual blocks per stage: (2, 2, 2, 2) is ResNet-18, (3, 4, 6, 3) is ResNet-34.
    width : int
        Channels of the first stage. The last one has ``8 * width``, which is also the number of features.
    stem : {"small", "imagenet"}
        What comes before the first stage: a 3x3 convolution, or torchvision's 7x7 convolution of stride 2 and maximum
        pooling, which real torchvision checkpoints need.
    stem_stride : int
        Stride of the 3x3 stem. With 2, everything after it costs a quarter.
    in_channels : int
        Channels of the images.

    Examples
    --------
    >>> network = ResNet(width=16, stem_stride=2)
    >>> network(torch.zeros(5, 3, 32, 32)).shape, network.n_features
    (torch.Size([5, 128]), 128)
    """

    def __init__(
        self,
        blocks: Sequence[int] = (2, 2, 2, 2),  # ResNet-18, as in sec. 4.1
        width: int = 64,  # He et al. 2016
        stem: Stem = "small",  # the class-incremental field's 3x3 stem for 32-pixel images
        stem_stride: int = 1,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        one_of("stem", stem, Stem)
        if len(blocks) != 4 or min(blocks) < 1:
            raise InputError(f"blocks must be four positive numbers; got {blocks!r}")
        check_positive(width=width, stem_stride=stem_stride, in_channels=in_channels)
        if stem == "imagenet":
            self.conv1 = nn.Conv2d(in_channels, width, 7, stride=2, padding=3, bias=False)
            self.maxpool: nn.Module = nn.MaxPool2d(3, stride=2, padding=1)
        else:
            self.conv1 = Convolution3x3(in_channels, width, stem_stride)
            self.maxpool = nn.Identity()
        self.bn1 = nn.BatchNorm2d(width)
        channels = [width, width, 2 * width, 4 * width, 8 * width]
        self.layer1 = _stage(channels[0], channels[1], blocks[0], stride=1)
        self.layer2 = _stage(channels[1], channels[2], blocks[1], stride=2)
        self.layer3 = _stage(channels[2], channels[3], blocks[2], stride=2)
        self.layer4 = _stage(channels[3], channels[4], blocks[3], stride=2)
        self.n_features = channels[4]
        for module in self.modules():
            if isinstance(module, nn.Conv2d):  # the initialisation of torchvision's ResNet
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (N, 8 * width), none of them negative, of images (N, channels, height, width)."""
        maps: torch.Tensor = self.maxpool(torch.relu(self.bn1(self.conv1(images))))
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        return maps.mean((2, 3))

    def load_torchvision(self, state: Mapping[str, torch.Tensor]) -> None:
        """Load the weights of a torchvision ResNet, except those of its classification layer, `fc`.

        Parameters
        ----------
        state : mapping of str to Tensor
            Its `state_dict`, for example read with `safetensors.torch.load_file`.
        """
        wanted = {name: value for name, value in state.items() if not name.startswith("fc.")}
        try:
            self.load_state_dict(wanted)
        except RuntimeError as error:
            raise InputError(f"these weights do not match this network: {error}") from None


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a shortcut around them."""

    activate = True  # the last block of LUCIR's network has no ReLU behind it

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = Convolution3x3(in_channels, out_channels, stride)
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = Convolution3x3(out_channels, out_channels)
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.downsample: nn.Module | None = None
        if stride != 1 or in_channels != out_channels:
            shortcut = Shortcut(in_channels, out_channels, stride)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(out_channels))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """The block's output maps."""
        residual = torch.relu_(self.bn1(self.conv1(maps)))
        residual = self.bn2(self.conv2(residual))
        shortcut = maps if self.downsample is None else self.downsample(maps)
        return torch.relu_(residual + shortcut) if self.activate else residual + shortcut


def _stage(in_channels: int, out_channels: int, blocks: int, stride: int) -> nn.Sequential:
    first = BasicBlock(in_channels, out_channels, stride)
    return nn.Sequential(first, *(BasicBlock(out_channels, out_channels, 1) for _ in range(blocks - 1)))
