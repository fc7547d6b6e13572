"""The fully binary network in C against the packed one of Python, bit for bit."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay.backbones import BinaryVGG
from bitreplay.bits import PackedBits
from bitreplay.device import DeviceNetwork, words_of
from bitreplay.errors import InputError
from bitreplay.nn import BinaryLinear, Gain, LearnableThreshold, Sign, SignBatchNorm, ThermometerConv2d, pack_network
from tests.device.library import embed


def network(seed: int = 0, image_size: int = 8, **options: Any) -> nn.Module:
    """A network with statistics for its batch normalisation, some scales of which are negative or 0."""
    torch.manual_seed(seed)
    made = BinaryVGG(
        **{"widths": (8, 12), "groups": (1, 2), "n_features": 45, "levels": 9, **options}, image_size=image_size
    )
    with torch.no_grad():
        for module in made.modules():
            if isinstance(module, SignBatchNorm):
                module.weight.copy_(torch.randn_like(module.weight))
                module.weight[0] = 0.0
                module.bias.copy_(0.3 * torch.randn_like(module.bias))
        made.train()(torch.rand(32, options.get("in_channels", 3), image_size, image_size))
    return made.eval()


CASES: list[dict[str, Any]] = [
    {},
    {"batch_norm": False},
    {"bottleneck": "stride"},  # a dense layer of several places
    {"bottleneck": "stride", "batch_norm": False, "n_features": 32},
    {"widths": (33, 66), "groups": (1, 3)},  # channels that fill no words
    {"widths": (32, 64), "groups": (1, 2)},  # that fill them exactly
    {"widths": (8,), "groups": (1,), "image_size": 5, "in_channels": 1, "levels": 255},  # odd sizes, one colour
]


@pytest.mark.parametrize("options", CASES)
def test_c_has_the_same_bits(library: ctypes.CDLL, options: dict[str, Any]) -> None:
    made = network(**options)
    size, colours = options.get("image_size", 8), options.get("in_channels", 3)
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (40, size, size, colours)) * rng.random((40, 1, 1, colours))
    images = images.astype(np.uint8)  # of different colours, so that networks without training tell them apart
    images[0], images[1] = 0, 255
    expected = pack_network(made)(images)
    assert isinstance(expected, PackedBits)
    assert len(np.unique(expected.data, axis=0)) > 5
    np.testing.assert_array_equal(embed(library, DeviceNetwork.of_module(made, size), images), words_of(expected))


def test_thresholds_of_other_kinds(library: ctypes.CDLL) -> None:
    torch.manual_seed(0)
    learnable = LearnableThreshold(20)
    nn.init.normal_(learnable.threshold, std=5.0)
    made = nn.Sequential(
        ThermometerConv2d(2, 20, 3, padding=1, levels=5), learnable, Sign(), nn.Flatten(), BinaryLinear(720, 40), Sign()
    ).eval()
    images = np.random.default_rng(0).integers(0, 256, (9, 6, 6, 2), dtype=np.uint8)
    expected = pack_network(made)(images)
    assert isinstance(expected, PackedBits)
    np.testing.assert_array_equal(embed(library, DeviceNetwork.of_module(made, 6), images), words_of(expected))


def test_sizes_are_those_of_the_documentation() -> None:
    small = DeviceNetwork.of_module(BinaryVGG().eval(), 32)
    bits = sum(layer.outputs * layer.fan_in for layer in small.layers)
    assert bits == 515_520 + 4_096 + 262_144  # docs/binary.md: convolutions, depthwise, dense
    assert small.n_features == 1024
    words = [layer.outputs * -(-layer.fan_in // 32) + -(-layer.outputs // 32) for layer in small.layers]
    limits = sum(layer.outputs for layer in small.layers)
    assert small.size_bits == 32 * sum(words) + 16 * limits + 8 * 256  # the last: pixels


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Flatten(), BinaryLinear(8, 4), Sign()), "must start with a ThermometerConv2d"),
        (nn.Sequential(ThermometerConv2d(1, 4, 3, levels=3), Sign()), "must end with a dense layer"),
        (
            nn.Sequential(ThermometerConv2d(1, 4, 3, levels=3), Gain(1.0)),
            "must follow every binary layer; found none",
        ),
        (
            nn.Sequential(ThermometerConv2d(1, 4, 3, levels=3), nn.ReLU()),
            "without a sign: ReLU",
        ),
        (nn.Sequential(ThermometerConv2d(1, 4, 3, levels=3), Sign(), nn.ReLU()), "ReLU as module 2 is not supported"),
        (nn.Sequential(ThermometerConv2d(1, 4, 3, levels=3), nn.MaxPool2d(3), Sign()), "only maximum pooling of 2x2"),
    ],
)
def test_networks_without_a_form_for_devices_are_refused(module: nn.Module, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DeviceNetwork.of_module(module, 8)
