"""Table 3: what the networks noted down while they were trained, and verdicts that follow from it."""

import numpy as np
import pytest

from bitreplay.experiments._ste_table import CONTROL, _claims, ste_table
from bitreplay.runs import Setting
from tests.experiments.conftest import TEST
from tests.experiments.histories import interval


def test_the_table_in_miniature(small_request):
    request = small_request()
    outcome = ste_table(request)
    [table] = outcome.tables
    assert [row[0] for row in table.rows] == ["p = 1", "p = 2", "p = 4", "without thermometer", CONTROL]
    networks = [Setting(**request.setting, p=p) for p in (1, 2, 4)]
    accuracies = [one.trained(one.scenario()).accuracy for one in networks]
    for row, accuracy in zip(table.rows, accuracies, strict=False):
        assert row[1] == accuracy["plain_then_binarized"]
        assert row[3] == accuracy["straight_through"]
    assert len({accuracy["plain"] for accuracy in accuracies}) == 1  # the same first phase for every p
    assert table.rows[3][3] == pytest.approx(accuracies[0]["plain"])
    assert "4 classes" in table.title
    control = Setting(**request.setting, binarizer="none", training={"continued": True})
    reached = control.trained(control.scenario()).accuracy
    assert reached["plain"] == accuracies[0]["plain"]
    assert table.rows[4][3] == reached["continued"]


def test_two_networks_may_be_off_by_more_than_one(small_request):
    """Each by the error of its own proportion; and a difference of two differences by that of all four."""
    outcome = ste_table(small_request(encoder="small_cnn:width=1"))
    *networks, (*_, plain, _), (*_, control, _) = outcome.tables[0].rows
    n = 4 * TEST

    def off(*shares):
        estimated = [(share * n + 1) / (n + 2) for share in shares]  # nobody is certain for want of an error
        return 2.0129 * np.sqrt(sum(share * (1 - share) / n for share in estimated))  # Student's t, n - 1 degrees

    assert n == 48
    gains = [trained - without for _, without, _, trained, _ in networks]
    both = [(trained, without) for _, without, _, trained, _ in networks]
    needed, falling, alike, as_long = (claim.measured for claim in outcome.claims)
    assert needed.startswith(f"p = 1: {interval(gains[0], off(*both[0]))}, p = 2: ")
    four = interval(gains[0] - gains[2], off(*both[0], *both[2]))
    assert falling == f"it adds {four} more at p = 1 than at p = 4"
    assert alike.startswith(f"p = 1: {interval(networks[0][3] - plain, off(networks[0][3], plain))}, p = 2: ")
    assert as_long.startswith(f"p = 1: {interval(networks[0][3] - control, off(networks[0][3], control))}, p = 2: ")


def reached(without: list[float], trained: list[float]) -> dict:
    return {
        p: {"plain_then_binarized": a, "straight_through": b}
        for p, a, b in zip((1, 2, 4), without, trained, strict=True)
    }


@pytest.mark.parametrize(
    ("without", "trained", "samples", "verdicts"),
    [
        ([0.70, 0.75, 0.76], [0.815, 0.812, 0.812], 10**7, [True, True, True]),  # as published, of very many samples
        ([0.70, 0.75, 0.76], [0.815, 0.812, 0.812], 12_000, [True, True, None]),  # 0.3 points may be more than 0.4
        ([0.70, 0.75, 0.80], [0.815, 0.812, 0.812], 10**7, [False, True, True]),  # p = 4 does not need it
        ([0.70, 0.75, 0.80], [0.815, 0.812, 0.812], 12_000, [True, True, None]),  # but 1.2 points may be 2
        ([0.70, 0.70, 0.70], [0.80, 0.80, 0.80], 300_000, [True, None, False]),  # all need it alike, and lose by it
        ([0.76, 0.75, 0.70], [0.84, 0.84, 0.84], 12_000, [True, False, True]),
    ],
)
def test_verdicts_follow_from_the_numbers(without, trained, samples, verdicts):
    claims = _claims(reached(without, trained), 0.815, 0.815, samples)
    assert [claim.holds for claim in claims] == [*verdicts, verdicts[2]]


def test_a_control_that_gained_as_much_by_its_second_phase_counts():
    """Better than the plain network, and worse than the one that was trained for as long."""
    claims = _claims(reached([0.70, 0.75, 0.76], [0.82, 0.82, 0.82]), 0.815, 0.83, 10**7)
    assert [claim.holds for claim in claims] == [True, True, True, False]


def test_what_a_small_test_set_may_be_off_is_no_verdict():
    numbers = reached([0.70, 0.72, 0.69], [0.80, 0.80, 0.80])
    assert [claim.holds for claim in _claims(numbers, 0.815, 0.815, 800)] == [True, None, None, None]
