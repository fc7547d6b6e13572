"""The 3x3 convolution in its three ways, against torch's in double precision."""

import itertools

import pytest
import torch
from torch import nn

from bitreplay._kernels.lanes import LANES
from bitreplay.backbones import _convolution
from bitreplay.backbones._convolution import Convolution3x3, Karatsuba, Winograd


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(memory_format=torch.channels_last)


def with_gradients(convolve, maps, weight, upstream):
    maps, weight = maps.detach().requires_grad_(), weight.detach().requires_grad_()
    output = convolve(maps, weight)
    return output.detach(), *torch.autograd.grad(output, (maps, weight), upstream)


def assert_is_the_convolution(convolve, maps, weight, tolerance):
    upstream = draw(len(maps), len(weight), *maps.shape[2:], seed=2)
    found = with_gradients(convolve, maps, weight, upstream)
    exact = with_gradients(
        lambda x, w: nn.functional.conv2d(x, w, padding=1), maps.double(), weight.double(), upstream.double()
    )
    for mine, true in zip(found, exact, strict=True):
        assert mine.dtype == maps.dtype
        assert mine.shape == true.shape
        assert float((mine - true).abs().max() / true.abs().max()) < tolerance


@pytest.mark.parametrize("size", [(1, 1), (3, 9), (4, 4), (5, 8), (7, 7), (12, 12), (32, 6)])
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (16, 40)])
def test_tiles_give_the_convolution_and_its_gradients(size, inputs, outputs):
    assert_is_the_convolution(Winograd.apply, draw(3, inputs, *size), draw(outputs, inputs, 3, 3, seed=1), 1e-4)


@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (16, 40)])
def test_2x2_maps_give_the_convolution_and_its_gradients(inputs, outputs):
    assert_is_the_convolution(Karatsuba.apply, draw(5, inputs, 2, 2), draw(outputs, inputs, 3, 3, seed=1), 1e-5)


def test_chunks_and_threads_change_no_more_than_rounding(monkeypatch):
    maps, weight, upstream = draw(5, 16, 9, 12), draw(8, 16, 3, 3, seed=1), draw(5, 8, 9, 12, seed=2)
    before, found = torch.get_num_threads(), []
    for threads, fewest in itertools.product((1, 2, 3), (128, 7)):
        torch.set_num_threads(threads)
        monkeypatch.setattr(_convolution, "CHUNK", 1)
        monkeypatch.setattr(_convolution, "FEWEST", fewest)
        found.append(with_gradients(Winograd.apply, maps, weight, upstream))
    torch.set_num_threads(before)
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("maps", "outputs", "way"),
    [
        ((2, 8, 12, 12), 16, "Winograd"),
        ((2, 8, 7, 7), 16, "Winograd"),  # 64 outputs computed for 49
        ((2, 8, 6, 6), 16, None),  # 64 for 36
        ((2, 8, 2, 2), 16, "Karatsuba"),
        ((2, 4, 12, 12), 16, None),
        ((2, 8, 12, 12), 12, None),
        ((2, 4, 2, 2), 16, None),
    ],
)
def test_each_way_is_used_where_it_fits_and_pays(maps, outputs, way):
    layer = Convolution3x3(maps[1], outputs).train()
    name = layer(draw(*maps)).grad_fn.name()
    assert name == (f"{way}Backward" if way else "ConvolutionBackward0")
    assert layer.double()(draw(*maps).double()).grad_fn.name() == "ConvolutionBackward0"


def test_no_images_are_no_error():
    assert Convolution3x3(8, 16).train()(torch.zeros(0, 8, 12, 12)).shape == (0, 16, 12, 12)


def test_a_layer_uses_tiles_in_training_only():
    layer, maps = Convolution3x3(8, 8).to(memory_format=torch.channels_last), draw(2, 8, 8, 8)
    exact = nn.functional.conv2d(maps, layer.weight, padding=1)
    trained = layer.train()(maps)
    assert trained.grad_fn.name() == "WinogradBackward"
    assert not torch.equal(trained, exact)
    torch.testing.assert_close(trained, exact, rtol=1e-4, atol=1e-4)
    assert torch.equal(layer.eval()(maps), exact)


def test_a_layer_of_stride_2_and_one_under_autocast_are_torchs():
    maps = draw(2, 8, 8, 8)
    strided = Convolution3x3(8, 8, stride=2).train()
    assert torch.equal(strided(maps), nn.functional.conv2d(maps, strided.weight, padding=1, stride=2))
    layer = Convolution3x3(8, 8).train()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=True):
        assert "Winograd" not in layer(maps.requires_grad_()).grad_fn.name()


def test_a_frozen_layer_passes_gradients_on_and_has_none():
    layer = Convolution3x3(8, 8).train().requires_grad_(False)
    maps = draw(2, 8, 8, 8).requires_grad_()
    layer(maps).sum().backward()
    assert layer.weight.grad is None
    reference = draw(2, 8, 8, 8).requires_grad_()
    nn.functional.conv2d(reference, layer.weight, padding=1).sum().backward()
    torch.testing.assert_close(maps.grad, reference.grad, rtol=1e-4, atol=1e-4)


def test_kernels_take_as_many_channels_at_a_time():
    assert _convolution.LANES == LANES
