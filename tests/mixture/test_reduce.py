"""Joining mixtures without samples: mass and mean are kept, and the cheapest pair goes first."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from bitreplay.errors import InputError
from bitreplay.mixture import Mixture, combine


def random_mixture(k: int, d: int, count: int, seed: int) -> Mixture:
    rng = np.random.default_rng(seed)
    return Mixture(rng.random((k, d)).astype(np.float32), rng.dirichlet(np.ones(k)), count)


def expected_log_likelihood(masses: np.ndarray, prototypes: np.ndarray, codes: np.ndarray) -> float:
    """Of bits drawn from components `prototypes` with weights `masses`, each scored by its prototype in `codes`."""
    total = 0.0
    for mass, mu, code in zip(masses, prototypes, codes, strict=True):
        for p, q in zip(mu.tolist(), code.tolist(), strict=True):
            total += mass * ((p * np.log(q) if p > 0 else 0.0) + ((1 - p) * np.log(1 - q) if p < 1 else 0.0))
    return total


def brute_force(mixtures: list[Mixture], n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Try every pair, and join the one that costs least, until few enough are left."""
    count = sum(mixture.count for mixture in mixtures)
    parts = [
        (weight * mixture.count / count, mu.astype(np.float64))
        for mixture in mixtures
        for weight, mu in zip(mixture.weights, mixture.prototypes, strict=True)
    ]
    while len(parts) > n_components:
        costs = {}
        for i, j in combinations(range(len(parts)), 2):
            masses, prototypes = (np.array(values) for values in zip(parts[i], parts[j], strict=True))
            mean = masses @ prototypes / masses.sum()
            before = expected_log_likelihood(masses, prototypes, prototypes)
            after = expected_log_likelihood(masses, prototypes, np.stack([mean, mean]))
            costs[i, j] = before - after
            assert costs[i, j] >= -1e-12
        i, j = min(costs, key=costs.__getitem__)
        (a, x), (b, y) = parts[i], parts[j]
        parts[i] = (a + b, (a * x + b * y) / (a + b))
        del parts[j]
    return np.array([part[0] for part in parts]), np.stack([part[1] for part in parts])


@pytest.mark.parametrize("n_components", [1, 2, 3, 5, 6])
@pytest.mark.parametrize("seed", range(5))
def test_against_brute_force_over_pairs(n_components: int, seed: int) -> None:
    mixtures = [random_mixture(4, 6, 300, seed), random_mixture(3, 6, 50, seed + 100)]
    weights, prototypes = brute_force(mixtures, n_components)
    joined = combine(mixtures, n_components)
    np.testing.assert_allclose(joined.weights, weights, rtol=1e-12)
    np.testing.assert_allclose(joined.prototypes, prototypes, atol=1e-6)


@pytest.mark.parametrize("n_components", [1, 2, 4, 8])
def test_mass_and_mean_are_kept(n_components: int) -> None:
    mixtures = [random_mixture(k, 20, 10 * k, seed=k) for k in (1, 4, 6)]
    joined = combine(mixtures, n_components)
    assert joined.count == 110
    assert len(joined.weights) == n_components
    assert joined.weights.sum() == pytest.approx(1, abs=1e-12)
    mean = sum(mixture.count / 110 * (mixture.weights @ mixture.prototypes) for mixture in mixtures)
    np.testing.assert_allclose(joined.weights @ joined.prototypes, mean, atol=1e-6)


def test_nothing_to_reduce_is_the_union_weighted_by_counts() -> None:
    a, b = random_mixture(2, 5, 30, 0), random_mixture(3, 5, 10, 1)
    joined = combine([a, b], 8)
    np.testing.assert_array_equal(joined.prototypes, np.concatenate([a.prototypes, b.prototypes]))
    np.testing.assert_allclose(joined.weights, np.concatenate([0.75 * a.weights, 0.25 * b.weights]))
    assert joined.prototypes.dtype == np.float32


def test_equal_prototypes_are_joined_first() -> None:
    a, b = random_mixture(4, 30, 60, 0), random_mixture(4, 30, 60, 0)
    joined = combine([a, b], 4)
    np.testing.assert_allclose(joined.prototypes, a.prototypes, atol=1e-6)
    np.testing.assert_allclose(joined.weights, a.weights)


def test_prototypes_of_exact_bits() -> None:
    """0 and 1 have no entropy; their mean has. Nothing becomes NaN."""
    one = Mixture(np.array([[0, 1, 0], [0, 1, 1]], dtype=np.float32), np.array([0.5, 0.5]), 10)
    two = Mixture(np.array([[1, 0, 0]], dtype=np.float32), np.ones(1), 10)
    joined = combine([one, two], 2)
    np.testing.assert_array_equal(joined.prototypes, [[0, 1, 0.5], [1, 0, 0]])
    np.testing.assert_allclose(joined.weights, [0.5, 0.5])


@pytest.mark.parametrize(
    ("mixtures", "n_components", "message"),
    [
        ([], 2, "at least one mixture"),
        ([random_mixture(2, 5, 9, 0)], 0, "n_components must be at least 1; got 0"),
        ([random_mixture(2, 5, 9, 0), random_mixture(2, 6, 9, 0)], 2, r"widths.*\[5, 6\]"),
    ],
)
def test_what_cannot_be_combined(mixtures: list[Mixture], n_components: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        combine(mixtures, n_components)


def test_mixtures_are_left_alone() -> None:
    a, b = random_mixture(3, 5, 30, 0), random_mixture(3, 5, 10, 1)
    before = [x.copy() for x in (a.prototypes, a.weights, b.prototypes, b.weights)]
    combine([a, b], 2)
    for x, y in zip(before, (a.prototypes, a.weights, b.prototypes, b.weights), strict=True):
        np.testing.assert_array_equal(x, y)
