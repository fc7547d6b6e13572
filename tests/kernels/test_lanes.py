"""The vector arithmetic beneath the kernels, element by element against NumPy."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from bitreplay._kernels import lanes


@numba.njit(error_model="numpy", fastmath={"contract"})
def logarithms(x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.size):
        out[i] = lanes.log(x[i])


@numba.njit
def sum_of_rows(rows: np.ndarray, out: np.ndarray) -> None:
    total = lanes.zeros(rows)
    for r in range(len(rows)):
        total = lanes.add(total, lanes.load(rows, r))
    lanes.store(out, 0, total)


def ours(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    logarithms(x, out)
    return out


def test_log_over_all_magnitudes() -> None:
    rng = np.random.default_rng(0)
    x = 10.0 ** rng.uniform(-307, 308, 200_000)
    np.testing.assert_array_max_ulp(ours(x), np.log(x), maxulp=2)


def test_log_of_what_the_kernels_ask_for() -> None:
    """Probabilities between a tiny clamp and 1, dense near both ends."""
    rng = np.random.default_rng(1)
    small = 10.0 ** rng.uniform(-12, 0, 100_000)
    np.testing.assert_array_max_ulp(ours(small), np.log(small), maxulp=2)
    near_one = 1 - small[small < 0.5]
    np.testing.assert_array_max_ulp(ours(near_one), np.log(near_one), maxulp=2)
    near_one = 1 + small
    np.testing.assert_array_max_ulp(ours(near_one), np.log(near_one), maxulp=2)


def test_log_of_special_points() -> None:
    powers = 2.0 ** np.arange(-1022, 1024)
    np.testing.assert_array_max_ulp(ours(powers), np.log(powers), maxulp=1)
    assert ours(np.array([1.0]))[0] == 0
    # On both sides of sqrt(1/2) and sqrt(2), where the reduction changes the exponent.
    for edge in (np.sqrt(0.5), np.sqrt(2.0)):
        x = edge + np.arange(-50, 50) * np.spacing(edge)
        np.testing.assert_array_max_ulp(ours(x), np.log(x), maxulp=2)
    extremes = np.array([np.finfo(np.float64).tiny, np.finfo(np.float64).max])
    np.testing.assert_array_max_ulp(ours(extremes), np.log(extremes), maxulp=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_eight(dtype: type) -> None:
    rows = np.random.default_rng(2).integers(-1000, 1000, (37, lanes.LANES)).astype(dtype)  # exact in both types
    out = np.empty((1, lanes.LANES), dtype)
    sum_of_rows(rows, out)
    np.testing.assert_array_equal(out[0], rows.sum(axis=0))
