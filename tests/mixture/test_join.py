"""Mixtures of a past and further samples, against naive formulas and what is known of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from bitreplay.bits import PackedBits, concatenate, pack
from bitreplay.mixture import EMOptions, Mixture, _join, fit_mixtures, join_mixtures

D = 40
CLUSTERS = np.random.default_rng(0).random((4, D))
OPTIONS = EMOptions(n_components=4)


def draw(n: int, seed: int, clusters: tuple[int, ...] = (0, 1, 2, 3)) -> PackedBits:
    rng = np.random.default_rng(seed)
    return pack(rng.random((n, D)) < 0.05 + 0.9 * CLUSTERS[rng.choice(clusters, n)])


def fit(bits: PackedBits, options: EMOptions = OPTIONS) -> Mixture:
    return fit_mixtures([bits], options)[0]


def join(past: Mixture, bits: PackedBits, options: EMOptions = OPTIONS, seed: int = 0) -> Mixture:
    return join_mixtures([past], [bits], options, generators=[np.random.default_rng(seed)])[0]


def density(mixture: Mixture, bits: PackedBits) -> float:
    mu = mixture.prototypes.clip(0.02, 0.98).astype(np.float64)
    values = bits.unpack(np.float64)
    joint = values @ np.log(mu).T + (1 - values) @ np.log(1 - mu).T + np.log(mixture.weights)
    return float(logsumexp(joint, axis=1).mean())


@pytest.mark.parametrize("n", [1, 7, 60])
def test_the_mean_is_that_of_the_past_and_of_all_samples(n: int) -> None:
    past, bits = fit(draw(33, 1)), draw(n, 2)
    joined = join(past, bits)
    expected = (past.weights @ past.prototypes * 33 + bits.unpack(np.float64).sum(axis=0)) / (33 + n)
    assert np.allclose(joined.weights @ joined.prototypes, expected, atol=1e-6)
    assert joined.count == 33 + n
    assert joined.weights.sum() == pytest.approx(1)


def test_clusters_of_the_past_and_of_the_samples_are_both_there() -> None:
    first, more, unseen = draw(60, 1, (0, 1)), draw(60, 2, (2, 3)), draw(500, 3)
    joined = join(fit(first), more)
    assert density(joined, unseen) > density(fit(concatenate([first, more])), unseen) - 0.5
    assert density(joined, unseen) > density(fit(first), unseen) + 5


def test_there_are_as_many_prototypes_as_all_samples_suffice_for() -> None:
    for before, n in ((3, 1), (6, 5), (12, 9), (60, 60)):
        assert len(join(fit(draw(before, 1)), draw(n, 2)).weights) <= OPTIONS.components_for(before + n)
    assert len(join(fit(draw(60, 1)), draw(60, 2)).weights) == 4


def test_a_step_is_that_of_the_naive_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_join, "STEPS", 1)
    past, bits, start = fit(draw(30, 1)), draw(20, 2), fit(draw(50, 3))
    mu = start.prototypes.clip(0.02, 0.98)
    totals, counts = np.zeros((4, D)), np.zeros(4)
    rows = [*zip(past.prototypes, past.weights * 30, strict=True), *((row, 1.0) for row in bits.unpack(np.float64))]
    for row, often in rows:
        joint = [np.log(start.weights[k]) + sum(row * np.log(mu[k]) + (1 - row) * np.log(1 - mu[k])) for k in range(4)]
        shares = np.exp(np.array(joint) - logsumexp(joint)) * often
        counts += shares
        totals += shares[:, None] * row
    after = _join._settled(start, past, bits, OPTIONS)
    assert np.allclose(after.weights, counts / 50, atol=1e-5)
    assert np.allclose(after.prototypes, totals / counts[:, None], atol=1e-4)


def test_shares_of_rows_that_all_components_make_unlikely_are_defined() -> None:
    joint = np.log([[0.2, 0.3, 0.5], [0.7, 0.2, 0.1]])
    assert np.allclose(_join._shares(joint - 2000), np.exp(joint))  # e^-2000 is 0 in float64


def test_classes_do_not_depend_on_each_other_nor_on_threads_and_equal_weights_stay_equal() -> None:
    pasts, classes = [fit(draw(30, seed)) for seed in (1, 2, 3)], [draw(25, seed) for seed in (4, 5, 6)]
    for options in (OPTIONS, replace(OPTIONS, weights="fixed")):
        together = join_mixtures(
            pasts, classes, options, generators=[np.random.default_rng(seed) for seed in range(3)], n_jobs=2
        )
        for seed, joined in enumerate(together):
            alone = join(pasts[seed], classes[seed], options, seed)
            assert np.array_equal(alone.prototypes, joined.prototypes)
            assert np.array_equal(alone.weights, joined.weights)
            if options.weights == "fixed":
                assert np.allclose(joined.weights, 1 / len(joined.weights))
