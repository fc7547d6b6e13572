"""The stand-ins for table 5 in miniature: a tiny QuickNet v0.2 with random weights, and verdicts that stay open."""

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.errors import InputError
from bitreplay.evaluation import History
from bitreplay.experiments import EXPERIMENTS, Request
from bitreplay.experiments._table_5_stand_ins import (
    EIGHT,
    ETH_PLANS,
    LATENT,
    ONE,
    Part,
    Plan,
    _dealt,
    _difference,
    stand_in,
)
from tests.backbones.v02_files import arrays, write

D = 64  # one pixel of 64 channels
ROWS = ["LatentReplayCWR:exemplars=4", ONE, EIGHT]
PLAN = Plan(
    "eight patterns",
    {"sizes": [2, 6]},
    [1993, 0],
    [
        Part("linear", ["architecture=linear"], [0], ROWS),
        Part("rest of the network", ["architecture=quicknet_tail", "batch_size=16"], [0], ROWS),
    ],
    ["a remark"],
)


@pytest.fixture
def encoder(tmp_path):
    file = write(tmp_path / "weights.npz", arrays(width=8))
    return f"quicknet_v02:weights={file},width=8,image_size=32,tap=3,n_classes=5"


def test_both_kinds_of_g_over_two_orders(small_request, encoder):
    request = small_request(seeds=(0, 1), tasks=None, encoder=encoder, preset=None)
    runs = []
    object.__setattr__(request, "on_run", runs.append)
    outcome = stand_in({"cpu": PLAN}, request, ["epochs=1"])
    assert len(runs) == 2 * 2 * 2 * len(ROWS)  # kinds of G, orders, seeds
    assert len({tuple(np.concatenate(run.history.classes)) for run in runs}) == 2
    [table] = outcome.tables
    of = {name: [row[table.columns.index(name)] for row in table.rows] for name in table.columns}
    assert of["G"] == ["linear"] * 3 + ["rest of the network"] * 3
    assert of["orders"] == of["seeds"] == [2] * 6
    finals = [
        [metrics.final(run.history) for run in runs if run.name == name] for name in dict.fromkeys(r.name for r in runs)
    ]
    assert of["final"] == pytest.approx([np.mean(four) for four in finals])
    for row, four in enumerate(finals):  # two seeds of one order, then of the other
        orders = np.reshape(four, (2, 2))
        assert of["± orders, final"][row] == pytest.approx(orders.mean(1).std(ddof=1))
        assert of["± seeds, final"][row] == pytest.approx(orders.std(1, ddof=1).mean())
    assert of["memory"][:2] == [4 * D * 8, 1 * D * 8 * 32]  # E D n_c, and K D n_c q
    assert of["memory"][2] <= 8 * D * 8 * 32  # few samples make few prototypes
    assert [claim.holds for claim in outcome.claims] == [None] * 4
    better = np.mean(finals[1]) - np.mean(finals[0])
    assert f"against E = 4 {100 * better:+.1f} points" in outcome.claims[0].measured
    assert f"with {4 / 32:.1f} times less memory" in outcome.claims[0].measured


def with_answers(answers):
    """A history of two classes in one task, each with six test samples: two views each of three things."""
    given = np.asarray(answers, dtype=bool)
    right = given.reshape(2, 6).sum(1)
    confusion = np.array([[right[0], 6 - right[0]], [6 - right[1], right[1]]])
    return History.empty("x").append([0, 1], confusion, answers=given, memory_bits=0, working_set_bits=0, seconds=0.0)


def test_views_of_a_thing_are_left_out_together():
    one, other = [1, 1, 1, 1, 0, 0] * 2, [1, 1, 0, 0, 0, 0] * 2  # things are known or not, all views alike
    assert _dealt(with_answers(one), 3).answers[0].tolist() == [1, 1, 0, 1, 1, 0] * 2
    methods = [[MethodRuns("x", (0,), (with_answers(answers),))] for answers in (one, other)]
    found = _difference(ETH_PLANS["cpu"], *methods)
    assert list(found.values) == pytest.approx([1 / 3])
    without = np.array([1 / 2, 0, 1 / 2])  # the first thing, the second, the third
    assert found.test_error == pytest.approx(np.sqrt(2 / 3 * ((without - without.mean()) ** 2).sum()))
    assert found.n_parts == 3


def test_what_is_missing_is_named_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path))
    with pytest.raises(InputError) as error:
        EXPERIMENTS["table-5-eth80"].run(Request("cpu", tmp_path / "runs"))
    assert "ETH-80: put its parquet files" in str(error.value)
    assert "put quicknet_v02.npz into" in str(error.value)


def test_the_rows_are_those_of_table_5():
    linear, tail = ETH_PLANS["paper"].parts
    assert list(linear.rows) == list(tail.rows)
    assert len(linear.rows) == 9
    assert LATENT[-1] == "LatentReplayCWR:exemplars=150"
