"""Which way a 3x3 convolution takes, and that everything torch does with a network still works whichever it is."""

import copy

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from bitreplay.backbones import ResNet
from bitreplay.backbones._convolution import Convolution3x3, Shortcut, dense_2x2
from bitreplay.backbones._fast_convolution import small_maps, small_maps_halved, tiles
from bitreplay.backbones._resnet import BasicBlock

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


SIZES = [2, 3, 8]  # of maps: in one piece, and in tiles


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(memory_format=torch.channels_last)


def convolved(maps, weight):
    return nn.functional.conv2d(maps, weight, padding=1)


@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "stride", "ways"),  # with one thread, with two
    [
        (64, 64, 12, 1, (tiles, tiles)),
        (64, 32, 12, 1, (tiles, None)),
        (64, 24, 12, 1, (None, None)),
        (36, 64, 12, 1, (None, None)),  # eight channels at a time
        (64, 36, 12, 1, (None, None)),
        (64, 64, 12, 2, (None, None)),
        (64, 64, 7, 1, (tiles, tiles)),  # 64 outputs computed for 49
        (64, 64, 9, 1, (None, None)),  # 144 for 81
        (128, 128, 6, 1, (small_maps, small_maps)),
        (128, 64, 6, 1, (small_maps, None)),
        (48, 48, 6, 1, (None, None)),
        (48, 48, 4, 1, (tiles, None)),
        (128, 128, 4, 2, (small_maps_halved, None)),
        (64, 64, 4, 2, (None, None)),
        (512, 512, 5, 2, (None, None)),
        (16, 16, 3, 2, (small_maps_halved, small_maps_halved)),
        (8, 16, 3, 2, (None, None)),
        (16, 16, 3, 1, (None, None)),
        (16, 16, 2, 1, (small_maps, small_maps)),
        (16, 16, 1, 1, (small_maps, small_maps)),
        (4, 8, 2, 1, (dense_2x2, dense_2x2)),
        (4, 8, 2, 2, (None, None)),
    ],
)
def test_each_way_is_used_where_it_fits_and_pays(inputs, outputs, size, stride, ways):
    layer, maps = Convolution3x3(inputs, outputs, stride).train(), torch.zeros(32, inputs, size, size)
    at_rest = dense_2x2 if (size, stride) == (2, 1) else None  # what is used otherwise
    for threads in (1, 2):
        torch.set_num_threads(threads)
        assert layer._way(maps) == ways[threads - 1]
    assert layer._way(maps.double()) is at_rest
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer._way(maps) is at_rest
    assert layer.eval()._way(maps) is at_rest
    layer.train()
    assert layer._way(maps.to("meta")) is None
    assert layer._way(maps[:0]) is None
    assert layer._way(maps[0]) is None


def test_only_square_maps_of_many_images_are_computed_in_one_piece():
    layer = Convolution3x3(64, 64).train()
    assert layer._way(torch.zeros(32, 64, 4, 4)) is small_maps
    assert layer._way(torch.zeros(32, 64, 4, 3)) is tiles
    assert layer._way(torch.zeros(32, 64, 2, 1)) is None
    assert layer._way(torch.zeros(31, 64, 4, 4)) is tiles
    assert layer._way(torch.zeros(31, 64, 3, 3)) is None


@pytest.mark.parametrize("layer", [Convolution3x3(64, 64), Shortcut(64, 64, 2)])
@pytest.mark.parametrize("maps", [torch.zeros(32, 32, 2, 2), torch.zeros(32, 64, 0, 2)])
def test_maps_that_do_not_fit_get_torchs_error(layer, maps):
    with pytest.raises(RuntimeError) as ours:
        layer.train()(maps)
    with pytest.raises(RuntimeError) as theirs:
        nn.Conv2d.forward(layer, maps)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_torchs_tensors_without_numbers_and_its_older_forward_mode_see_through_a_layer():
    layer, maps = Convolution3x3(64, 64).train(), draw(32, 64, 3, 3)
    weight, tangent = layer.weight.detach(), draw(32, 64, 3, 3, seed=1)
    with torch.autograd.forward_ad.dual_level():
        moved = torch.autograd.forward_ad.unpack_dual(layer(torch.autograd.forward_ad.make_dual(maps, tangent))).tangent
    torch.testing.assert_close(moved, convolved(tangent, weight), rtol=1e-4, atol=1e-4)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert layer(mode.from_tensor(maps)).shape == maps.shape


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize(
    "changed",
    [
        {"stride": (3, 3)},
        {"stride": (1, 2)},
        {"padding": (2, 2)},
        {"dilation": (2, 2), "padding": (2, 2)},
        {"bias": nn.Parameter(torch.ones(64))},
        {"padding_mode": "circular", "_reversed_padding_repeated_twice": [1] * 4},
    ],
)
def test_a_layer_that_was_changed_does_as_it_is_told(size, changed):
    layer, maps = Convolution3x3(64, 64).train(), draw(2, 64, size, size)
    for name, value in changed.items():
        setattr(layer, name, value)
    assert torch.equal(layer(maps), nn.Conv2d.forward(layer, maps))


def test_a_layer_that_was_only_dilated_does_as_it_is_told():
    layer, maps = Convolution3x3(64, 64).train(), draw(2, 64, 8, 8)
    layer.dilation = (2, 2)
    assert layer(maps).shape == (2, 64, 6, 6)


@pytest.mark.parametrize("size", [2, 8])
def test_a_single_image_and_none_are_no_error(size):
    layer = Convolution3x3(64, 64).train()
    assert layer(torch.zeros(64, size, size)).shape == (64, size, size)
    assert layer(torch.zeros(0, 64, size, size)).shape == (0, 64, size, size)


def test_a_layer_at_rest_gives_torchs_numbers():
    layer, maps = Convolution3x3(64, 64).to(memory_format=torch.channels_last), draw(2, 64, 8, 8)
    exact = convolved(maps, layer.weight)
    assert not torch.equal(layer.train()(maps), exact)
    torch.testing.assert_close(layer(maps), exact, rtol=1e-4, atol=1e-4)
    assert torch.equal(layer.eval()(maps), exact)


@pytest.mark.parametrize("size", SIZES)
def test_outputs_may_be_changed_in_place(size):
    layer, maps = Convolution3x3(64, 64).train(), draw(32, 64, size, size)
    layer(maps).mul_(2).square().sum().backward()
    weight = layer.weight.detach().requires_grad_()
    (2 * convolved(maps, weight)).square().sum().backward()
    assert float((layer.weight.grad - weight.grad).abs().max() / weight.grad.abs().max()) < 1e-4


@pytest.mark.parametrize("size", SIZES)
def test_a_gradient_can_be_differentiated_again(size):
    layer, weight = Convolution3x3(64, 64).train(), draw(64, 64, 3, 3, seed=1)
    layer.weight = nn.Parameter(weight)
    penalties = []
    for convolve in (layer, lambda maps: convolved(maps, layer.weight)):
        maps = draw(32, 64, size, size).requires_grad_()
        (gradient,) = torch.autograd.grad(convolve(maps).square().sum(), maps, create_graph=True)
        penalties.append(torch.autograd.grad(gradient.square().sum(), layer.weight)[0])
    assert float((penalties[0] - penalties[1]).abs().max() / penalties[1].abs().max()) < 1e-4


@pytest.mark.parametrize("size", SIZES)
def test_a_gradient_may_be_computed_under_autocast(size):
    layer, maps = Convolution3x3(64, 64).train(), draw(32, 64, size, size)
    output = layer(maps)
    (outside,) = torch.autograd.grad(output.sum(), layer.weight, retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (inside,) = torch.autograd.grad(output, layer.weight, torch.ones_like(output))
    torch.testing.assert_close(inside, outside)


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # torch's own use of it
@pytest.mark.parametrize("size", SIZES)
def test_torchs_transforms_see_through_a_layer(size):
    layer, maps = Convolution3x3(64, 64).train(), draw(32, 64, size, size)
    weight, tangent = layer.weight.detach(), draw(32, 64, size, size, seed=1)
    _, moved = torch.func.jvp(layer, (maps,), (tangent,))
    torch.testing.assert_close(moved, convolved(tangent, weight), rtol=1e-4, atol=1e-4)
    each = torch.func.vmap(lambda image: layer(image[None])[0])(maps)
    torch.testing.assert_close(each, convolved(maps, weight), rtol=1e-4, atol=1e-4)
    exported = torch.export.export(layer, (maps,)).module()
    torch.testing.assert_close(exported(maps), convolved(maps, weight), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pixels", [16, 24])  # maps of 16, 8, 4 and 2; of 24, 12, 6 and 3
def test_a_network_trains_as_with_torchs_convolutions(monkeypatch, pixels):
    for name in ("relu", "relu_"):  # without a corner, at which rounding could decide between two gradients
        monkeypatch.setattr(torch, name, nn.functional.softplus)
    network = ResNet(width=32, stem_stride=1).to(memory_format=torch.channels_last).train()
    plain, images = copy.deepcopy(network), draw(32, 3, pixels, pixels)
    network(images).square().sum().backward()
    for layer in (Convolution3x3, Shortcut):
        monkeypatch.setattr(layer, "forward", nn.Conv2d.forward)
    plain(images).square().sum().backward()
    for (name, mine), theirs in zip(network.named_parameters(), plain.parameters(), strict=True):
        error = (mine.grad - theirs.grad).norm() / theirs.grad.norm()
        assert float(error) < 1e-3, name
        if mine.ndim == 4 and mine.shape[2] > 1:  # as the weights lie in the memory: an optimizer goes through both
            assert mine.grad.is_contiguous(memory_format=torch.channels_last), name


@pytest.mark.parametrize(("size", "stride"), [(8, 2), (3, 2), (4, 1)])
@pytest.mark.parametrize("last", [True, False])
def test_a_shortcut_is_a_1x1_convolution(size, stride, last):
    shortcut, form = Shortcut(16, 24, stride), torch.channels_last if last else torch.contiguous_format
    given = draw(3, 16, size, size).contiguous(memory_format=form)
    found = []
    for convolve in (shortcut.train(), lambda maps: nn.Conv2d.forward(shortcut, maps)):
        maps = given.detach().requires_grad_()
        output = convolve(maps)
        found.append([output, *torch.autograd.grad(output.square().sum(), (maps, shortcut.weight))])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)
    assert torch.equal(shortcut.eval()(given), nn.Conv2d.forward(shortcut, given))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")
def test_torch_sees_through_a_shortcut():
    shortcut, maps, tangent = Shortcut(8, 16, 2).train(), draw(3, 8, 4, 4), draw(3, 8, 4, 4, seed=1)
    plainly = lambda maps: nn.functional.conv2d(maps, shortcut.weight.detach(), stride=2)  # noqa: E731
    _, moved = torch.func.jvp(shortcut, (maps,), (tangent,))
    torch.testing.assert_close(moved, plainly(tangent))
    torch.testing.assert_close(torch.func.vmap(lambda image: shortcut(image[None])[0])(maps), plainly(maps))
    torch.testing.assert_close(torch.export.export(shortcut, (maps,)).module()(maps), plainly(maps))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert shortcut(maps).dtype == torch.bfloat16
    assert shortcut(maps[:0]).shape == (0, 16, 2, 2)


def test_a_shortcut_that_was_changed_does_as_it_is_told():
    shortcut = Shortcut(4, 4, 2).train()
    shortcut.bias = nn.Parameter(torch.ones(4))
    assert torch.equal(shortcut(torch.zeros(2, 4, 4, 4)), torch.ones(2, 4, 2, 2))
    assert shortcut(torch.zeros(4, 4, 4)).shape == (4, 2, 2)


def test_a_block_without_normalisation_trains():
    block = BasicBlock(64, 64, 1)
    block.bn1 = nn.Identity()
    block.train()(draw(2, 64, 8, 8)).sum().backward()
    assert block.conv1.weight.grad.abs().sum() > 0
