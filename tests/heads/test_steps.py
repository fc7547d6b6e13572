"""The gradient of a linear layer, written out, is that of automatic differentiation; and the head takes such steps."""

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay import GBMClassifier
from bitreplay.heads import LinearSteps, Replay
from bitreplay.heads._steps import NetworkSteps

INPUTS, CLASSES = 7, 4


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "weight_decay": 0.01}])
def test_the_same_steps_as_automatic_differentiation(options):
    draw = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    layer = nn.Linear(INPUTS, CLASSES)
    weights, biases = layer.weight.detach().clone(), layer.bias.detach().clone()
    before = weights.clone()
    written_out = LinearSteps(weights, biases, **options)
    automatic = NetworkSteps(layer, torch.optim.SGD(layer.parameters(), lr=1.0, **options), CLASSES)
    for rate in (0.5, 0.3, 0.1):
        inputs = torch.randn(20, INPUTS, generator=draw)
        targets = torch.randint(0, CLASSES, (20,), generator=draw)
        scores = [steps.step(inputs, targets, rate) for steps in (written_out, automatic)]
        torch.testing.assert_close(*scores)
    torch.testing.assert_close(weights, layer.weight.detach())
    torch.testing.assert_close(biases, layer.bias.detach())
    assert (weights - before).abs().max() > 0.01


def test_a_layer_with_gradients_and_an_empty_class_are_no_obstacle():
    layer = nn.Linear(INPUTS, CLASSES)
    steps = LinearSteps(layer.weight, layer.bias)
    before = layer.weight.detach().clone()
    steps.step(torch.ones(2, INPUTS), torch.zeros(2, dtype=torch.int64), 0.1)
    assert layer.weight.grad is None
    assert layer.weight[0].sum() > before[0].sum()  # of class 0, which both rows are of
    assert (layer.weight[1:].sum(1) < before[1:].sum(1)).all()


def test_a_linear_g_learns_the_same_as_one_of_ones_own():
    rng = np.random.default_rng(0)
    features, labels = rng.random((60, INPUTS)), np.arange(60) % CLASSES
    networks = []
    for module in (None, lambda n_inputs, n_classes: nn.Sequential(nn.Linear(n_inputs, n_classes))):
        head = Replay(module=module, min_steps=30, epochs=1, weight_decay=1e-3)
        networks.append(GBMClassifier(head=head, random_state=0).fit(features, labels).head_.network)
    one, other = (network.state_dict() for network in networks)
    for name, value in one.items():
        torch.testing.assert_close(value, other[name], rtol=1e-3, atol=1e-5)
