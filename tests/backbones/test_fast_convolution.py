"""Convolutions with fewer products, against torch's in double precision."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
import torch
from torch import nn

from bitreplay._kernels import winograd
from bitreplay._kernels.lanes import LANES
from bitreplay.backbones import _fast_convolution
from bitreplay.backbones._convolution import dense_2x2
from bitreplay.backbones._fast_convolution import small_maps, small_maps_halved, tiles
from bitreplay.backbones._few_products import LARGEST, few_products


def draw(*shape, seed=0, last=True):
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return drawn.to(memory_format=torch.channels_last) if last else drawn


def with_gradients(convolve, maps, weight, upstream):
    maps, weight = maps.detach().requires_grad_(), weight.detach().requires_grad_()
    output = convolve(maps, weight)
    return output.detach(), *torch.autograd.grad(output, (maps, weight), upstream)


def assert_is_the_convolution(convolve, maps, weight, tolerance, stride=1):
    upstream = draw(len(maps), len(weight), *(-(-size // stride) for size in maps.shape[2:]), seed=2)
    convolved = partial(nn.functional.conv2d, padding=1, stride=stride)
    found = with_gradients(convolve, maps, weight, upstream)
    exact = with_gradients(convolved, maps.double(), weight.double(), upstream.double())
    assert {mine.dtype for mine in found} == {maps.dtype}
    assert_alike(found, exact, tolerance)


def assert_alike(found, expected, tolerance=2e-5):
    for mine, true in zip(found, expected, strict=True):
        assert mine.shape == true.shape
        assert float((mine - true).abs().max() / true.abs().max()) < tolerance


@pytest.mark.parametrize("size", [(1, 1), (3, 9), (4, 4), (5, 8), (7, 7), (12, 12), (32, 6)])
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (16, 40)])
@pytest.mark.parametrize("last", [True, False])
def test_tiles_give_the_convolution_and_its_gradients(size, inputs, outputs, last):
    weight = draw(outputs, inputs, 3, 3, seed=1, last=last)
    assert_is_the_convolution(tiles, draw(3, inputs, *size, last=last), weight, 2e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 8), (16, 40)])
@pytest.mark.parametrize("last", [True, False])
def test_small_maps_give_the_convolution_and_its_gradients(size, inputs, outputs, last):
    maps, weight = draw(5, inputs, size, size, last=last), draw(outputs, inputs, 3, 3, seed=1, last=last)
    assert_is_the_convolution(small_maps, maps, weight, 2e-5 if size > 2 else 2e-6)
    assert_is_the_convolution(small_maps_halved, maps, weight, 2e-6, stride=2)
    if size == 2:
        assert_is_the_convolution(dense_2x2, maps, weight, 2e-6)


@pytest.mark.parametrize("convolve", [small_maps, small_maps_halved])
def test_small_maps_may_lie_in_any_way(convolve):
    stride = 1 if convolve is small_maps else 2
    maps = {
        "one image": draw(1, 8, 3, 3),
        "every second": draw(6, 8, 6, 6)[::2, :, ::2, 1::2],
        "turned": draw(3, 8, 3, 3).transpose(2, 3),
        "repeated": draw(1, 8, 3, 3).expand(4, -1, -1, -1),
    }
    weight = draw(8, 8, 3, 3, seed=1).transpose(0, 1)
    for given in maps.values():
        assert_is_the_convolution(convolve, given, weight, 2e-5, stride)
    output = convolve(maps["one image"], weight.requires_grad_())
    (found,) = torch.autograd.grad(output.sum(), weight)  # from one number, repeated
    exact = nn.functional.conv2d(maps["one image"], weight, padding=1, stride=stride)
    torch.testing.assert_close(found, torch.autograd.grad(exact.sum(), weight)[0], rtol=1e-4, atol=1e-4)


def test_small_maps_compute_and_keep_only_what_is_needed():
    maps, weight = draw(2, 8, 3, 3), draw(8, 8, 3, 3, seed=1)
    for moving in (maps, weight):
        one, other = (t.detach().requires_grad_(t is moving) for t in (maps, weight))
        output = small_maps(one, other)
        assert [tensor is not None for tensor in output.grad_fn.saved_tensors[2:]] == [moving is weight, moving is maps]
        output.sum().backward()
        assert (one.grad is None, other.grad is None) == (moving is weight, moving is maps)


def test_few_products_are_few_and_fit_into_the_rows_that_a_kernel_works_in():
    assert [len(few_products(size, 1).maps) for size in (1, 2, 3, 4, 5, 6)] == [1, 3, 5, 6, 7, 8]
    assert [len(few_products(size, 2).maps) for size in (1, 2, 3, 4)] == [1, 2, 4, 5]
    for size in range(1, LARGEST + 1):
        for stride in (1, 2):
            way = few_products(size, stride)
            assert max(way.maps.size, way.kernels.size, way.outputs.size) <= winograd.WORK_ROWS
    with pytest.raises(ValueError, match="more than 6 x 6"):
        few_products(LARGEST + 1, 1)


def test_second_derivatives_know_the_stride():
    weight, penalties = draw(8, 8, 3, 3, seed=1).requires_grad_(), []
    for convolve in (small_maps_halved, partial(nn.functional.conv2d, padding=1, stride=2)):
        maps = draw(2, 8, 3, 3).requires_grad_()
        (gradient,) = torch.autograd.grad(convolve(maps, weight).square().sum(), maps, create_graph=True)
        penalties.append(torch.autograd.grad(gradient.square().sum(), weight)[0])
    torch.testing.assert_close(*penalties, rtol=1e-4, atol=1e-4)


def test_chunks_change_no_more_than_rounding(monkeypatch):
    given = draw(5, 16, 9, 12), draw(8, 16, 3, 3, seed=1), draw(5, 8, 9, 12, seed=2)
    at_once = with_gradients(tiles, *given)
    monkeypatch.setattr(_fast_convolution, "CHUNK", 1)
    monkeypatch.setattr(_fast_convolution, "FEWEST", 7)
    assert_alike(with_gradients(tiles, *given), at_once)


@pytest.mark.parametrize(("way", "size"), [(tiles, 8), (small_maps, 2)])
def test_calls_do_not_disturb_each_other(way, size):
    weight, upstream = draw(8, 8, 3, 3, seed=1), draw(2, 8, size, size, seed=2)
    first, other = (draw(2, 8, size, size, seed=seed) for seed in (3, 4))
    alone = with_gradients(way, first, weight, upstream)
    maps = first.detach().requires_grad_()
    output = way(maps, weight)
    kept = output.detach().clone()
    with_gradients(way, other, weight, upstream)  # in between, in the same room
    assert torch.equal(output, kept)
    assert torch.equal(torch.autograd.grad(output, maps, upstream)[0], alone[1])


def test_threads_have_rooms_of_their_own():
    weight, upstream = draw(64, 64, 3, 3, seed=1), draw(8, 64, 16, 16, seed=2)
    given = [draw(8, 64, 16, 16, seed=seed) for seed in range(16)]
    alone = [with_gradients(tiles, maps, weight, upstream) for maps in given]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda maps: with_gradients(tiles, maps, weight, upstream), given))
    for found, expected in zip(together, alone, strict=True):
        assert_alike(found, expected)


def test_room_made_in_inference_mode_or_with_another_default_type_serves_later(monkeypatch):
    maps, weight, upstream = draw(2, 8, 8, 8), draw(8, 8, 3, 3, seed=1), draw(2, 8, 8, 8, seed=2)
    expected = with_gradients(tiles, maps, weight, upstream)
    for make in (torch.inference_mode, lambda: torch.device("meta")):
        monkeypatch.setattr(_fast_convolution, "_kept", _fast_convolution._Kept())
        with make():
            tiles(maps, weight)
        assert_alike(with_gradients(tiles, maps, weight, upstream), expected)


def test_only_the_gradients_that_are_needed_are_computed(monkeypatch):
    calls = []
    for name in ("_convolve", "_weight_gradient"):
        function = getattr(_fast_convolution, name)
        noting = lambda *given, name=name, function=function: calls.append(name) or function(*given)  # noqa: E731
        monkeypatch.setattr(_fast_convolution, name, noting)
    maps, weight = draw(2, 8, 8, 8), draw(8, 8, 3, 3, seed=1)
    tiles(maps, weight.requires_grad_()).sum().backward()
    assert calls == ["_convolve", "_weight_gradient"]
    calls.clear()
    tiles(maps.requires_grad_(), weight.detach()).sum().backward()
    assert calls == ["_convolve", "_convolve"]


def test_the_kernels_have_the_same_sizes():
    ours = _fast_convolution.LANES, _fast_convolution.WORK_ROWS, _fast_convolution.TILE, _fast_convolution.ELEMENTS
    assert ours == (LANES, winograd.WORK_ROWS, winograd.TILE, winograd.SIDE**2)
