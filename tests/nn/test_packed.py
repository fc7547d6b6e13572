import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from bitreplay.errors import InputError
from bitreplay.nn import (
    BinaryClassifier,
    BinaryConv2d,
    BinaryLinear,
    Comparison,
    Gain,
    LearnableThreshold,
    PackedConv2d,
    PackedLinear,
    Sign,
    SignBatchNorm,
    ThermometerConv2d,
    fold_batch_norm,
    pack_network,
)

numbers = st.one_of(st.floats(-40, 40, width=32), st.integers(-6, 6).map(lambda n: n / 2))


@settings(max_examples=200, deadline=None)
@given(
    mean=numbers,
    variance=st.floats(0, 100, width=32),
    scale=st.one_of(numbers, st.just(0.0), st.just(1e-30)),
    shift=numbers,
    fan_in=st.integers(1, 30),
)
def test_folding_is_the_formula_for_every_sum_there_can_be(mean, variance, scale, shift, fan_in):
    norm = SignBatchNorm(1).eval()
    for tensor, value in zip(
        (norm.running_mean, norm.running_var, norm.weight.data, norm.bias.data),
        (mean, variance, scale, shift),
        strict=True,
    ):
        tensor.fill_(value)
    sums = np.arange(-fan_in, fan_in + 1, 2)
    mean, variance, scale, shift = (
        t.double().item() for t in (norm.running_mean, norm.running_var, norm.weight.data, norm.bias.data)
    )
    value = scale * (sums - mean) + shift * np.sqrt(variance + norm.eps)
    sure = np.abs(value) > 1e-9 * (1 + abs(scale) * 100 + abs(shift) * 20)  # else rounding decides
    if scale == 0:
        sure[:], value = True, np.full(len(sums), shift)
    bits = fold_batch_norm(norm)(sums[:, None])[:, 0]
    np.testing.assert_array_equal(bits[sure], (value >= 0)[sure])
    torch_bits = norm(torch.from_numpy(sums)[:, None].float())[:, 0] >= 0
    np.testing.assert_array_equal(torch_bits.numpy(), bits)


def test_an_exact_tie_is_a_set_bit_whatever_the_direction():
    norm = SignBatchNorm(2).eval()
    norm.running_mean = torch.tensor([4.0, 4.0])
    norm.weight.data = torch.tensor([2.0, -2.0])
    assert fold_batch_norm(norm)(np.array([[3, 3], [4, 4], [5, 5]])).tolist() == [
        [False, True],
        [True, True],
        [True, False],
    ]


def test_training_and_evaluation_of_the_norm_agree_in_sign():
    torch.manual_seed(0)
    sums = 2.0 * torch.randint(-20, 20, (400, 6))
    norm = SignBatchNorm(6, momentum=1.0)
    norm.weight.data = torch.randn(6)
    norm.bias.data = torch.randn(6)
    trained = norm(sums)
    norm.running_var.mul_(399 / 400)  # torch keeps the unbiased one, and normalises with the other
    assert torch.equal(trained >= 0, norm.eval()(sums) >= 0)


def comparison_for(channels: int, fan_in: int, rng: np.random.Generator) -> Comparison:
    return Comparison(rng.integers(-fan_in // 2, fan_in // 2 + 1, channels), rng.choice([-1, 1], channels))


@settings(max_examples=60, deadline=None)
@given(
    per_group=st.integers(1, 70),
    out_per_group=st.integers(1, 19),
    groups=st.integers(1, 5),
    size=st.integers(1, 4),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    height=st.integers(4, 9),
    width=st.integers(4, 9),
    n=st.integers(1, 3),
    pool=st.booleans(),
    seed=st.integers(0, 100),
)
def test_packed_convolutions_are_those_of_torch(
    per_group, out_per_group, groups, size, stride, padding, height, width, n, pool, seed
):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    layer = BinaryConv2d(groups * per_group, groups * out_per_group, size, stride, padding, groups)
    bits = rng.integers(0, 2, (n, height, width, layer.in_channels), dtype=np.uint8)
    with torch.no_grad():
        sums = layer(2.0 * torch.from_numpy(bits).permute(0, 3, 1, 2) - 1)
    np.testing.assert_array_equal(PackedConv2d(layer)(bits), sums.permute(0, 2, 3, 1).numpy())
    if pool and min(sums.shape[2:]) > 1:
        sums = nn.functional.max_pool2d(sums, 2)
    comparison = comparison_for(layer.out_channels, layer.fan_in, rng)
    packed = PackedConv2d(layer, comparison, pool=pool)(bits)
    if pool and not packed.size:
        return
    np.testing.assert_array_equal(packed, comparison(sums.permute(0, 2, 3, 1).long().numpy()))


@pytest.mark.parametrize(("n", "d", "outputs"), [(1, 1, 1), (5, 64, 8), (3, 65, 9), (0, 30, 4), (33, 200, 17)])
def test_packed_products_are_those_of_torch(n, d, outputs):
    layer = BinaryLinear(d, outputs)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (n, d), dtype=np.uint8)
    sums = layer(2.0 * torch.from_numpy(bits) - 1).detach().numpy()
    np.testing.assert_array_equal(PackedLinear(layer)(bits), sums)
    comparison = comparison_for(outputs, d, rng)
    np.testing.assert_array_equal(PackedLinear(layer, comparison)(bits), comparison(sums.astype(int)))


@pytest.mark.parametrize(("colours", "levels", "padding"), [(3, 85, 1), (1, 5, 0), (2, 64, 2)])
def test_packed_thermometers_are_those_of_torch(colours, levels, padding):
    layer = ThermometerConv2d(colours, 10, 3, padding=padding, levels=levels)
    images = np.random.default_rng(0).integers(0, 256, (2, 6, 5, colours), dtype=np.uint8)
    sums = layer(torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255).detach().permute(0, 2, 3, 1)
    images.setflags(write=False)  # as those of a data set
    np.testing.assert_array_equal(PackedConv2d(layer)(images), sums.numpy())


def trained(network: nn.Sequential, x: torch.Tensor) -> nn.Sequential:
    """The network with statistics, scales of both signs and shifts as after a training."""
    torch.manual_seed(1)
    for module in network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.weight.data = torch.randn_like(module.weight)
            module.bias.data = torch.randn_like(module.bias)
        elif isinstance(module, LearnableThreshold):
            module.threshold.data = 3 * torch.randn_like(module.threshold)
    with torch.no_grad():
        network.train()(x)
    return network.eval()


def test_a_whole_network_of_every_kind_of_layer_is_packed():
    network = nn.Sequential(
        nn.Sequential(BinaryConv2d(3, 20, 3, padding=1), nn.MaxPool2d(2), SignBatchNorm(20), Sign()),
        BinaryConv2d(20, 20, 3, groups=20, stride=2, padding=1),
        Gain(0.3),  # the sign is the next layer's
        BinaryConv2d(20, 12, 1),
        LearnableThreshold(12),
        Sign(),
        nn.Flatten(),
        nn.Dropout(0.5),
        BinaryLinear(48, 70),
        nn.Identity(),
        SignBatchNorm(70),
        Sign(),
    )
    x = torch.randn(40, 3, 8, 8)
    with torch.no_grad():
        bits = trained(network, x)(x) >= 0
    packed = pack_network(network)
    np.testing.assert_array_equal(packed(x.numpy()).unpack(), bits.numpy())
    assert packed.nbytes == -(-20 * 27 // 8) + -(-180 // 8) + 30 + 420
    assert len(packed(x[:0].numpy())) == 0


def test_plain_batch_norm_is_folded_and_a_last_gain_kept():
    network = nn.Sequential(BinaryLinear(30, 16), nn.BatchNorm1d(16), Sign(), BinaryLinear(16, 5), Gain(0.37))
    x = torch.randn(50, 30)
    with torch.no_grad():
        scores = trained(network, x)(x).numpy()
    np.testing.assert_array_equal(pack_network(network)(x.numpy()), scores)


def test_maps_of_sums_come_out_as_torch_lays_them_out():
    network = nn.Sequential(BinaryConv2d(4, 6, 3))
    x = torch.randn(2, 4, 5, 7)
    np.testing.assert_array_equal(pack_network(network)(x.numpy()), network(x).detach().numpy())


def test_what_the_first_layer_takes_as_it_is_must_be_signs():
    network = nn.Sequential(nn.Flatten(), BinaryLinear(6, 4, binarize_input=False))
    signs = torch.where(torch.randn(5, 6) >= 0, 1.0, -1.0)
    np.testing.assert_array_equal(pack_network(network)(signs.numpy()), network(signs).detach().numpy())
    with pytest.raises(InputError, match="only ±1"):
        pack_network(network)(0.5 * signs.numpy())


@pytest.mark.parametrize("duplicate", [True, False])
def test_the_binary_classifier_is_packed(duplicate):
    classifier = BinaryClassifier(100, 7, hidden=33, duplicate=duplicate)
    x = torch.randn(20, 100)
    np.testing.assert_array_equal(pack_network(classifier)(x.numpy()), classifier(x).detach().numpy())


def test_the_binary_classifier_is_its_formula_and_two_weights_can_leave_an_input_out():
    classifier = BinaryClassifier(6, 3, hidden=4)
    x = torch.randn(5, 6)
    signs, weights = torch.where(x >= 0, 1.0, -1.0), [torch.where(w >= 0, 1.0, -1.0) for w in classifier.parameters()]
    hidden = torch.where(signs @ weights[0].T >= 0, 1.0, -1.0)
    pairs = weights[1][:, :10] + weights[1][:, 10:]
    assert set(pairs.unique().tolist()) == {-2.0, 0.0, 2.0}
    expected = torch.cat([signs, hidden], 1) @ pairs.T / (5 * 20 * 3) ** 0.5
    torch.testing.assert_close(classifier(x).detach(), expected)


def test_what_cannot_be_packed_is_refused():
    conv, linear = BinaryConv2d(2, 4, 3), BinaryLinear(4, 4, binarize_input=False)
    for network, message in (
        (nn.Sequential(nn.Flatten()), "without binary layers"),
        (nn.Sequential(nn.Conv2d(2, 4, 3), conv), "Conv2d"),
        (nn.Sequential(conv, nn.ReLU(), Sign()), "ReLU"),
        (nn.Sequential(conv, nn.MaxPool2d(3), Sign()), "2x2"),
        (nn.Sequential(conv, nn.MaxPool2d(2, ceil_mode=True), Sign()), "2x2"),
        (nn.Sequential(conv, nn.MaxPool2d(2, dilation=2), Sign()), "2x2"),
        (nn.Sequential(conv, nn.MaxPool2d(2)), "without a sign: MaxPool2d"),
        (nn.Sequential(linear, SignBatchNorm(4)), "without a sign"),
        (nn.Sequential(linear, linear), "without a sign"),
        (nn.Sequential(linear, nn.MaxPool2d(2), Sign()), "BinaryLinear"),
        (nn.Sequential(conv, SignBatchNorm(4, track_running_stats=False), Sign()), "running statistics"),
    ):
        with pytest.raises(InputError, match=message):
            pack_network(network)
    packed = pack_network(nn.Sequential(conv))
    with pytest.raises(InputError, match="smaller than the kernel"):
        packed(np.ones((1, 2, 2, 2), dtype=np.float32))
    with pytest.raises(InputError, match="height, width, 2"):
        packed(np.ones((1, 3, 5, 5), dtype=np.float32))
    with pytest.raises(InputError, match="numbers"):
        packed(np.ones((1, 3, 5), dtype=np.float32))
    with pytest.raises(InputError, match="shape"):
        PackedLinear(linear)(np.ones((2, 5), dtype=np.uint8))
