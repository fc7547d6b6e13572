"""Verdicts: what counts as noise."""

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.experiments._difference import Difference, all_hold, difference
from tests.experiments.histories import method


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([0.006], True),  # one pair: half a point
        ([0.004], None),
        ([-0.006], False),
        ([0.001, 0.0012, 0.0008], True),  # small, but eight standard errors
        ([0.03, -0.02, 0.01], None),  # large, but within two
        ([-0.03, -0.028], False),
        ([0.004, 0.004, 0.004], None),  # nothing random: as one pair
        ([0.006, 0.006, 0.006], True),
        ([0.0, 0.0], None),
    ],
)
def test_a_difference_holds_from_two_standard_errors_or_half_a_point(values, holds):
    assert Difference(values).holds is holds


def test_mean_and_error_are_those_of_the_pairs():
    one, other = method("a", 0.5, 0.6, 0.7), method("b", 0.4, 0.55, 0.62)
    found = difference(one, other, metrics.final)
    assert found.mean == pytest.approx((0.1 + 0.05 + 0.08) / 3)
    assert found.error == pytest.approx(np.std([0.1, 0.05, 0.08], ddof=1) / np.sqrt(3))
    assert str(found) == "+7.7 points (standard error 1.5)"
    assert str(Difference([-0.0001])) == "+0.0 points"


def test_a_claim_of_parts_fails_with_one_of_them():
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([None, False, True]) is False
