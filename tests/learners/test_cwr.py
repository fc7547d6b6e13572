"""CWR*: the rule itself, and that the learner applies it to what was trained."""

import math

import numpy as np
import pytest
import torch

from bitreplay.binarizers import Identity
from bitreplay.learners.frozen._cwr import LatentReplayCWR, consolidate, last_layer
from bitreplay.learners.frozen._latent_replay import LatentReplay
from tests.learners.test_latent_replay import task

OPTIONS = {"exemplars": 8, "epochs": 1, "min_steps": 20}


def test_the_rule_by_hand():
    trained = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]])  # two known classes and a new one; the mean is 4
    kept = np.array([[0.5, -1.0], [2.0, 0.0]])
    result = consolidate(trained, kept, past=np.array([400, 25]), current=np.array([100, 100, 30]))
    w0, w1 = math.sqrt(400 / 100), math.sqrt(25 / 100)
    expected = [
        [(0.5 * w0 + (1 - 4)) / (w0 + 1), (-1.0 * w0 + (2 - 4)) / (w0 + 1)],
        [(2.0 * w1 + (3 - 4)) / (w1 + 1), (0.0 * w1 + (6 - 4)) / (w1 + 1)],
        [5 - 4, 7 - 4],
    ]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_biases_follow_the_same_rule():
    result = consolidate(np.array([1.0, 3.0]), np.array([2.0]), np.array([4]), np.array([4, 9]))
    np.testing.assert_allclose(result, [(2.0 * 1 + (1 - 2)) / 2, 3 - 2])


def layer(method):
    return last_layer(method.state.head.network)


def made(kind, **options):
    method = kind(**OPTIONS, **options)
    method.use(Identity())
    return method


def test_a_first_task_is_shifted_only():
    method = made(LatentReplayCWR)
    method.partial_fit(*task(30, [0, 1]))
    assert all(abs(parameter.mean().item()) < 1e-6 for parameter in layer(method).parameters())
    assert method.learned["past"].tolist() == [30, 30]


@pytest.mark.parametrize("architecture", ["linear", "hidden", "binary"])
def test_a_later_task_is_consolidated_with_what_was(architecture):
    method = made(LatentReplayCWR, architecture=architecture)
    method.partial_fit(*task(30, [0, 1]))
    before = layer(method).weight.detach().numpy().copy()
    X, y = task(25, [2])
    new = np.array([2])
    trained = layer_of(LatentReplay._learn(method, X, np.full(25, 2), new))  # the same training, not consolidated
    method.partial_fit(X, y)
    past, current = np.array([30, 30]), np.array([8, 8, 25])  # 8 exemplars of each old class took part
    np.testing.assert_allclose(layer(method).weight.detach(), consolidate(trained, before, past, current), atol=1e-6)
    assert method.learned["past"].tolist() == [38, 38, 25]


def layer_of(learned):
    return last_layer(learned["state"].head.network).weight.detach().numpy()


def test_new_rows_begin_at_zero():
    network = made(LatentReplayCWR)._replay().module(16, 3)
    assert torch.count_nonzero(last_layer(network).weight) == 0
    assert torch.count_nonzero(last_layer(network).bias) == 0
