"""FeCAM's distances against the formulas of the paper, step by step."""

import numpy as np
import pytest

from bitreplay.errors import InputError
from bitreplay.learners.frozen._fecam import FeCAM, inverse_factor, shrunk
from tests.learners.problems import TASKS, D, learn, problem

train, test = problem(n=30), problem(n=10, seed=1)


def naive_shrink(S, a1, a2):
    d = len(S)
    off = ~np.eye(d, dtype=bool)
    return S + a1 * np.diag(S).mean() * np.eye(d) + a2 * S[off].mean() * off


def naive_distances(X, mean, samples, power, a1, a2):
    S = np.cov(samples**power, rowvar=False)
    S = naive_shrink(naive_shrink(S, a1, a2), a1, a2)
    s = np.sqrt(np.diag(S))
    precision = np.linalg.pinv(S / np.outer(s, s))
    x, mu = X**power, mean**power
    off = x / np.linalg.norm(x, axis=1, keepdims=True) - mu / np.linalg.norm(mu)
    return np.einsum("ij,jk,ik->i", off, precision, off)


@pytest.mark.parametrize("options", [(0.5, 1.0, 1.0), (1.0, 2.0, 0.5)], ids=["published", "other"])
def test_scores_are_distances_as_the_paper_defines_them(options):
    method = learn(FeCAM(**dict(zip(("power", "shrink_diagonal", "shrink_rest"), options, strict=True))), train, TASKS)
    scores = method._scores(test.X)
    for c, label in enumerate(method.classes):
        samples = train.X[train.y == label].astype(float)
        expected = naive_distances(test.X.astype(float), samples.mean(0), samples, *options)
        np.testing.assert_allclose(-scores[:, c], expected, rtol=2e-4)


def test_shrinking_adds_to_the_diagonal_and_to_the_rest():
    S = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, -2.0], [0.0, -2.0, 3.0]], dtype=np.float32)
    np.testing.assert_allclose(shrunk(S, 0.7, 0.3), naive_shrink(S, 0.7, 0.3), rtol=1e-6)


def test_factors_are_lower_triangles_whose_square_is_the_inverse():
    A = np.random.default_rng(0).normal(size=(8, 8))
    matrix = (A @ A.T + np.eye(8)).astype(np.float32)
    factor = inverse_factor(matrix)
    assert np.array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor.T @ factor, np.linalg.inv(matrix), atol=1e-5)


def test_classes_do_not_depend_on_each_other():
    together, apart = learn(FeCAM(), train, [[3, 70]]), learn(FeCAM(), train, [[70], [3]])
    assert np.array_equal(together._scores(test.X), apart._scores(test.X)[:, ::-1])


def test_negative_features_are_refused_unless_taken_as_they_are():
    X, y = train.of(TASKS[0])
    X[0, 0] = -1
    with pytest.raises(InputError, match="power=1"):
        FeCAM().partial_fit(X, y)
    method = FeCAM(power=1)
    method.partial_fit(X, y)
    assert method.n_features == D
