"""Gaussian replay: what is drawn, and in which shares."""

import numpy as np
import pytest

from bitreplay.learners.frozen._gaussian_replay import GaussianReplay
from tests.learners.problems import D, learn, problem

train = problem(n=200, labels=(3, 9))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_draws_have_the_moments_of_the_class(covariance):
    method = learn(GaussianReplay(covariance=covariance, epochs=1), train, [[3, 9]])
    drawn = method._draw(1, 40_000, np.random.default_rng(0)) / float(method.learned["scale"])
    samples = train.X[train.y == 9]
    expected = np.cov(samples, rowvar=False, bias=True)
    if covariance == "diagonal":
        expected = np.diag(np.diag(expected))
    np.testing.assert_allclose(drawn.mean(0), samples.mean(0), atol=0.02)
    np.testing.assert_allclose(np.cov(drawn, rowvar=False), expected, atol=0.01)


def test_every_class_has_its_share_of_a_batch_and_new_rows_are_real():
    method = learn(GaussianReplay(epochs=1), train, [[3, 9]])
    samples = np.full((5, D), 7, dtype=np.float32) + np.arange(5, dtype=np.float32)[:, None]
    batches = list(method._batches(samples, np.array([2, 2, 3, 3, 3]), 4, 200))
    assert len(batches) == 200
    targets = np.concatenate([y for _, y in batches])
    rows = np.concatenate([x for x, _ in batches])
    assert len(targets) == 200 * 128
    np.testing.assert_allclose(np.bincount(targets) / len(targets), 0.25, atol=0.01)
    assert set(np.unique(rows[targets == 2])) == {7.0, 8.0}
    assert set(np.unique(rows[targets == 3])) == {9.0, 10.0, 11.0}
    assert len(np.unique(rows[targets == 0], axis=0)) == (targets == 0).sum()  # every draw is a fresh one
