"""The training loop of linear layers: torch's SGD, written out."""

import math

import numpy as np
import pytest
import torch

from bitreplay.binarizers import Thermometer
from bitreplay.bits import pack
from bitreplay.learners.frozen._linear import MIN_STEPS, DecodedBits, count_steps, shuffled_batches, train_linear
from bitreplay.learners.frozen._linear_method import scale_of

rng = np.random.default_rng(0)
X, y = rng.random((50, 7)).astype(np.float32), rng.integers(0, 4, 50)
START = rng.normal(size=(3, 7)).astype(np.float32), rng.normal(size=3).astype(np.float32)


def batches(n_steps=40):
    return shuffled_batches(X, y, 16, n_steps, np.random.default_rng(1))


def by_torch(start, n_steps, lr, momentum, weight_decay):
    layer = torch.nn.Linear(7, 4)
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
        if start:
            layer.weight[:3], layer.bias[:3] = map(torch.from_numpy, start)
    optimizer = torch.optim.SGD(layer.parameters(), lr=lr, momentum=momentum, weight_decay=weight_decay)
    for step, (inputs, targets) in enumerate(batches(n_steps)):
        optimizer.param_groups[0]["lr"] = lr * (1 + math.cos(math.pi * step / n_steps)) / 2
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(layer(torch.from_numpy(inputs)), torch.from_numpy(targets)).backward()
        optimizer.step()
    return layer.weight.detach().numpy(), layer.bias.detach().numpy()


@pytest.mark.parametrize("start", [None, START], ids=["from zero", "from a smaller layer"])
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_are_those_of_torch(start, weight_decay):
    kept = None if start is None else tuple(part.copy() for part in start)
    options = {"momentum": 0.7, "weight_decay": weight_decay}
    weights, biases = train_linear(start, (4, 7), batches(), 40, learning_rate=0.5, **options)
    expected = by_torch(start, 40, 0.5, **options)
    np.testing.assert_allclose(weights, expected[0], atol=1e-5)
    np.testing.assert_allclose(biases, expected[1], atol=1e-5)
    assert start is None or all(map(np.array_equal, start, kept))


def test_it_finds_the_optimum_of_softmax_regression():
    # At the minimum the gradient vanishes: mean over samples of (probability - target) times input, plus decay.
    decay = 0.01
    steps = shuffled_batches(X, y, 50, 4000, np.random.default_rng(0))
    weights, biases = train_linear(None, (4, 7), steps, 4000, learning_rate=0.5, weight_decay=decay)
    scores = X @ weights.T + biases
    slope = np.exp(scores) / np.exp(scores).sum(1, keepdims=True) - np.eye(4)[y]
    np.testing.assert_allclose(slope.T @ X / 50 + decay * weights, 0, atol=1e-5)
    np.testing.assert_allclose(slope.mean(0) + decay * biases, 0, atol=1e-5)


def test_a_pass_visits_every_row_once_and_every_pass_in_another_order():
    rows, targets = np.arange(10, dtype=np.float32)[:, None], np.arange(10)
    seen = list(shuffled_batches(rows, targets, 4, 7, np.random.default_rng(0)))
    assert [len(labels) for _, labels in seen] == [4, 4, 2, 4, 4, 2, 4]
    passes = [np.concatenate([labels for _, labels in seen[begin : begin + 3]]) for begin in (0, 3)]
    assert all(sorted(order) == list(range(10)) for order in passes)
    assert not np.array_equal(*passes)
    assert all((inputs[:, 0] == labels).all() for inputs, labels in seen)


def test_small_data_gets_enough_steps():
    assert count_steps(10, 128, 3) == MIN_STEPS
    assert count_steps(128_001, 128, 3) == 3 * 1001


def test_threads_are_as_before():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    train_linear(None, (4, 7), batches(2), 2, learning_rate=0.1)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def test_a_layer_sees_the_mean_of_a_features_bits():
    bits = rng.random((6, 12)) < 0.5
    rows = DecodedBits(pack(bits), Thermometer(3))
    chosen = np.array([4, 0, 4])
    np.testing.assert_allclose(rows[chosen], bits[chosen].reshape(3, 4, 3).mean(2))
    assert len(rows) == 6


def test_features_of_any_scale_get_one_scale():
    for factor in (1e-3, 1.0, 1e4):
        scaled = factor * X * scale_of(factor * X)
        assert np.square(scaled).mean() == pytest.approx(0.5, rel=1e-5)
    assert scale_of(np.zeros((2, 3), np.float32)) == 1
    assert scale_of(pack([[0, 1]])) == 1
