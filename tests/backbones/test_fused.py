"""A convolution with its normalisation and ReLU6 in one step computes what the three compute."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from bitreplay.backbones import EfficientNetLite0
from bitreplay.backbones._fused import FusedConvolution

TOLERANCE = 1e-5  # of the largest value: what docs/pictures.md states for features


def random_pair(channels: int, groups: int, kernel: int, stride: int) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    torch.manual_seed(kernel)
    convolution, norm = nn.Conv2d(channels, 2 * channels, kernel, stride, groups=groups), nn.BatchNorm2d(2 * channels)
    for values in (norm.weight, norm.bias, norm.running_mean):
        nn.init.normal_(values)  # type: ignore[arg-type]
    nn.init.uniform_(norm.running_var, 0.5, 2)  # type: ignore[arg-type]
    return convolution.requires_grad_(False), norm.eval().requires_grad_(False)


@pytest.mark.parametrize("padding", [(0, 0, 0, 0), (1, 1, 1, 1), (0, 1, 0, 1), (1, 2, 1, 2)])
@pytest.mark.parametrize(("groups", "stride"), [(1, 1), (4, 2)])
@pytest.mark.parametrize("fast", [True, False])
def test_one_step_is_three(
    padding: tuple[int, int, int, int], groups: int, stride: int, fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: fast)
    convolution, norm = random_pair(4, groups, 3 + padding[1], stride)
    maps = 3 * torch.randn(3, 4, 13, 12).contiguous(memory_format=torch.channels_last)
    for relu6, function in ((False, nn.Identity()), (True, nn.ReLU6())):
        fused = FusedConvolution(convolution, norm, padding=padding, relu6=relu6)
        for some in (maps, maps[:1, :, :9]):  # its weights are laid out for each size
            expected = function(norm(convolution(nn.functional.pad(some, padding))))
            torch.testing.assert_close(fused(some), expected, rtol=1e-4, atol=1e-4)


def test_the_fused_network_is_the_network() -> None:
    network = EfficientNetLite0().eval().requires_grad_(False)
    images = torch.randn(5, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        expected, found = network(images), network.for_inference()(images.contiguous(memory_format=torch.channels_last))
    assert (found - expected).abs().max() < TOLERANCE * expected.abs().max()
    assert expected.abs().max() > 1
