import numpy as np
import pytest
import torch
from torch import nn

from bitreplay.backbones import BinaryVGG, build_backbone
from bitreplay.backbones._build import BACKBONES
from bitreplay.errors import InputError
from bitreplay.nn import BinaryConv2d, BinaryLinear, pack_network

SMALL = {"widths": (16, 24), "groups": (1, 4), "n_features": 70, "levels": 9, "image_size": 8}


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("bottleneck", ["mean", "stride"])
@pytest.mark.parametrize("colours", [1, 3])
def test_packed_it_gives_the_same_bits(batch_norm, bottleneck, colours):
    network = build_backbone(
        "binary_vgg",
        **SMALL,
        batch_norm=batch_norm,
        bottleneck=bottleneck,
        in_channels=colours,
        generator=torch.Generator().manual_seed(0),
    )
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8, colours), dtype=np.uint8)
    pixels = BACKBONES["binary_vgg"].preprocessing(torch.from_numpy(images))
    with torch.no_grad():
        network.train()(pixels)
        features = network.eval()(pixels)
    assert set(features.unique().tolist()) == {-1.0, 1.0}
    bits = pack_network(network)(images)
    assert bits.shape == (40, network.n_features)
    np.testing.assert_array_equal(bits.unpack(), features.numpy() > 0)
    assert np.abs(bits.unpack()[0].astype(int) - bits.unpack()[1]).mean() > 0.02  # images are told apart


def test_the_defaults_are_the_reconstruction_of_the_1_mb_network():
    layers = [m for m in BinaryVGG() if isinstance(m, BinaryConv2d | BinaryLinear)]
    shapes = [tuple(layer.weight.shape) for layer in layers]
    assert shapes == [
        (64, 255, 3, 3),
        (64, 64, 3, 3),
        (128, 32, 3, 3),
        (128, 64, 3, 3),
        (256, 32, 3, 3),
        (256, 64, 3, 3),
        (256, 1, 4, 4),
        (1024, 256),
    ]
    assert not any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in BinaryVGG(batch_norm=False))


def test_every_layer_gets_a_gradient():
    network = BinaryVGG(**SMALL, batch_norm=False)
    target = torch.randn(16, 70)
    (network(torch.rand(16, 3, 8, 8)) * target).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in network.parameters())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widths": (16,)}, "widths and groups"),
        ({"groups": (2, 4)}, "first block"),
        ({"bottleneck": "none"}, "bottleneck"),
        ({"image_size": 3}, "halved"),
        ({"levels": 0}, "levels"),
        ({"groups": (1, 5)}, "5 groups"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        BinaryVGG(**{**SMALL, **options})
