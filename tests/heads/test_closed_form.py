"""The closed-form head against the formulas written out with full covariance matrices."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bitreplay import BinaryMemory, EMOptions, pack
from bitreplay.binarizers import Identity
from bitreplay.errors import InputError
from bitreplay.heads import Bayes, ClosedForm
from bitreplay.heads._moments import gram
from bitreplay.mixture import Mixture


def make_memory(n_classes, n_features, sizes, bits=8, seed=0):
    rng = np.random.default_rng(seed)
    memory = BinaryMemory(bits)
    for c in range(n_classes):
        k = sizes[c % len(sizes)]
        memory.add(
            f"class {c}", Mixture(rng.random((k, n_features)).astype(np.float32), rng.dirichlet(np.ones(k)), 500)
        )
    return memory


def naive_scores(memory, bits, blend, ridge):
    """-1/2 (Mahalanobis distance + log det) with every covariance formed in full, up to a constant per row."""
    means, covariances, withins = [], [], []
    for label in memory.labels:
        mixture = memory.mixture(label)
        mu, pi = mixture.prototypes.astype(float), mixture.weights
        mean = pi @ mu
        within = pi @ (mu * (1 - mu))
        covariance = np.diag(within)
        for weight, row in zip(pi, mu, strict=True):
            covariance = covariance + weight * np.outer(row - mean, row - mean)
        means.append(mean)
        covariances.append(covariance)
        withins.append(within)
    shared, within = np.mean(covariances, axis=0), np.mean(withins, axis=0)
    base = blend * shared + (1 - blend) * np.diag(within) + ridge * np.diag(shared).mean() * np.eye(len(shared))
    scores = []
    for mean, covariance, own in zip(means, covariances, withins, strict=True):
        sigma = base + (1 - blend) * (covariance - np.diag(own))
        centred = bits - mean
        distance = np.einsum("ij,ij->i", centred, np.linalg.solve(sigma, centred.T).T)
        scores.append(-(distance + np.linalg.slogdet(sigma)[1]) / 2)
    return np.stack(scores, axis=1)


def centre(scores):
    return scores - scores.mean(axis=1, keepdims=True)


# n_c K < D solves by Woodbury's identity, n_c K >= D forms B: both must be the same function.
@pytest.mark.parametrize(
    ("n_classes", "n_features", "sizes"), [(3, 40, [2, 5, 1]), (12, 20, [4, 8, 1]), (1, 9, [3]), (5, 7, [1])]
)
@pytest.mark.parametrize("blend", [0.0, 0.3, 0.8, 1.0])
def test_scores_equal_the_formula(n_classes, n_features, sizes, blend):
    memory = make_memory(n_classes, n_features, sizes)
    bits = (np.random.default_rng(1).random((50, n_features)) < 0.5).astype(np.uint8)
    head = ClosedForm(blend, 0.1).fit(memory, Identity(), 0)
    assert np.allclose(centre(head.scores(pack(bits))), centre(naive_scores(memory, bits, blend, 0.1)), atol=1e-3)


@pytest.mark.parametrize("n_features", [30, 500])
def test_learning_step_by_step_equals_learning_at_once(n_features):
    whole = make_memory(12, n_features, [4, 2])
    head, memory = ClosedForm(), BinaryMemory(8, n_features)
    for labels in (whole.labels[:5], whole.labels[5:6], whole.labels[6:]):
        memory.add_all({label: whole.mixture(label) for label in labels})
        head = head.update(memory, Identity(), dict.fromkeys(labels), 0)
    bits = pack((np.random.default_rng(1).random((20, n_features)) < 0.5).astype(np.uint8))
    assert np.allclose(head.scores(bits), ClosedForm().fit(whole, Identity(), 0).scores(bits), atol=1e-3)


def test_update_does_not_change_the_head_it_came_from():
    memory = make_memory(4, 30, [3])
    head = ClosedForm().fit(memory, Identity(), 0)
    bits = pack(np.eye(30, dtype=np.uint8))
    before = head.scores(bits)
    larger = memory.copy()
    larger.add("new", Mixture(np.full((1, 30), 0.5, np.float32), np.ones(1), 10))
    assert head.update(larger, Identity(), {"new": bits}, 0).scores(bits).shape == (30, 5)
    assert np.array_equal(head.scores(bits), before)


def test_constant_bits_are_no_obstacle():
    rng = np.random.default_rng(0)
    samples = (rng.random((60, 12)) < 0.5).astype(np.uint8)
    samples[:, 3], samples[:, 4] = 1, 0
    memory = BinaryMemory(4)
    memory.enrol(
        {"a": samples, "b": np.zeros((40, 12), np.uint8), "c": np.ones((1, 12), np.uint8)}, EMOptions(n_components=4)
    )
    scores = ClosedForm().fit(memory, Identity(), 0).scores(pack(samples))
    assert np.isfinite(scores).all()
    assert (scores.argmax(1) == 0).mean() > 0.8


@pytest.mark.parametrize(
    "options", [{"blend": -0.1}, {"blend": 1.1}, {"ridge": 0.0}, {"ridge": float("inf")}, {"blend": float("nan")}]
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        ClosedForm(**options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gram_is_as_precise_as_its_rows(dtype):
    rows = np.random.default_rng(0).random((5, 30)).astype(dtype)
    exact = np.tril(rows.astype(np.float64) @ rows.T.astype(np.float64))
    assert gram(rows).dtype == dtype
    np.testing.assert_allclose(np.tril(gram(rows)), exact, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("clamp", [0.0, 0.5, 1.0, float("nan")])
def test_a_clamp_that_leaves_nothing_is_refused(clamp):
    with pytest.raises(InputError, match="clamp"):
        Bayes(clamp=clamp)


@pytest.mark.parametrize("head", [ClosedForm(), Bayes()], ids=["closed_form", "bayes"])
@pytest.mark.parametrize("n", [3, 600])  # few rows go through BLAS, many through a kernel that must not be asked
@pytest.mark.parametrize("width", [39, 41, 200])
def test_bits_of_another_width_are_refused(head, n, width):
    fitted = head.fit(make_memory(3, 40, [2]), Identity(), 0)
    with pytest.raises(InputError, match=f"rows of {width} bits, expected 40"):
        fitted.scores(pack(np.ones((n, width), np.uint8)))


def test_bayes_is_the_likelihood_of_the_stored_mixture():
    memory = make_memory(4, 10, [3, 1, 2])
    bits = (np.random.default_rng(1).random((30, 10)) < 0.5).astype(np.uint8)
    expected = []
    for label in memory.labels:
        mixture = memory.mixture(label)
        mu = np.clip(mixture.prototypes.astype(float), 0.05, 0.95)
        by_component = np.prod(np.where(bits[:, None] == 1, mu, 1 - mu), axis=2)
        expected.append(np.log(by_component @ mixture.weights))
    assert np.allclose(Bayes(0.05).fit(memory, Identity(), 0).scores(pack(bits)), np.stack(expected, 1), atol=1e-4)


def test_bayes_posterior_is_right_on_all_patterns():
    memory = make_memory(2, 6, [2, 3], bits=16)
    patterns = (np.arange(64)[:, None] >> np.arange(6) & 1).astype(np.uint8)
    scores = Bayes(1e-6).fit(memory, Identity(), 0).scores(pack(patterns))
    assert np.allclose(logsumexp(scores, axis=0), 0, atol=1e-4)  # probabilities of all 64 patterns add up to 1
