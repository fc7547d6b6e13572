import numpy as np
import pytest
import torch
from torch import nn

from bitreplay.errors import InputError
from bitreplay.nn import (
    BinaryClassifier,
    BinaryConv2d,
    BinaryLinear,
    LearnableThreshold,
    ThermometerConv2d,
    heaviside,
    keep_clipped,
    sign,
)
from bitreplay.nn._thermometer import pixel_thresholds


def signs(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 2.0 * torch.randint(0, 2, shape, generator=generator) - 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_sign_of_zero_is_one_even_of_negative_zero(dtype):
    x = torch.tensor([0.0, -0.0, -1e-30, 1e-30], dtype=dtype)
    assert sign(x).tolist() == [1, 1, -1, 1]
    assert sign(x).dtype == dtype
    assert heaviside(x).tolist() == [1, 1, 0, 1]


@pytest.mark.parametrize("clip", [0.5, 1.0, 1.25])
@pytest.mark.parametrize("function", [sign, heaviside])
def test_the_gradient_passes_up_to_the_clip_and_not_beyond(function, clip):
    x = torch.tensor([-2.0, -clip, -0.1, 0.0, 0.3, clip, 1.01 * clip], requires_grad=True)
    upstream = torch.arange(1.0, 8.0)
    function(x, clip).backward(upstream)
    assert x.grad.tolist() == [0, 2, 3, 4, 5, 6, 0]


@pytest.mark.parametrize(("padding", "stride", "groups"), [(0, 1, 1), (1, 1, 2), (2, 2, 4), (1, 3, 1)])
def test_a_convolution_pads_with_ones_after_taking_signs(padding, stride, groups):
    layer = BinaryConv2d(4, 8, 3, stride=stride, padding=padding, groups=groups)
    x = torch.randn(2, 4, 7, 6)
    padded = nn.functional.pad(torch.where(x >= 0, 1.0, -1.0), [padding] * 4, value=1.0)
    weight = torch.where(layer.weight >= 0, 1.0, -1.0)
    assert torch.equal(layer(x), nn.functional.conv2d(padded, weight, stride=stride, groups=groups))


def test_gradients_of_a_padded_convolution_are_those_of_the_plain_form():
    layer = BinaryConv2d(3, 4, 3, padding=1).double()
    x = (0.8 * torch.randn(2, 3, 5, 5, dtype=torch.float64)).requires_grad_()
    upstream = torch.randn(2, 4, 5, 5, dtype=torch.float64)
    layer(x).backward(upstream)
    found = x.grad.clone(), layer.weight.grad.clone()
    x.grad = layer.weight.grad = None
    padded = nn.functional.pad(sign(x), [1] * 4, value=1.0)
    nn.functional.conv2d(padded, sign(layer.weight)).backward(upstream)
    torch.testing.assert_close(found, (x.grad, layer.weight.grad))
    assert (x.grad[x.abs() > 1] == 0).all()


def test_a_linear_layer_takes_signs_of_input_and_weights():
    layer = BinaryLinear(5, 3)
    x = torch.randn(4, 5)
    assert torch.equal(layer(x), torch.where(x >= 0, 1.0, -1.0) @ torch.where(layer.weight >= 0, 1.0, -1.0).T)
    as_it_is = BinaryLinear(5, 3, binarize_input=False)
    torch.testing.assert_close(as_it_is(x), x @ sign(as_it_is.weight).T)


def test_latent_weights_are_clipped_after_each_step_each_to_its_own_bound():
    network = nn.Sequential(BinaryLinear(4, 4, clip=0.5), nn.Linear(4, 4), BinaryLinear(4, 4))
    optimizer = keep_clipped(torch.optim.SGD(network.parameters(), lr=100.0), network)
    assert isinstance(optimizer, torch.optim.SGD)
    network(torch.randn(8, 4)).square().sum().backward()
    optimizer.step()
    assert network[0].weight.abs().max() <= 0.5
    assert network[2].weight.abs().max() == 1
    assert network[1].weight.abs().max() > 1  # not a binary layer


def test_training_lowers_the_loss():
    torch.manual_seed(0)
    x, y = signs(200, 32), torch.arange(200) % 4
    x[:, :8] = signs(4, 8, seed=1)[y]
    network = nn.Sequential(BinaryLinear(32, 64), nn.BatchNorm1d(64), BinaryLinear(64, 4), nn.BatchNorm1d(4))
    optimizer = keep_clipped(torch.optim.Adam(network.parameters(), lr=0.01), network)
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert all(layer.weight.abs().max() <= 1 for layer in (network[0], network[2]))


def test_a_learnable_threshold_is_learned_by_channel():
    layer = LearnableThreshold(3)
    layer(torch.zeros(2, 3, 4, 5)).sum().backward()
    assert layer.threshold.grad.tolist() == [-40, -40, -40]


@pytest.mark.parametrize("levels", [1, 2, 3, 7, 85, 255])
def test_thresholds_of_pixels_are_even_and_lie_between_bytes(levels):
    thresholds = pixel_thresholds(levels)
    naive = [min(v for v in range(256) if 2 * v * levels >= (2 * j + 1) * 255) for j in range(levels)]
    assert thresholds.tolist() == naive
    layer = ThermometerConv2d(1, 1, 1, levels=levels)
    pixels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)
    code = layer.code(pixels.float() / 255).view(levels, 256)
    assert torch.equal(code > 0, torch.arange(256) >= torch.from_numpy(thresholds)[:, None])


@pytest.mark.parametrize(
    ("stride", "padding", "size", "colours", "levels"), [(1, 1, 3, 3, 85), (2, 0, 3, 1, 7), (1, 2, 5, 2, 4)]
)
def test_looking_up_codes_is_convolving_them(stride, padding, size, colours, levels):
    layer = ThermometerConv2d(colours, 6, size, stride=stride, padding=padding, levels=levels)
    images = torch.rand(2, colours, 9, 7)
    upstream = None
    results = []
    for sums in (layer(images), BinaryConv2d.forward(layer, layer.code(images))):
        upstream = torch.randn_like(sums) if upstream is None else upstream
        layer.weight.grad = None
        sums.backward(upstream)
        results.append((sums.detach(), layer.weight.grad.clone()))
    assert torch.equal(results[0][0], results[1][0])
    torch.testing.assert_close(results[0][1], results[1][1], rtol=1e-4, atol=1e-4)
    double = ThermometerConv2d(colours, 6, size, stride=stride, padding=padding, levels=levels).double()
    double.weight.data = layer.weight.data.double()
    double(images.double()).backward(upstream.double())  # the way of other devices
    np.testing.assert_allclose(double.weight.grad.numpy(), layer.weight.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_what_cannot_be_is_refused():
    for make, message in (
        (lambda: BinaryConv2d(0, 4, 3), "in_channels"),
        (lambda: BinaryConv2d(4, 4, 3, groups=3), "groups"),
        (lambda: BinaryConv2d(4, 4, 3, padding=-1), "padding"),
        (lambda: BinaryConv2d(4, 4, 3, clip=0.0), "clip"),
        (lambda: BinaryLinear(4, -1), "out_features"),
        (lambda: LearnableThreshold(0), "channels"),
        (lambda: BinaryClassifier(4, 3, hidden=0), "hidden"),
        (lambda: ThermometerConv2d(3, 4, 3, levels=256), "levels"),
        (lambda: ThermometerConv2d(3, 4, 3)(torch.zeros(1, 1, 8, 8)), "images"),
    ):
        with pytest.raises(InputError, match=message):
            make()
