"""Online EM against its formula, one sample after the other, and against the exact answers of easy cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitreplay.bits import pack
from bitreplay.mixture import _online, online_steps


def naive(mu, counts, rows, clamp, equal):
    """Cappé and Moulines with the step 1/n, in sums: s_k and s_k x, the parameters after every sample."""
    n, sums = np.array(counts, float), np.array(counts, float)[:, None] * np.array(mu, float)
    for row in rows:
        present = np.clip(sums / n[:, None], clamp, 1 - clamp)
        likelihood = np.prod(np.where(row, present, 1 - present), axis=1) * (1 if equal else n)
        shares = likelihood / likelihood.sum()
        n, sums = n + shares, sums + shares[:, None] * row
    return sums / n[:, None], n


@pytest.mark.parametrize("equal", [False, True])
def test_steps_of_single_samples_are_those_of_the_formula(monkeypatch, equal):
    monkeypatch.setattr(_online, "SHARE", 10**9)
    rng = np.random.default_rng(0)
    mu, counts, rows = rng.random((3, 12)), [4.0, 0.5, 9.25], rng.integers(0, 2, (20, 12))
    expected = naive(mu, counts, rows, 0.02, equal)
    for found, wanted in zip(online_steps(mu, counts, pack(rows), 0.02, equal=equal), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_one_prototype_is_the_mean_of_all_samples_however_they_come(seed, n_calls):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (60, 9))
    mu, n = rows[:5].mean(axis=0)[None], np.array([5.0])
    for part in np.array_split(rows[5:], n_calls):
        mu, n = online_steps(mu, n, pack(part), 0.02)
    np.testing.assert_allclose(mu[0], rows.mean(axis=0), atol=1e-12)
    assert n == pytest.approx([60])


@given(st.integers(0, 2**32 - 1))
def test_samples_are_shared_out_whole_and_prototypes_stay_probabilities(seed):
    rng = np.random.default_rng(seed)
    mu, n = online_steps(rng.integers(0, 2, (4, 7)), rng.random(4) * 20, pack(rng.integers(0, 2, (33, 7))), 0.02)
    assert ((mu >= 0) & (mu <= 1)).all()
    start = np.random.default_rng(seed)
    start.integers(0, 2, (4, 7))
    assert n.sum() == pytest.approx((start.random(4) * 20).sum() + 33)


def test_samples_of_many_bits_are_shared_out_by_logarithms():
    """Their probabilities are far below the least float."""
    mu = np.stack([np.full(4000, 0.5), np.full(4000, 0.5)])
    mu[1, 0] = 0.75
    _, n = online_steps(mu, [1.0, 1.0], pack(np.ones((1, 4000), np.uint8)), 0.02)
    np.testing.assert_allclose(n, [1 + 0.4, 1 + 0.6])  # 0.5 : 0.75


def test_a_stream_finds_the_mixture_it_comes_from():
    rng = np.random.default_rng(0)
    truth = rng.random((2, 64))
    which = rng.random(4000) < 0.7
    rows = rng.random((4000, 64)) < truth[which.astype(int)]
    mu, n = online_steps(truth * 0.5 + 0.25, [5, 5], pack(rows), 0.02)  # a start far off, but on either side
    assert np.abs(mu - truth).mean() < 0.015
    assert n[1] / n.sum() == pytest.approx(0.7, abs=0.03)
