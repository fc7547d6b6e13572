"""The C library on real images: the fully binary network and every head, bit for bit as Python.

All 10,000 test images of CIFAR-100 under `make test-device`; a few hundred otherwise. The network is not trained: what
counts here is that both compute the same, on maps and bits as images make them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.device.library import COMPILER, CHeadCalls, CMemory, compile_library, embed

from bitreplay import BinaryMemory, ClosedForm, EMOptions
from bitreplay.backbones import BACKBONES, build_backbone
from bitreplay.binarizers import Identity
from bitreplay.bits import PackedBits
from bitreplay.data import load_dataset
from bitreplay.device import DeviceMemory, DeviceNetwork, IntegerHead, words_of
from bitreplay.nn import pack_network


@pytest.mark.skipif(not os.environ.get("BITREPLAY_DATA"), reason="$BITREPLAY_DATA is not set")
@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler: install gcc or clang, or set CC")
def test_pixels_to_class_on_cifar_100(tmp_path: Path) -> None:
    n = 10_000 if os.environ.get("BITREPLAY_TEST_DEVICE") else 200
    library = compile_library(tmp_path, "-O3", "-march=native")
    data = load_dataset("cifar100").test
    images = np.array(data.images[:n])
    network = build_backbone("binary_vgg", generator=torch.Generator().manual_seed(0))
    pixels = BACKBONES["binary_vgg"].preprocessing(torch.from_numpy(images[:128]))
    with torch.no_grad():
        network.train()(pixels)  # statistics for batch normalisation
    bits = pack_network(network.eval())(images)
    assert isinstance(bits, PackedBits)
    np.testing.assert_array_equal(embed(library, DeviceNetwork.of_module(network, 32), images), words_of(bits))

    memory = BinaryMemory(bits=3)
    memory.enrol({label: bits[label::20] for label in range(20)}, EMOptions(n_components=2))
    device = DeviceMemory.from_memory(memory)
    in_c = CMemory(library, device.layout, len(device.words))
    in_c.fill(device)
    np.testing.assert_array_equal(in_c.scores(words_of(bits))[1], device.scores(bits))
    weights, offsets = ClosedForm().fit(memory, Identity(), 0).rows
    for rows in (slice(None), slice(0, 1)):
        for weight_bits in (8, 6, 4):
            head = IntegerHead.of_rows(weights[:, rows], offsets[:, rows], weight_bits)
            np.testing.assert_array_equal(CHeadCalls(library, head).scores(words_of(bits)), head.scores(bits))
