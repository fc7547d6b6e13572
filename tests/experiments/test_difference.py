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
        ([0.004, 0.008, 0.006], True),  # 5.2 of three pairs, and 95 % are 4.3
        ([0.003, 0.009, 0.006], None),  # 3.5
        ([0.003, 0.009, 0.006] * 2, True),  # 5.5 of six pairs, and 95 % are 2.6
        ([0.03, -0.02, 0.01], None),
        ([-0.03, -0.028], False),
        ([0.004, 0.004, 0.004], None),  # nothing random: as one pair
        ([0.006, 0.006, 0.006], True),
        ([0.0, 0.0], None),
    ],
)
def test_a_difference_holds_where_it_is_more_than_noise(values, holds):
    assert Difference(values).holds is holds


def test_mean_and_error_are_those_of_the_pairs():
    one, other = method("a", 0.5, 0.6, 0.7), method("b", 0.4, 0.55, 0.62)
    found = difference(one, other, metrics.final)
    assert found.mean == pytest.approx((0.1 + 0.05 + 0.08) / 3)
    assert found.error == pytest.approx(np.std([0.1, 0.05, 0.08], ddof=1) / np.sqrt(3))
    assert str(found) == "+7.7 points (standard error 1.5)"
    assert str(Difference([-0.0001])) == "+0.0 points"


def test_one_run_may_be_off_by_what_its_test_set_is():
    few, many = (difference(method("a", 0.52, samples=n), method("b", 0.5, samples=n)) for n in (500, 5000))
    assert few.holds is None  # 1000 samples of two classes: two standard errors are 3.2 points
    assert many.holds is True  # 1.0
    assert few.margin == pytest.approx(2 * np.sqrt(0.5 * 0.5 / 1000))
    assert difference(method("a", 0.52, 0.522, samples=500), method("b", 0.5, 0.5, samples=500)).holds is True


def test_small_errors_are_shown_as_they_are():
    assert str(Difference([0.0010, 0.0012])) == "+0.11 points (standard error 0.01)"


def test_a_difference_reaches_a_figure_if_it_is_positive_and_not_clearly_smaller():
    assert Difference([0.3, 0.32, 0.31]).reaches(0.33) is True
    assert Difference([0.2, 0.22, 0.21]).reaches(0.33) is False
    assert Difference([-0.2, 0.9, 0.1]).reaches(0.33) is None
    assert Difference([-0.2, -0.22, -0.21]).reaches(0.33) is False


def test_a_claim_of_parts_fails_with_one_of_them():
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([None, False, True]) is False
