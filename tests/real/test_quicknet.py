"""QuickNet against outputs of the reference implementation (larq-zoo 2.3.3), where `$BITREPLAY_QUICKNET_FIXTURE` names
the folder with a miniature network's weights and outputs; QuickNet v0.2 against a runner of its operations, where
`$BITREPLAY_QUICKNET_V02` names the folder with `quicknet_v02.npz` and `run_quicknet.py`.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay.backbones import build_backbone
from bitreplay.nn import BinaryConv2d

FIXTURE = os.environ.get("BITREPLAY_QUICKNET_FIXTURE")
V02 = os.environ.get("BITREPLAY_QUICKNET_V02")


@pytest.mark.skipif(not FIXTURE, reason="$BITREPLAY_QUICKNET_FIXTURE is not set")
def test_every_layer_gives_what_larq_gives() -> None:
    pytest.importorskip("h5py")
    folder = Path(str(FIXTURE))
    reference = np.load(folder / "tiny_quicknet_io.npz")
    network = build_backbone(
        "quicknet",
        weights=str(folder / "tiny_quicknet_1-2-1-2_16-32-64-128.h5"),
        blocks=(1, 2, 1, 2),
        filters=(16, 32, 64, 128),
        image_size=64,
        n_classes=7,
    ).eval()
    outputs: list[tuple[bool, torch.Tensor]] = []
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | BinaryConv2d):
            layer.register_forward_hook(lambda one, _, y: outputs.append((isinstance(one, BinaryConv2d), y)))
    with torch.no_grad():
        probabilities = network.whole(torch.from_numpy(reference["x"]).permute(0, 3, 1, 2)).softmax(1)
    np.testing.assert_allclose(probabilities.numpy(), reference["probs"], atol=1e-4)
    names = [name for name in reference.files if "conv2d" in name]  # in the order of the layers
    assert len(names) == len(outputs) == 15
    assert sum(binary for binary, _ in outputs) == 6
    for name, (binary, output) in zip(names, outputs, strict=True):
        found = output.permute(0, 2, 3, 1).numpy()
        if binary:
            np.testing.assert_array_equal(np.maximum(found, 0), reference[name], err_msg=name)  # after its ReLU
        else:
            np.testing.assert_allclose(found, reference[name], atol=1e-4, err_msg=name)


@pytest.mark.skipif(not V02, reason="$BITREPLAY_QUICKNET_V02 is not set")
@pytest.mark.parametrize("size", [128, 224])
def test_version_02_gives_what_its_runner_gives(size: int) -> None:
    folder = Path(str(V02))
    found = importlib.util.spec_from_file_location("run_quicknet", folder / "run_quicknet.py")
    assert found is not None
    assert found.loader is not None
    runner = importlib.util.module_from_spec(found)
    found.loader.exec_module(runner)
    weights = str(folder / "quicknet_v02.npz")
    blocks = np.random.default_rng(0).integers(0, 256, (2, size // 8, size // 8, 3))
    images = runner.preprocess(blocks.repeat(8, 1).repeat(8, 2).astype(np.uint8))
    scores, taps = runner.QuickNet(weights)(images, taps=True)
    for tap in (1, 2, 3):
        network = build_backbone("quicknet_v02", weights=weights, tap=tap, image_size=size).eval()
        with torch.no_grad():
            np.testing.assert_array_equal(network(images), taps[f"bconv{9 + tap}.in"].flatten(1))
            torch.testing.assert_close(network.whole(images), scores, rtol=1e-4, atol=1e-4)
