"""Every backbone by name, with the preprocessing it expects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bitreplay._floor.random_state import seeded
from bitreplay.backbones._binary_vgg import BinaryVGG
from bitreplay.backbones._efficientnet_lite import EfficientNetLite0
from bitreplay.backbones._preprocessing import Preprocessing
from bitreplay.backbones._quicknet import quicknet, quicknet_large, quicknet_small
from bitreplay.backbones._quicknet_v02 import quicknet_v02
from bitreplay.backbones._resnet import ResNet
from bitreplay.backbones._small_cnn import SmallCNN
from bitreplay.errors import InputError


@dataclass(frozen=True)
class Backbone:
    """The entry of a backbone."""

    build: Callable[..., nn.Module]
    preprocessing: Preprocessing  # what it expects unless it is trained on other images
    pretrained: str = ""  # the data set whose images its weights have seen, to be named with every result
    binary: bool = False  # whether its features are already ±1; it is then trained with this preprocessing, too


# larq-zoo's preprocessing of ImageNet, without its crop: smaller images are enlarged as a whole.
QUICKNET = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), size=224, interpolation="bicubic")

BACKBONES: dict[str, Backbone] = {
    "resnet18": Backbone(ResNet, Preprocessing()),
    "small_cnn": Backbone(SmallCNN, Preprocessing()),
    "binary_vgg": Backbone(BinaryVGG, Preprocessing(mean=(0.0,), std=(1.0,)), binary=True),
    "efficientnet_lite0": Backbone(
        EfficientNetLite0,
        # Scaling of the network's own training code; 112 px is ours: the most accurate of 96 to 160 on CIFAR-100.
        Preprocessing(mean=(127 / 255,), std=(128 / 255,), size=112, interpolation="bicubic"),
        pretrained="ImageNet",
    ),
    "quicknet_small": Backbone(quicknet_small, QUICKNET, pretrained="ImageNet"),
    "quicknet": Backbone(quicknet, QUICKNET, pretrained="ImageNet"),
    "quicknet_large": Backbone(quicknet_large, QUICKNET, pretrained="ImageNet"),
    "quicknet_v02": Backbone(quicknet_v02, QUICKNET, pretrained="ImageNet", binary=True),
}


def build_backbone(name: str, *, generator: torch.Generator | None = None, **options: Any) -> nn.Module:
    """A backbone by its name: images (N, C, H, W), normalised, to features (N, n_features).

    Parameters
    ----------
    name : str
        One of `BACKBONES`.
    generator : torch.Generator, optional
        Source of the initial weights. The global random state is not changed.
    **options
        Options of the backbone, such as `width` of a ResNet.

    Examples
    --------
    >>> network = build_backbone("resnet18", width=16, generator=torch.Generator().manual_seed(0))
    >>> network.n_features
    128
    """
    if name not in BACKBONES:
        raise InputError(f"there is no backbone {name!r}; there are {', '.join(BACKBONES)}")
    for option in options:
        if option not in option_names(name):
            raise InputError(f"{name} has no option {option!r}; it has {', '.join(option_names(name))}")
    with seeded(None if generator is None else int(torch.randint(2**62, (1,), generator=generator))):
        try:
            return BACKBONES[name].build(**options)
        except TypeError:  # a word where a number is wanted
            given = ", ".join(f"{option}={value!r}" for option, value in options.items())
            raise InputError(f"{name} cannot be built with {given}: an option has the wrong type") from None


def option_names(name: str) -> tuple[str, ...]:
    """Names of the options of a backbone; empty for an unknown one.

    Examples
    --------
    >>> option_names("small_cnn")
    ('width', 'in_channels')
    """
    return tuple(inspect.signature(BACKBONES[name].build).parameters) if name in BACKBONES else ()


def pretrained_on(name: str, options: Mapping[str, Any]) -> str:
    """The data set whose images a backbone's weights have seen; "" for none, as with random weights.

    Examples
    --------
    >>> pretrained_on("quicknet", {}), pretrained_on("quicknet", {"weights": None}), pretrained_on("resnet18", {})
    ('ImageNet', '', '')
    >>> pretrained_on("quicknet", {"weights": "downloads/mine.h5"})
    'whatever mine.h5 was trained on'
    """
    weights = options.get("weights", "published")
    if name not in BACKBONES or weights is None or options.get("pretrained") is False:
        return ""
    if weights != "published":
        return f"whatever {Path(weights).name} was trained on"
    return BACKBONES[name].pretrained


def own_preprocessing(name: str, options: Mapping[str, Any]) -> Preprocessing:
    """What a backbone expects unless it is trained on other images, at the size set by its options.

    Examples
    --------
    >>> own_preprocessing("quicknet", {"image_size": 128}).size, own_preprocessing("quicknet", {}).size
    (128, 224)
    """
    own = BACKBONES[name].preprocessing
    return replace(own, size=options.get("image_size", own.size)) if own.size else own


def count_features(backbone: nn.Module, image_shape: tuple[int, int, int]) -> int:
    """How many features a network returns, found by passing it one black image.

    Examples
    --------
    >>> count_features(nn.Sequential(nn.Flatten(), nn.Linear(192, 10)), (3, 8, 8))
    10
    """
    device = next((parameter.device for parameter in backbone.parameters()), torch.device("cpu"))
    was_training = backbone.training
    backbone.eval()  # batch normalisation must not learn from it
    try:
        with torch.no_grad():
            features = backbone(torch.zeros(1, *image_shape, device=device))
    except torch.OutOfMemoryError:  # which is no fault of the images
        raise
    except RuntimeError as error:
        channels, height, width = image_shape
        raise InputError(
            f"the backbone does not accept images of {height} x {width} pixels and {channels} channels: {error}"
        ) from None
    finally:
        backbone.train(was_training)
    if not isinstance(features, torch.Tensor) or features.ndim != 2:
        shape = tuple(features.shape) if isinstance(features, torch.Tensor) else type(features).__name__
        raise InputError(
            f"a backbone must turn images (N, C, H, W) into features (N, d); for one image it gave {shape}"
        )
    return features.shape[1]
