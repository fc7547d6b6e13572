"""Table 3: what the networks noted down while they were trained, and verdicts that follow from it."""

import pytest

from bitreplay.experiments._ste_table import _claims, ste_table
from bitreplay.runs import Setting


def test_the_table_in_miniature(small_request):
    request = small_request()
    outcome = ste_table(request)
    [table] = outcome.tables
    assert [row[0] for row in table.rows] == ["p = 1", "p = 2", "p = 4", "without thermometer"]
    networks = [Setting(**request.setting, p=p) for p in (1, 2, 4)]
    accuracies = [one.trained(one.scenario()).accuracy for one in networks]
    for row, accuracy in zip(table.rows, accuracies, strict=False):
        assert row[1] == accuracy["plain_then_binarized"]
        assert row[3] == accuracy["straight_through"]
    assert len({accuracy["plain"] for accuracy in accuracies}) == 1  # the same first phase for every p
    assert table.rows[3][3] == pytest.approx(accuracies[0]["plain"])
    assert "4 classes" in table.title


def reached(without: list[float], trained: list[float]) -> dict:
    return {
        p: {"plain_then_binarized": a, "straight_through": b}
        for p, a, b in zip((1, 2, 4), without, trained, strict=True)
    }


@pytest.mark.parametrize(
    ("without", "trained", "verdicts"),
    [
        ([0.70, 0.75, 0.76], [0.815, 0.812, 0.812], [True, True, True]),  # as published
        ([0.70, 0.75, 0.80], [0.815, 0.812, 0.812], [False, True, True]),  # p = 4 does not need it
        ([0.70, 0.70, 0.70], [0.80, 0.80, 0.80], [True, None, False]),  # all need it alike, and lose by it
        ([0.76, 0.75, 0.70], [0.84, 0.84, 0.84], [True, False, True]),
    ],
)
def test_verdicts_follow_from_the_numbers(without, trained, verdicts):
    assert [claim.holds for claim in _claims(reached(without, trained), 0.815, 0.005)] == verdicts


def test_what_a_small_test_set_may_be_off_is_no_verdict():
    numbers = reached([0.70, 0.72, 0.69], [0.80, 0.80, 0.80])
    assert [claim.holds for claim in _claims(numbers, 0.815, 0.02)] == [True, None, True]
