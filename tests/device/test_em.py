"""EM in integers: against a naive scalar version, against the mean, and against EM in floats on real bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from sklearn.datasets import load_digits

from bitreplay.bits import pack
from bitreplay.device import Layout
from bitreplay.device._em import EM_LOG_ODDS, EM_LOGARITHMS, Hands, e_step, fit_prototypes
from bitreplay.device._fixed_point import ONE, exponential, logarithm
from bitreplay.mixture import EMOptions, fit_mixtures, linear_form


def naive_step(samples: list[list[int]], shares: list[list[int]]) -> list[list[int]]:
    """One step of EM with Python's integers, sample by sample and bit by bit, as bitreplay_enrol.c writes it down."""
    n, n_k, d = len(samples), len(shares[0]), len(samples[0])
    masses = [sum(row[k] for row in shares) for k in range(n_k)]
    levels = []
    for k in range(n_k):
        mass = max(1, masses[k])
        shift = max(0, mass.bit_length() - 24)
        counts = [sum(row[k] for row, sample in zip(shares, samples, strict=True) if sample[j]) for j in range(d)]
        levels.append([((c >> shift) * 255 + (mass >> shift) // 2) // (mass >> shift) for c in counts])
    new = []
    for sample in samples:
        scores = []
        for k in range(n_k):
            score = int(logarithm(max(1, masses[k]))) - int(logarithm(n * ONE))
            for j in range(d):
                score += int(EM_LOGARITHMS[levels[k][j]]) + (int(EM_LOG_ODDS[levels[k][j]]) if sample[j] else 0)
            scores.append(score)
        parts = [int(exponential(max(scores) - score)) for score in scores]
        row = [(part << 15) // sum(parts) for part in parts]
        row[scores.index(max(scores))] += ONE - sum(row)
        new.append(row)
    return new


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 6), st.integers(2, 4))
@settings(deadline=None)
def test_a_step_is_the_naive_one(seed: int, n: int, d: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    samples = (rng.random((n, d)) < rng.random(d)).astype(np.float64)
    shares = np.zeros((n, k), dtype=np.int64)
    shares[np.arange(n), rng.integers(0, k, n)] = ONE
    hands = Hands(samples, shares)
    for _ in range(2):
        expected = naive_step(samples.astype(int).tolist(), hands.shares.tolist())
        e_step(hands)
        assert hands.shares.tolist() == expected


@given(st.integers(0, 2**32), st.integers(1, 200), st.integers(1, 40), st.integers(1, 8))
@settings(deadline=None)
def test_one_prototype_is_the_rounded_mean(seed: int, n: int, d: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    samples = (rng.random((n, d)) < rng.random(d)).astype(int)
    weights, codes = fit_prototypes(pack(samples), Layout(d, q, prototypes=1))
    counts, top = samples.sum(axis=0), 2**q - 1
    assert weights.tolist() == [65535]
    assert codes[0].tolist() == [(2 * int(c) * top + n) // (2 * n) for c in counts]  # floor(mean * top + 1/2)


@given(st.integers(0, 2**32), st.integers(1, 80), st.integers(1, 40), st.integers(1, 6), st.integers(1, 6))
@settings(deadline=None)
def test_every_prototype_rests_on_enough_samples(seed: int, n: int, d: int, k: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    samples = rng.random((n, d)) < rng.random((2, d))[rng.integers(0, 2, n)]
    weights, codes = fit_prototypes(pack(samples), Layout(d, prototypes=k, min_count=least))
    assert 1 <= len(weights) == len(codes) <= min(k, max(1, n // least))
    assert weights.max() == 65535
    shares = weights / weights.sum(dtype=np.float64) * n
    assert (shares >= least * (1 - 1e-3)).all() or len(weights) == 1  # weights are rounded to 16 bits


def test_shares_add_up_to_one_and_nothing_is_lost() -> None:
    rng = np.random.default_rng(0)
    samples = (rng.random((60, 33)) < rng.random(33)).astype(np.float64)
    hands = Hands(samples, np.full((60, 4), ONE // 4, dtype=np.int64))
    for _ in range(3):
        e_step(hands)
        assert (hands.shares.sum(axis=1) == ONE).all()
        assert hands.masses.sum() == 60 * ONE
        assert (hands.shares >= 0).all()


def test_planted_prototypes_are_found_in_any_order_of_samples() -> None:
    rng = np.random.default_rng(1)
    planted = rng.random((3, 120)).round()
    which = np.repeat([0, 1, 2], 40)
    noisy = np.where(rng.random((120, 120)) < 0.05, 1 - planted[which], planted[which]).astype(int)
    for order in (np.arange(120), rng.permutation(120), np.argsort(which[::-1], kind="stable")):
        weights, codes = fit_prototypes(pack(noisy[order]), Layout(120, prototypes=3))
        found = np.array(sorted((codes > 3).astype(int).tolist()))
        np.testing.assert_array_equal(found, np.array(sorted(planted.astype(int).tolist())))
        np.testing.assert_allclose(weights / weights.sum(dtype=float), 1 / 3, atol=0.01)


def test_it_is_as_likely_as_em_in_floats_on_held_out_digits() -> None:
    images, labels = load_digits(return_X_y=True)
    bits = np.concatenate([images >= threshold for threshold in (4, 8, 12, 16)], axis=1)
    options = EMOptions(n_components=8)
    integer, floating = [], []
    for digit in range(10):
        own = bits[labels == digit]
        train, test = own[::2], own[1::2].astype(float)
        weights, codes = fit_prototypes(pack(train), Layout(256, bits=8))
        [mixture] = fit_mixtures([train], options)
        for found, mu, pi in (
            (integer, codes / 255, weights / weights.sum(dtype=float)),
            (floating, mixture.prototypes, mixture.weights),
        ):
            slopes, offsets = linear_form(mu, pi, options.clamp)
            found.append(logsumexp(test @ slopes.T + offsets, axis=1).mean())
    # Starts differ, and so do results: by 0.3 nats of 53 from seed to seed. A broken step costs several.
    assert np.mean(integer) == pytest.approx(np.mean(floating), abs=1.0)
