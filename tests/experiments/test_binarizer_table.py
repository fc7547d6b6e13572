"""Table 2: a network for every code, train and test accuracies where they belong, verdicts from the numbers."""

from dataclasses import replace

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.experiments._binarizer_table import FACTORS, PUBLISHED, TABLE_2, _claims, _range, binarizer_table
from bitreplay.experiments._networks import networks_table
from bitreplay.runs import Setting
from tests.experiments.histories import history, method

FEATURES = 8 * 4  # of small_cnn:width=4


def test_the_table_in_miniature(small_request):
    runs = []
    outcome = binarizer_table(replace(small_request(tasks=1), on_run=runs.append))
    assert len(runs) == 6
    [table] = outcome.tables
    by_case = {
        (run.config.get("binarizer", "thermometer"), run.config.get("f"), run.config.get("p")): run for run in runs
    }
    assert len(by_case) == 6
    assert [row[1] for row in table.rows] == [FEATURES * n for n in FACTORS for _ in range(2)]
    assert [row[0][:5] for row in table.rows] == ["GBM^T", "GBM^H"] * 3
    histories = [run.history for run in runs]  # thermometer p = 1, 2, 4, then heaviside f = 1, 2, 4
    for row, one in zip(table.rows, [histories[i] for i in (0, 3, 1, 4, 2, 5)], strict=True):
        right, count = one.train_right, one.train_count
        assert row[2] == pytest.approx(right[0].sum() / count[0].sum())
        assert row[4] == metrics.per_state(one)[0]
        assert row[6] == pytest.approx(right[-1].sum() / count[-1].sum())
        assert row[8] == metrics.final(one)
        assert count[-1].sum() == 8 * 24  # old tasks' training samples included
    assert table.rows[0][9] == PUBLISHED["thermometer"][0][3] == 0.579


def measured(thermometer: list[float], heaviside: list[float], initial: list[float]) -> dict:
    cells = {}
    for name, finals in (("thermometer", thermometer), ("heaviside", heaviside)):
        for factor, final, first in zip(FACTORS, finals, initial, strict=True):
            cells[name, factor] = MethodRuns(name, (0,), (history([first, final], train=[1.0, 1.0]),))
    return cells


@pytest.mark.parametrize(
    ("thermometer", "heaviside", "initial", "verdicts"),
    [  # 0.27 points are 95 %
        ([0.58, 0.575, 0.57], [0.55, 0.55, 0.545], [0.80, 0.80, 0.803], [True, True, True, True]),
        ([0.58, 0.575, 0.57], [0.55, 0.55, 0.541], [0.80, 0.80, 0.802], [True, True, None, None]),  # 0.9 may be 1
        ([0.58, 0.575, 0.57], [0.55, 0.55, 0.58], [0.80, 0.80, 0.82], [False, True, True, False]),
        ([0.58, 0.575, 0.60], [0.55, 0.573, 0.55], [0.81, 0.80, 0.80], [None, False, False, False]),
        ([0.58, 0.575, 0.578], [0.55, 0.55, 0.55], [0.80, 0.80, 0.809], [True, None, True, None]),  # the initial task
    ],
)
def test_verdicts_follow_from_the_numbers(thermometer, heaviside, initial, verdicts):
    claims = _claims(measured(thermometer, heaviside, initial))
    assert [claim.holds for claim in claims] == verdicts
    assert claims[0].measured.startswith(f"p = f = 1: {100 * (thermometer[0] - heaviside[0]):+.1f} points (95 %: ")
    assert claims[3].measured.startswith(f"initial task: {100 * np.ptp(initial):+.1f} points (95 %: ")


def test_at_full_scale_networks_for_one_claim_only_are_left_out_unless_trained(small_request):
    request = replace(small_request(tasks=1, training={"epochs": 1, "ste_epochs": 1}), scale="full")
    outcome = binarizer_table(request)
    rows = [row[0] for row in outcome.tables[0].rows]
    assert rows == ["GBM^T, p = 1", "GBM^T, p = 2", "GBM^H, f = 2", "GBM^T, p = 4"]
    assert "heaviside, f = 1; heaviside, f = 4" in outcome.remarks[-1]
    assert outcome.claims[0].measured.startswith("p = f = 2: ")
    assert outcome.claims[3].holds is None
    setting = Setting(**{**request.setting, "binarizer": "heaviside", "f": 4})
    setting.trained(setting.scenario(), progress=False)
    again = binarizer_table(request)
    assert len(again.tables[0].rows) == 5
    assert again.claims[3].measured.startswith("initial task: ")
    offered = [*TABLE_2.networks, *TABLE_2.optional_networks]
    assert len(networks_table(request, offered)[0].rows) == 5  # the optional one that has been trained is among them


def test_sizes_that_are_alike_on_average_may_differ_with_every_seed():
    rising, flat, falling = (method("heaviside", 0.56 - by, 0.56 + by) for by in (0.01, 0, -0.01))
    found = _range([rising, flat, falling], metrics.final)
    assert found.values == pytest.approx([0.02, 0.02])
    assert found.at_most(0.01).holds is False
    assert _range([flat, flat], metrics.final).at_most(0.01).holds is True
