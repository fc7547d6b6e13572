"""Where EM starts: around the centroid, or anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from bitreplay.mixture import EMOptions, fit_mixtures
from bitreplay.mixture._run import MARGIN, start, starts


def test_starts_lie_around_the_centroid() -> None:
    """Mean c_j and standard deviation sqrt(c_j (1 - c_j)), wherever the margins cut off little."""
    centroid = np.full(4, 0.5)
    wide = start(0, centroid, 40_000, EMOptions(), np.random.default_rng(0)).prototypes
    np.testing.assert_allclose(wide.mean(axis=0), 0.5, atol=5 * 0.5 / np.sqrt(40_000))
    inside = (wide > 0.25) & (wide < 0.75)  # within half a standard deviation: 0.5 / sqrt(3) of uniform noise
    share = 0.5 / np.sqrt(3)
    np.testing.assert_allclose(inside.mean(axis=0), share, atol=5 * np.sqrt(share * (1 - share) / 40_000))
    assert wide.min() == MARGIN
    assert wide.max() == 1 - MARGIN
    narrow = start(0, np.full(2, 0.5), 40_000, EMOptions(), np.random.default_rng(1)).prototypes - 0.5
    narrow = narrow[np.abs(narrow) < 0.4]
    assert abs(narrow.mean()) < 5 * 0.4 / np.sqrt(3 * len(narrow))  # what the margins leave is uniform
    assert narrow.std() == pytest.approx(0.4 / np.sqrt(3), rel=0.01)
    still = start(0, np.array([0.0, 1.0, 0.3]), 100, EMOptions(), np.random.default_rng(0)).prototypes
    np.testing.assert_array_equal(still[:, 0], MARGIN)  # a constant bit has no spread
    np.testing.assert_array_equal(still[:, 1], 1 - MARGIN)


def test_random_starts_do_not_look_at_the_centroid() -> None:
    options = EMOptions(init="random")
    a, b = (start(0, np.full(50, c), 8, options, np.random.default_rng(0)) for c in (0.1, 0.9))
    np.testing.assert_array_equal(a.prototypes, b.prototypes)
    assert abs(a.prototypes.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 400)


@pytest.mark.parametrize("init", ["centroid", "random"])
def test_starts_drawn_at_once_are_those_drawn_one_after_the_other(init: str) -> None:
    centroid, options = np.linspace(0, 1, 13), EMOptions(init=init)
    together = starts(0, centroid, 3, options, np.random.default_rng(1), 4)
    one_by_one = np.random.default_rng(1)
    for run in together:
        expected = start(0, centroid, 3, options, one_by_one)
        np.testing.assert_array_equal(run.prototypes, expected.prototypes)
        np.testing.assert_array_equal(run.weights, expected.weights)


def test_without_a_warm_up_the_likeliest_start_goes_on() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (60, 20))
    gained = []
    for seed in range(8):
        one, two = (
            fit_mixtures(
                [rows],
                EMOptions(n_components=3, n_init=n, warmup_iter=0, max_iter=1),
                generators=[np.random.default_rng(seed)],
            )[0].lower_bounds[0]
            for n in (1, 2)
        )
        gained.append(two - one)
    assert min(gained) == 0  # the first of two starts is the only one
    assert max(gained) > 0
