"""BernoulliMixture: probabilities against the formula, samples against the prototypes, and the other verbs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bitreplay.mixture import BernoulliMixture
from tests.mixture import naive


@pytest.fixture(scope="module")
def bits() -> naive.Bits:
    return naive.clustered_bits(300, 75, 4, seed=0, spread=0.3, constant=5)


@pytest.fixture(scope="module")
def fitted(bits: naive.Bits) -> BernoulliMixture:
    return BernoulliMixture(4, random_state=0).fit(bits)


def fresh_bits() -> naive.Bits:
    """Samples that the mixture has not seen, constant columns broken too."""
    return np.random.default_rng(5).random((80, 75)) < 0.5


@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.parametrize("d", [1, 3, 9, 11])
def test_probabilities_of_all_patterns_sum_to_one(n_components: int, d: int) -> None:
    samples = naive.clustered_bits(60, d, 3, seed=d)
    mixture = BernoulliMixture(n_components, random_state=0).fit(samples)
    patterns = np.array(list(product([0, 1], repeat=d)))
    assert np.exp(mixture.score_samples(patterns)).sum() == pytest.approx(1, abs=1e-9)


def test_scores_are_those_of_the_formula(fitted: BernoulliMixture, bits: naive.Bits) -> None:
    for samples in (bits, fresh_bits()):
        scores = naive.joint(samples, fitted.prototypes_, fitted.weights_, fitted.clamp)
        evidence = naive.log_sum(scores)
        np.testing.assert_allclose(fitted.score_samples(samples), evidence, rtol=1e-10)
        assert fitted.score(samples) == pytest.approx(evidence.mean(), rel=1e-10)
        np.testing.assert_allclose(fitted.predict_proba(samples), np.exp(scores - evidence[:, None]), atol=1e-10)
        np.testing.assert_array_equal(fitted.predict(samples), scores.argmax(axis=1))


def test_responsibilities_are_probabilities(fitted: BernoulliMixture) -> None:
    shares = fitted.predict_proba(fresh_bits())
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(fresh_bits()), shares.argmax(axis=1))
    assert np.ptp(fitted.predict(fresh_bits())) > 0


@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.parametrize("n_components", [1, 3])
def test_information_criteria(n_components: int, weights: str) -> None:
    samples = naive.clustered_bits(200, 10, 3, seed=1)
    mixture = BernoulliMixture(n_components, weights=weights, random_state=0).fit(samples)
    total = naive.log_likelihood(samples[:90], mixture.prototypes_, mixture.weights_, mixture.clamp).sum()
    free = n_components * 10 + (n_components - 1 if weights == "learned" else 0)  # the weights sum to one
    assert mixture.bic(samples[:90]) == pytest.approx(free * np.log(90) - 2 * total)
    assert mixture.aic(samples[:90]) == pytest.approx(2 * free - 2 * total)


def test_bic_finds_the_number_of_clusters() -> None:
    rng = np.random.default_rng(0)
    truth = np.kron(np.eye(3), np.full(8, 0.7)) + 0.15
    samples = rng.random((600, 24)) < truth[rng.integers(3, size=600)]
    bic = [BernoulliMixture(k, random_state=0, n_init=10).fit(samples).bic(samples) for k in range(1, 6)]
    assert int(np.argmin(bic)) == 2


def test_fit_recovers_the_truth() -> None:
    rng = np.random.default_rng(1)
    truth = np.kron(np.eye(3), np.full(10, 0.7)) + 0.15
    weights = np.array([0.5, 0.3, 0.2])
    component = rng.choice(3, size=3000, p=weights)
    mixture = BernoulliMixture(3, random_state=0, max_iter=50).fit(rng.random((3000, 30)) < truth[component])
    order = np.argsort(-mixture.weights_)
    limit = 5 * np.sqrt(0.25 / 600)  # five standard deviations of a mean over the smallest cluster, at the worst p
    np.testing.assert_allclose(mixture.prototypes_[order], truth, atol=limit)
    np.testing.assert_allclose(mixture.weights_[order], weights, atol=limit)


def test_samples_follow_the_prototypes(fitted: BernoulliMixture) -> None:
    n = 20_000
    drawn, component = fitted.sample(n)
    assert drawn.shape == (n, 75)
    assert set(np.unique(drawn)) == {0, 1}
    counts = np.bincount(component, minlength=4)
    weights = np.asarray(fitted.weights_)
    assert np.all(np.abs(counts - n * weights) < 5 * np.sqrt(n * weights * (1 - weights)))
    for k, mu in enumerate(fitted.prototypes_):
        error = np.abs(drawn[component == k].mean(axis=0) - mu)
        assert np.all(error <= 5 * np.sqrt(mu * (1 - mu) / counts[k]) + 1e-6)
    assert not drawn[:, :5].any()  # mu = 0 and mu = 1 never flip
    assert drawn[:, 5:10].all()


def test_samples_are_as_likely_as_the_entropy_says(fitted: BernoulliMixture) -> None:
    """Bits of a component are independent: the mean log-likelihood under it is minus the sum of the bits' entropies."""
    drawn, component = fitted.sample(20_000)
    mu = np.clip(np.asarray(fitted.prototypes_, dtype=np.float64), fitted.clamp, 1 - fitted.clamp)
    for k in range(4):
        mine = drawn[component == k]
        logs = mine @ np.log(mu[k]) + (1 - mine) @ np.log(1 - mu[k])
        true = fitted.prototypes_[k].astype(np.float64)
        expected = true @ np.log(mu[k]) + (1 - true) @ np.log(1 - mu[k])
        variance = (true * (1 - true) * (np.log(mu[k]) - np.log(1 - mu[k])) ** 2).sum()
        assert abs(logs.mean() - expected) < 5 * np.sqrt(variance / len(mine))
        assert logs.var() == pytest.approx(variance, rel=0.2)  # dependent bits would vary more


def test_one_component_is_the_mean(bits: naive.Bits) -> None:
    mixture = BernoulliMixture().fit(bits)
    np.testing.assert_allclose(mixture.prototypes_, bits.mean(axis=0, keepdims=True), atol=1e-7)
    assert mixture.lower_bound_ == pytest.approx(mixture.score(bits))
    assert mixture.lower_bounds_.shape == (1,)
    assert mixture.n_iter_ == 0
    assert mixture.converged_


@pytest.mark.parametrize("n_components", [3, 8])
def test_attributes_describe_the_fit(bits: naive.Bits, n_components: int) -> None:
    mixture = BernoulliMixture(n_components, random_state=1).fit(bits)
    k = len(mixture.weights_)
    assert k <= n_components
    assert mixture.prototypes_.shape == (k, 75)
    assert mixture.n_features_in_ == 75
    assert mixture.lower_bound_ == mixture.lower_bounds_[-1]
    assert mixture.lower_bound_ == pytest.approx(mixture.score(bits), abs=1e-4)
    assert len(mixture.lower_bounds_) == 3 + mixture.n_iter_ + 1


def test_seeds(bits: naive.Bits) -> None:
    options = {"n_components": 5, "n_init": 1}
    a, b, c = (BernoulliMixture(**options, random_state=seed).fit(bits) for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.prototypes_, b.prototypes_)
    np.testing.assert_array_equal(a.weights_, b.weights_)
    assert not np.array_equal(a.prototypes_, c.prototypes_)
    np.testing.assert_array_equal(a.sample(9)[0], b.sample(9)[0])
    shared = np.random.RandomState(3)
    d, e = (BernoulliMixture(**options, random_state=shared).fit(bits) for _ in range(2))
    np.testing.assert_array_equal(d.prototypes_, a.prototypes_)
    assert not np.array_equal(d.prototypes_, e.prototypes_)


def test_the_number_of_threads_does_not_matter(fitted: BernoulliMixture, bits: naive.Bits) -> None:
    for n_jobs in (1, 2, 8):
        threaded = BernoulliMixture(4, random_state=0, n_jobs=n_jobs).fit(bits)
        np.testing.assert_array_equal(threaded.prototypes_, fitted.prototypes_)
        np.testing.assert_array_equal(threaded.lower_bounds_, fitted.lower_bounds_)


def test_fit_predict(fitted: BernoulliMixture, bits: naive.Bits) -> None:
    np.testing.assert_array_equal(BernoulliMixture(4, random_state=0).fit_predict(bits), fitted.predict(bits))


def test_more_starts_are_never_worse_at_the_warm_up(bits: naive.Bits) -> None:
    bounds = [
        BernoulliMixture(6, n_init=n_init, random_state=0, min_count=0).fit(bits).lower_bounds_[3]
        for n_init in (1, 3, 9)
    ]
    assert np.all(np.diff(bounds) >= 0)
    assert bounds[-1] > bounds[0]


def test_rows_are_scored_in_blocks() -> None:
    """More bits than are unpacked at once: every block lands in its own rows."""
    wide = naive.clustered_bits(100, 200_000, 2, seed=0)
    mixture = BernoulliMixture().fit(wide)
    np.testing.assert_allclose(
        mixture.score_samples(wide)[[0, 50, 99]],
        np.concatenate([mixture.score_samples(wide[i : i + 1]) for i in (0, 50, 99)]),
    )
    assert len(np.unique(mixture.score_samples(wide))) == 100
