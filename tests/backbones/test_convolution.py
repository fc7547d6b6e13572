"""The 3x3 convolution in its three ways, against torch's in double precision."""

import pytest
import torch
from torch import nn

from bitreplay._kernels.lanes import LANES
from bitreplay.backbones import _convolution
from bitreplay.backbones._convolution import (
    Convolution3x3,
    Karatsuba,
    Winograd,
    dense_2x2,
)


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


@pytest.mark.parametrize("convolve", [Karatsuba.apply, dense_2x2])
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (16, 40)])
def test_2x2_maps_give_the_convolution_and_its_gradients(convolve, inputs, outputs):
    assert_is_the_convolution(convolve, draw(5, inputs, 2, 2), draw(outputs, inputs, 3, 3, seed=1), 1e-5)


def test_chunks_change_no_more_than_rounding(monkeypatch):
    given = draw(5, 16, 9, 12), draw(8, 16, 3, 3, seed=1), draw(5, 8, 9, 12, seed=2)
    at_once = with_gradients(Winograd.apply, *given)
    monkeypatch.setattr(_convolution, "CHUNK", 1)
    monkeypatch.setattr(_convolution, "FEWEST", 7)
    torch.testing.assert_close(with_gradients(Winograd.apply, *given), at_once, rtol=1e-4, atol=1e-4)


def test_the_gradient_of_one_call_survives_the_next():
    maps, weight = draw(2, 8, 8, 8), draw(8, 8, 3, 3, seed=1)
    first = with_gradients(Winograd.apply, maps, weight, draw(2, 8, 8, 8, seed=2))
    copies = [value.clone() for value in first]
    with_gradients(Winograd.apply, 3 * maps, weight, draw(2, 8, 8, 8, seed=3))  # in the same room
    assert all(torch.equal(mine, copy) for mine, copy in zip(first, copies, strict=True))


@pytest.fixture(params=[1, 2])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "ways"),  # with one thread, with two
    [
        (64, 64, 12, (Winograd.apply, Winograd.apply)),
        (64, 32, 12, (Winograd.apply, None)),
        (64, 24, 12, (None, None)),
        (36, 64, 12, (None, None)),  # eight channels at a time
        (64, 36, 12, (None, None)),
        (64, 64, 7, (Winograd.apply, Winograd.apply)),  # 64 outputs computed for 49
        (64, 64, 6, (None, None)),  # 64 for 36
        (256, 256, 6, (Winograd.apply, None)),
        (256, 256, 1, (None, None)),
        (8, 8, 2, (Karatsuba.apply, Karatsuba.apply)),
        (4, 8, 2, (dense_2x2, dense_2x2)),
    ],
)
def test_each_way_is_used_where_it_fits_and_pays(threads, inputs, outputs, size, ways):
    layer, maps = Convolution3x3(inputs, outputs).train(), torch.zeros(1, inputs, size, size)
    at_rest = dense_2x2 if size == 2 else None  # what is used otherwise
    assert layer._way(maps) == ways[threads - 1]
    assert layer._way(maps.double()) is at_rest
    assert layer._way(maps[:0]) is at_rest
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer._way(maps) is at_rest
    assert layer.eval()._way(maps) is at_rest
    assert Convolution3x3(inputs, outputs, stride=2).train()._way(maps) is None


@pytest.mark.parametrize("size", [2, 12])
def test_no_images_are_no_error(size):
    assert Convolution3x3(64, 64).train()(torch.zeros(0, 64, size, size)).shape == (0, 64, size, size)


def test_a_layer_uses_tiles_in_training_only():
    layer, maps = Convolution3x3(64, 64).to(memory_format=torch.channels_last), draw(2, 64, 8, 8)
    exact = nn.functional.conv2d(maps, layer.weight, padding=1)
    trained = layer.train()(maps)
    assert trained.grad_fn.name() == "WinogradBackward"
    assert not torch.equal(trained, exact)
    torch.testing.assert_close(trained, exact, rtol=1e-4, atol=1e-4)
    assert torch.equal(layer.eval()(maps), exact)


@pytest.mark.parametrize("size", [2, 8])
def test_a_frozen_layer_passes_gradients_on_and_has_none(size):
    layer = Convolution3x3(64, 64).train().requires_grad_(False)
    maps, reference = (draw(2, 64, size, size).requires_grad_() for _ in range(2))
    layer(maps).sum().backward()
    assert layer.weight.grad is None
    nn.functional.conv2d(reference, layer.weight, padding=1).sum().backward()
    torch.testing.assert_close(maps.grad, reference.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [2, 8])
def test_a_layer_whose_input_needs_no_gradient_learns(size):
    layer, maps = Convolution3x3(64, 64).train(), draw(2, 64, size, size)
    layer(maps).sum().backward()
    weight = layer.weight.detach().requires_grad_()
    nn.functional.conv2d(maps, weight, padding=1).sum().backward()
    torch.testing.assert_close(layer.weight.grad, weight.grad, rtol=1e-4, atol=1e-3)


def test_kernels_take_as_many_channels_at_a_time():
    assert _convolution.LANES == LANES
