"""Ridge regression on random features: task by task it is ridge regression on all data."""

import numpy as np
import pytest
from scipy import linalg
from sklearn.linear_model import Ridge

from bitreplay.errors import InputError
from bitreplay.learners.frozen._random_ridge import RIDGES, RandomRidge, hold_out, solve_ridge
from tests.learners.problems import TASKS, D, learn, problem

train, test = problem(n=30), problem(n=20, seed=1)
WIDTH = 64


def test_task_by_task_it_is_ridge_regression_on_everything():
    method = learn(RandomRidge(width=WIDTH, ridge=3.0), train, TASKS)
    layer = method._layer(D)
    targets = (train.y[:, None] == method.classes).astype(float)
    reference = Ridge(alpha=3.0, fit_intercept=False).fit(np.maximum(train.X @ layer, 0), targets)
    np.testing.assert_allclose(method.learned["weights"], reference.coef_, atol=2e-4)
    np.testing.assert_allclose(method._scores(test.X), reference.predict(np.maximum(test.X @ layer, 0)), atol=1e-3)


def test_the_recursion_of_acil_gives_the_same_weights():
    # K = (I + X R X^T)^-1; R -= R X^T K X R; W += R X^T (Y - X W), from R = I / gamma and W = 0.
    gamma = 2.0
    method = learn(RandomRidge(width=WIDTH, ridge=gamma), train, TASKS)
    R, W = np.eye(WIDTH) / gamma, np.zeros((WIDTH, 7))
    for labels in TASKS:
        X, y = train.of(labels)
        phi = np.maximum(X @ method._layer(D), 0).astype(float)
        K = np.linalg.inv(np.eye(len(phi)) + phi @ R @ phi.T)
        R = R - R @ phi.T @ K @ phi @ R
        W = W + R @ phi.T @ ((y[:, None] == method.classes) - phi @ W)
    np.testing.assert_allclose(method.learned["weights"], W.T, atol=2e-4)


def test_the_ridge_is_the_best_on_samples_of_task_0_held_out():
    X, y = train.of(TASKS[0])
    method = RandomRidge(width=WIDTH)
    method.partial_fit(X, y)
    chosen = float(method.learned["ridge"])
    learn(method, train, TASKS[1:])
    assert float(method.learned["ridge"]) == chosen  # task 0 decides for all
    # Chosen again by hand: ridge regression on four fifths, the accuracy on the rest.
    held = hold_out(np.searchsorted(np.unique(y), y), np.random.default_rng([0, 0, 1]))
    phi, targets = np.maximum(X @ method._layer(D), 0), (y[:, None] == np.unique(y)).astype(float)
    right = {}
    for ridge in RIDGES * np.square(phi[~held]).sum() / WIDTH:
        fitted = Ridge(alpha=ridge, fit_intercept=False).fit(phi[~held], targets[~held])
        right[ridge] = (fitted.predict(phi[held]).argmax(1) == targets[held].argmax(1)).mean()
    nearest = min(right, key=lambda ridge: abs(ridge - chosen))
    assert nearest == pytest.approx(chosen, rel=1e-4)
    assert right[nearest] == max(right.values())


def test_noisy_labels_ask_for_more_ridge():
    rng = np.random.default_rng(0)
    ridges = []
    for noise in (0.0, 0.6):
        X, y = problem(n=60).of(TASKS[0])
        wrong = rng.random(len(y)) < noise
        y[wrong] = rng.choice(TASKS[0], wrong.sum())
        method = RandomRidge(width=256)
        method.partial_fit(X, y)
        ridges.append(float(method.learned["ridge"]))
    assert ridges[1] > ridges[0]


def test_a_ridge_that_float32_would_drown_is_solved_more_precisely():
    X = np.random.default_rng(0).integers(-9, 10, size=(3, 20)).astype(np.float32) * 10  # its Gram matrix is exact
    gram, ridge = X.T @ X, 1e-3
    with pytest.raises(linalg.LinAlgError):
        linalg.cho_factor(gram + np.float32(ridge) * np.eye(20, dtype=np.float32), lower=True)
    expected = np.linalg.solve(gram.astype(float) + ridge * np.eye(20), X.T.astype(float)).T
    np.testing.assert_allclose(solve_ridge(gram, X, ridge), expected, rtol=1e-3, atol=1e-6)
    with pytest.raises(InputError, match="increase it"):
        solve_ridge(-gram, X, ridge)
