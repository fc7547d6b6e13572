"""FeTrIL: translations, products with what is never written down, and support vector machines as scikit-learn's."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from bitreplay.learners.frozen._fetril import FeTrIL
from bitreplay.learners.frozen._linear_svc import train_linear_svc
from bitreplay.learners.frozen._translated import Translated
from tests.learners.problems import TASKS, learn, problem

train = problem(n=30)


def naive_pseudo_features(past_means, X, y):
    """One donor per past class, the new class with the nearest mean: f - mu_n + mu_p (eq. 1 of the paper)."""
    new = np.unique(y)
    means = {c: X[y == c].mean(0) for c in new}
    rows, targets = [], []
    for past, mean in enumerate(past_means):
        donor = min(new, key=lambda c: np.linalg.norm(means[c] - mean))
        rows.append(X[y == donor] - means[donor] + mean)
        targets.append(np.full(len(rows[-1]), past))
    for c in new:
        rows.append(X[y == c])
        targets.append(np.full(len(rows[-1]), c))
    return np.concatenate(rows), np.concatenate(targets)


@pytest.fixture
def translated():
    rng = np.random.default_rng(0)
    X, y = rng.random((25, 6)).astype(np.float32), np.repeat([4, 5, 6], [5, 13, 7])
    order = rng.permutation(25)
    X, y = X[order], y[order]
    past = rng.random((4, 6)).astype(np.float32)
    means = np.concatenate([past, np.stack([X[y == c].mean(0) for c in (4, 5, 6)])])
    return Translated(X, y, means, 4), *naive_pseudo_features(past, X, y)


def test_pseudo_features_are_translated_samples_of_the_nearest_new_class(translated):
    rows, expected, targets = translated
    assert len(rows) == len(expected)
    np.testing.assert_allclose(rows[np.arange(len(rows))], expected, atol=1e-6)
    assert np.array_equal(rows.targets, targets)
    assert len(set(rows.donors[:4])) > 1  # the example is not a trivial one


def test_means_of_pseudo_features_are_those_of_the_past_classes(translated):
    rows, expected, targets = translated
    for c in range(4):
        np.testing.assert_allclose(
            expected[targets == c].mean(0) - rows.shifts[c],
            rows.features[rows.sources[targets == c]].mean(0),
            atol=1e-6,
        )


def test_products_are_those_of_the_written_out_matrix(translated):
    rows, expected, _ = translated
    rng = np.random.default_rng(1)
    weights, values = rng.normal(size=(3, 6)).astype(np.float32), rng.normal(size=(len(rows), 3)).astype(np.float32)
    out = np.empty((len(rows), 3), dtype=np.float32)
    assert rows.times(weights, out) is out
    np.testing.assert_allclose(out, expected @ weights.T, atol=1e-5)
    np.testing.assert_allclose(rows.transposed_times(values), values.T @ expected, atol=1e-4)
    np.testing.assert_allclose(rows.lengths(), np.linalg.norm(expected, axis=1), rtol=1e-5)


class Plain:
    def __init__(self, X):
        self.X = X

    def times(self, weights, out):
        return np.matmul(self.X, weights.T, out=out)

    def transposed_times(self, values):
        return values.T @ self.X


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_support_vector_machines_are_scikit_learns(C, n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, 300)
    X = (rng.normal(size=(n_classes, 10))[y] + 1.5 * rng.normal(size=(300, 10))).astype(np.float32)
    lengths = np.linalg.norm(X, axis=1)
    weights, biases = train_linear_svc(Plain(X), 1 / lengths, y, (n_classes, 10), C=C, tol=1e-6)
    for c in range(n_classes):
        reference = LinearSVC(dual=False, C=C, tol=1e-8, max_iter=100_000).fit(normalize(X), y == c)
        np.testing.assert_allclose(weights[c], reference.coef_[0], atol=2e-3 * np.abs(reference.coef_).max())
        np.testing.assert_allclose(biases[c], reference.intercept_[0], atol=2e-3 * np.abs(reference.coef_).max())


def test_the_whole_method_is_linear_svc_on_written_out_pseudo_features():
    method = learn(FeTrIL(), train, TASKS[:2])
    X0, y0 = train.of(TASKS[0])
    X1, _ = train.of(TASKS[1])
    past = np.stack([X0[y0 == c].mean(0) for c in sorted(TASKS[0])])
    rows, targets = naive_pseudo_features(past, X1, np.full(len(X1), 4))
    reference = LinearSVC(dual=False, C=1.0, tol=1e-6).fit(normalize(rows), targets)
    scores = reference.decision_function(normalize(train.X))
    answers = np.array([*sorted(TASKS[0]), TASKS[1][0]])[scores.argmax(1)]
    assert np.mean(answers == method.predict(train.X)) > 0.995
    np.testing.assert_allclose(method.learned["weights"], reference.coef_, atol=5e-3)


def test_only_means_of_past_classes_matter():
    # Other samples with the same means leave the same state behind.
    X, y = train.of(TASKS[0])
    mirrored = X.copy()
    for c in np.unique(y):
        mirrored[y == c] = 2 * X[y == c].mean(0) - X[y == c]
    results = []
    for samples in (X, mirrored):
        method = FeTrIL(classifier="svc")
        method.partial_fit(samples, y)
        learn(method, train, TASKS[1:])
        results.append(method.learned["weights"])
    np.testing.assert_allclose(*results, atol=1e-3)
