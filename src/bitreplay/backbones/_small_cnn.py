"""A small convolutional network for small grey images such as scikit-learn's 8x8 digits.

It is an F that trains in seconds on a CPU.
"""

from __future__ import annotations

import torch
from torch import nn

from bitreplay._floor.arguments import check_positive


class SmallCNN(nn.Module):
    """Three 3x3 convolutions, the second and third of stride 2, each with batch normalisation and ReLU.

    The last maps are averaged over their four quadrants: position in the image seems to matter for digits that the
    network was not trained on.

    Parameters
    ----------
    width : int
        Channels of the first convolution; the others have twice as many, and there are ``8 * width`` features.
    in_channels : int
        Channels of the images.

    Examples
    --------
    >>> SmallCNN(width=8)(torch.zeros(5, 1, 8, 8)).shape
    torch.Size([5, 64])
    """

    def __init__(
        self,
        width: int = 32,  # ours: 256 features are enough for ten digits
        in_channels: int = 1,
    ) -> None:
        super().__init__()
        check_positive(width=width, in_channels=in_channels)
        self.layers = nn.Sequential(
            _layer(in_channels, width, stride=1),
            _layer(width, 2 * width, stride=2),
            _layer(2 * width, 2 * width, stride=2),
        )
        self.quarters = nn.AdaptiveAvgPool2d(2)
        self.n_features = 4 * 2 * width

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (N, 8 * width), none of them negative, of images (N, channels, height, width)."""
        maps: torch.Tensor = self.quarters(self.layers(images))
        return maps.flatten(1)


def _layer(in_channels: int, out_channels: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(out_channels), nn.ReLU())
