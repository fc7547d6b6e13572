"""Logarithms and exponentials in integers: against floats, and C against Python."""

from __future__ import annotations

import ctypes
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bitreplay.device import _em, _fixed_point
from bitreplay.device._fixed_point import exponential, logarithm, scaled_logarithms
from bitreplay.device._layout import LEAST_CLAMP


@given(st.integers(1, 2**32 - 1))
def test_logarithm_is_right_to_within_two(x: int) -> None:
    assert abs(int(logarithm(x)) - 4096 * math.log(x)) <= 2


@given(st.integers(1, 2**32 - 2))
def test_logarithm_never_falls(x: int) -> None:
    assert logarithm(x) <= logarithm(x + 1)


@given(st.integers(0, 60_000))
def test_exponential_is_right_to_within_a_hundredth(gap: int) -> None:
    assert abs(int(exponential(gap)) - 2**15 * math.exp(-gap / 4096)) <= 2 + 0.01 * 2**15 * math.exp(-gap / 4096)


def test_the_table_of_unset_bits_is_that_of_set_ones_backwards() -> None:
    for levels, clamp in ((7, 0.08), (255, 0.02)):
        mu = np.clip(np.arange(levels + 1) / levels, clamp, 1 - clamp)
        np.testing.assert_array_equal(scaled_logarithms(levels, clamp)[::-1], np.rint(4096 * np.log1p(-mu)))


def test_c_computes_the_same_logarithms(library: ctypes.CDLL) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([np.arange(1, 3000), 2 ** np.arange(32), 2 ** np.arange(1, 33) - 1])
    values = np.concatenate([values, rng.integers(1, 2**32, 20_000)])
    library.bitreplay_logarithm.restype = ctypes.c_int32
    found = [library.bitreplay_logarithm(ctypes.c_uint32(int(value))) for value in values]
    np.testing.assert_array_equal(found, logarithm(values))


def test_c_has_the_same_tables(library: ctypes.CDLL) -> None:
    tables = {
        "exp_whole": (ctypes.c_uint16, _fixed_point.EXP_WHOLE),
        "exp_parts": (ctypes.c_uint16, _fixed_point.EXP_PARTS),
        "em_logarithms": (ctypes.c_int16, _em.EM_LOGARITHMS),
        "em_log_odds": (ctypes.c_int16, _em.EM_LOG_ODDS),
    }
    for name, (kind, expected) in tables.items():
        found = (kind * len(expected)).in_dll(library, f"bitreplay_{name}")
        np.testing.assert_array_equal(list(found), expected, err_msg=name)


def test_the_bounds_that_the_comments_of_the_c_sources_rest_on() -> None:
    assert max(np.abs(_em.EM_LOGARITHMS).max(), np.abs(_em.EM_LOG_ODDS).max()) <= 16024
    most = logarithm(65535 * 65535) - logarithm(1)  # a mixing weight of 1 beside 65535 others of 65535
    assert most <= 90_900
    assert 65535 * 32767 + 90_900 < 2**31
    assert scaled_logarithms(1, LEAST_CLAMP).min() >= -32767
    assert 65535 * 16024 + 90_900 < 2**31
    assert 65535 * 2**15 < 2**31
    assert 2**24 * 255 + 2**23 < 2**32  # the division of the M-step
    assert 65535 * 65535 + 65535 // 2 < 2**32  # that of the mixing weights
