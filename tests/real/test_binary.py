"""The packed form of the fully binary network on real images."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch

from bitreplay.backbones import BACKBONES, build_backbone
from bitreplay.data import load_dataset
from bitreplay.nn import pack_network


@pytest.mark.parametrize("options", [{}, {"batch_norm": False}, {"widths": (128, 256, 512), "bottleneck": "stride"}])
def test_packed_bits_of_cifar_100_are_those_of_torch(options: dict[str, object]) -> None:
    if not os.environ.get("BITREPLAY_DATA"):
        pytest.skip("$BITREPLAY_DATA is not set")
    images = np.array(load_dataset("cifar100").test.images[:64])
    pixels = BACKBONES["binary_vgg"].preprocessing(torch.from_numpy(images))
    network = build_backbone("binary_vgg", **options, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        network.train()(pixels)  # statistics for batch normalisation
        features = network.eval()(pixels)
    bits = pack_network(network)(images).unpack()
    np.testing.assert_array_equal(bits, features.numpy() > 0)
    assert len(np.unique(bits, axis=0)) > 60  # images are told apart
