"""GBM over a moving backbone: prototypes that follow the bits, exactly where flips are what they are taken for."""

import numpy as np
import pytest

from bitreplay.learners.finetuned._gbm_trainable import flip_rates, followed
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import Mixture
from tests.learners.finetuned.problems import VARIANTS, make, scenario


def test_flip_rates_count():
    before = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 1]])
    after = np.array([[0, 1, 1], [1, 0, 1], [1, 0, 1], [0, 0, 1]])
    cleared, added = flip_rates(before, after)
    assert cleared == pytest.approx([2 / 3, 0, 0])
    assert added == pytest.approx([1, 1 / 4, 1])


def test_prototypes_follow_exactly_where_flips_do_not_depend_on_the_class():
    """The moved prototype is the mean of the class's bits after the flips."""
    rng = np.random.default_rng(0)
    mu = rng.random((2, 30))
    memory = BinaryMemory(bits=32)
    memory.add_all({c: Mixture(mu[c : c + 1].astype(np.float32), np.ones(1), 100) for c in range(2)})
    cleared, added = rng.random(30) / 2, rng.random(30) / 2
    moved = followed(memory, cleared, added)
    for c in range(2):
        bits = rng.random((20_000, 30)) < mu[c]
        chance = rng.random(bits.shape)
        after = np.where(bits, chance >= cleared, chance < added)
        np.testing.assert_allclose(moved.mixture(c).prototypes[0], after.mean(axis=0), atol=0.02)
        exact = mu[c] * (1 - cleared) + (1 - mu[c]) * added
        np.testing.assert_allclose(moved.mixture(c).prototypes[0], exact, atol=1e-6)
    np.testing.assert_allclose(memory.mixture(0).prototypes[0], mu[0], atol=1e-6)  # the old one is as it was
    assert moved.labels == memory.labels
    assert moved.count(1) == 100


def test_measured_on_the_class_itself_the_mean_is_exact():
    rng = np.random.default_rng(1)
    before = rng.random((50, 12)) < rng.random(12)
    after = rng.random((50, 12)) < rng.random(12)
    memory = BinaryMemory(bits=32)
    memory.add_all({"cup": Mixture(before.mean(axis=0, keepdims=True).astype(np.float32), np.ones(1), 50)})
    moved = followed(memory, *flip_rates(before, after)).mixture("cup").prototypes[0]
    np.testing.assert_allclose(moved, after.mean(axis=0), atol=1e-6)


def test_nothing_moves_where_no_bit_flips():
    bits = np.random.default_rng(2).random((20, 8)) < 0.5
    memory = BinaryMemory(bits=8)
    memory.enrol({"cup": bits})
    moved = followed(memory, *flip_rates(bits, bits))
    np.testing.assert_array_equal(moved.mixture("cup").prototypes, memory.mixture("cup").prototypes)


def test_old_prototypes_change_only_if_they_are_to_follow():
    prototypes = {}
    for follow in (True, False):
        learner = make("TrainableGBM")
        learner.follow = follow
        learner.learn(scenario[0])
        first = learner.memory.mixture(0).prototypes
        learner.learn(scenario[1])
        prototypes[follow] = first, learner.memory.mixture(0).prototypes
        assert learner.memory.labels == tuple(range(7))  # places in the learning order
    np.testing.assert_array_equal(*prototypes[False])
    assert not np.array_equal(*prototypes[True])
    np.testing.assert_array_equal(prototypes[True][0], prototypes[False][0])


def test_old_classes_get_their_share_of_a_batch():
    import torch

    learner = make("TrainableGBM")
    assert VARIANTS["TrainableGBM"][1]["prototypes"] == 2
    learner.learn(scenario[0])
    bits, classes = learner._pseudo_exemplars(30, 3, torch.Generator().manual_seed(0))
    assert bits.shape == (40, 32)  # 30 of 3 new classes, so 40 of 4 old ones
    assert set(classes.tolist()) == {0, 1, 2, 3}
