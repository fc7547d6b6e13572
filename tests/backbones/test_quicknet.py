"""QuickNet: its shape and size, what Keras means by "same", and the two halves at the tap."""

import math

import pytest
import torch
from torch import nn

from bitreplay.backbones import QuickNet, build_backbone
from bitreplay.backbones._quicknet import BlurPool, ResidualBlock, SameConv2d
from bitreplay.errors import InputError
from bitreplay.nn import binary_layers, size_report

TINY = {"blocks": (1, 2, 1, 2), "filters": (16, 32, 64, 128), "image_size": 64, "n_classes": 7}


def tiny(seed=0, **options):
    """A small QuickNet whose batch normalisations are not the identity."""
    network = build_backbone(
        "quicknet", weights=None, generator=torch.Generator().manual_seed(seed), **{**TINY, **options}
    )
    generator = torch.Generator().manual_seed(seed + 1)
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(generator=generator)
            layer.running_var.uniform_(0.5, 20, generator=generator)
            if layer.affine:
                nn.init.normal_(layer.weight, generator=generator)
                nn.init.normal_(layer.bias, generator=generator)
    return network.eval()


def images(n=2, size=64, seed=0):
    return torch.randn(n, 3, size, size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("name", "parameters", "size", "giga_macs"),
    # larq-zoo's table of models; MACs as larq's summary counts them
    [
        ("quicknet_small", 12_655_688, "4.00", 1.17),
        ("quicknet", 13_234_088, "4.17", 1.88),
        ("quicknet_large", 23_342_248, "5.40", 3.73),
    ],
)
def test_sizes_are_the_published_ones(name, parameters, size, giga_macs):
    report = size_report(build_backbone(name, weights=None).whole, (3, 224, 224))
    assert report.parameters == parameters
    assert f"{report.bits / 8 / 2**20:.2f}" == size
    assert report.macs / 1e9 == pytest.approx(giga_macs, abs=0.005)


def test_the_tap_of_the_large_network_is_the_papers():
    network = build_backbone("quicknet_large", weights=None)
    assert network.n_features == 12544
    assert network.shape == (256, 7, 7)
    tail = network.tail(12544, 10)
    assert sum(layer.weight.numel() for layer in binary_layers(tail)) == 6 * 512 * 512 * 9
    assert build_backbone("quicknet_large", weights=None, tap="output").n_features == 25088


@pytest.mark.parametrize("size", [32, 63, 64, 97, 128, 130])
@pytest.mark.parametrize("tap", ["input", "output", "pooled"])
def test_features_are_as_many_as_declared(tap, size):
    network = tiny(tap=tap, image_size=size)
    with torch.no_grad():
        features = network(images(1, size))
    assert features.shape == (1, network.n_features) == (1, math.prod(network.shape))


@pytest.mark.parametrize("size", [7, 8])
def test_same_means_what_keras_means(size):
    # Keras: pad = (ceil(n/2) - 1) * 2 + 3 - n in all, the smaller half of it on the left.
    layer = SameConv2d(1, 1).requires_grad_(False)
    maps = images(1, size)[:, :1]
    total = (math.ceil(size / 2) - 1) * 2 + 3 - size
    left = total // 2
    padded = torch.zeros(size + 2, size + 2)
    padded[left : left + size, left : left + size] = maps[0, 0]
    expected = [
        [(padded[r : r + 3, c : c + 3] * layer.weight[0, 0]).sum() for c in range(0, size, 2)]
        for r in range(0, size, 2)
    ]
    torch.testing.assert_close(layer(maps)[0, 0], torch.tensor(expected))


def test_a_block_by_hand():
    block = ResidualBlock(2).eval()
    nn.init.uniform_(block.normalise.weight, 0.5, 2, generator=torch.Generator().manual_seed(0))
    block.normalise.running_mean.fill_(3.0)
    maps = images(1, 4)[:, :2]
    maps[0, 0, 1, 1] = 0.0  # counts as +1
    signs = torch.ones(1, 2, 6, 6)  # the border is +1, not 0
    signs[:, :, 1:-1, 1:-1] = torch.where(maps >= 0, 1.0, -1.0)
    sums = nn.functional.conv2d(signs, torch.where(block.convolution.weight >= 0, 1.0, -1.0))
    scale = block.normalise.weight.view(1, 2, 1, 1) / (1 + 1e-5) ** 0.5
    torch.testing.assert_close(block(maps), maps + (sums.clamp(min=0) - 3) * scale)  # ReLU before the normalisation


def test_the_pool_by_hand():
    maps = images(1, 6)[:, :2]
    greatest = nn.functional.max_pool2d(maps.clamp(min=0), 2, 1)  # 5 x 5: an odd size is padded on both sides
    padded = nn.functional.pad(greatest, (1, 1, 1, 1))
    kernel = torch.tensor([1.0, 2.0, 1.0])[:, None] * torch.tensor([1.0, 2.0, 1.0]) / 16
    expected = [[(padded[0, 1, r : r + 3, c : c + 3] * kernel).sum() for c in (0, 2, 4)] for r in (0, 2, 4)]
    torch.testing.assert_close(BlurPool(2)(maps)[0, 1], torch.tensor(expected))


@pytest.mark.parametrize("tap", ["input", "output", "pooled"])
def test_features_and_tail_are_the_whole_network(tap):
    network = tiny(tap=tap)
    tail = network.tail(network.n_features, 7).eval()
    tail.dense.load_state_dict(network.dense.state_dict())
    with torch.no_grad():
        assert torch.equal(tail(network(images())), network.whole(images()))


def test_the_tail_is_a_copy_that_can_be_trained():
    network = tiny().requires_grad_(False)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    tail = network.tail(network.n_features, 3).train()
    optimizer = torch.optim.SGD(tail.parameters(), lr=0.1)
    tail(network(images())).logsumexp(1).sum().backward()
    optimizer.step()
    assert all(parameter.grad is not None for parameter in tail.parameters())
    assert not torch.equal(tail.layers.project_4.weight, network.layers.project_4.weight)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_signs_are_all_that_features_need():
    network = tiny()
    before = network(images())
    network.freeze_features()
    assert torch.equal(network(images()), before)
    assert set(network.layers.block_1_1.convolution.weight.unique().tolist()) == {-1.0, 1.0}
    assert len(network.layers.block_4_1.convolution.weight.unique()) > 2  # the tail will be trained


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="blocks must be four"):
        QuickNet((1, 2, 3))
    with pytest.raises(InputError, match="multiple of 4"):
        QuickNet(filters=(6, 32, 64, 128))
    with pytest.raises(InputError, match="tap must be one of input, output, pooled; got 'middle'"):
        QuickNet(tap="middle")
    with pytest.raises(InputError, match="at least 32"):
        QuickNet(image_size=16)
    network = tiny()
    with pytest.raises(InputError, match=r"made for 64 pixels; got images \(32, 32\)"):
        network(images(1, 32))
    with pytest.raises(InputError, match="takes 256 values"):
        network.tail(255, 3)
