"""Stopping after task 0: what it answers, and how methods stand against it in table 1."""

from itertools import permutations

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.evaluation import RunResult
from bitreplay.experiments._main_runs import FINE_TUNED, Column, stopping
from bitreplay.experiments._main_table import _about_stopping, _over_stopping
from bitreplay.experiments._methods_table import methods_table
from bitreplay.experiments._published import EIGHT, HEAVISIDE, published
from bitreplay.experiments._stopped import STOPPED, stopped
from tests.experiments.histories import history, method


def test_it_answers_as_after_task_0_and_nothing_else():
    learned = history([0.8, 0.7, 0.6], samples=100, memory=512, paired=True)
    still = stopped(learned)
    assert metrics.per_state(still) == pytest.approx([0.8, 0.8 * 2 / 3, 0.8 * 2 / 4])
    assert still.memory_bits == (0, 0, 0)
    first = learned.answers[0]
    for answers, before in zip(still.answers, learned.answers, strict=True):
        assert len(answers) == len(before)
        np.testing.assert_array_equal(answers[: len(first)], first)
        assert not answers[len(first) :].any()
    groups = metrics.init_past_new(still)
    assert groups.init == pytest.approx([0.8] * 3)
    assert (groups.past[2], groups.new[2]) == (0, 0)
    np.testing.assert_array_equal(np.diag(still.confusion), still.right[-1])
    np.testing.assert_array_equal(still.confusion.sum(1), still.count[-1])


def column(**averages: list[float]) -> Column:
    runs = [
        RunResult(name, 0, history(values, learner=name, samples=400, paired=True)) for name, values in averages.items()
    ]
    return Column("2 + 1 + 1 classes", [*runs, *stopping(runs)], published("cifar100", 5))


def test_every_method_is_measured_against_it():
    table_1 = column(FullFineTuning=[0.8, 0.3, 0.2], EWC=[0.8, 0.4, 0.3], FeTrIL=[0.8, 0.7, 0.6])
    still = 0.8 * (1 + 2 / 3 + 1 / 2) / 3
    over = _over_stopping(table_1)
    assert {name: gain.mean for name, gain in over.items()} == pytest.approx(
        {"FullFineTuning": 1.3 / 3 - still, "EWC": 1.5 / 3 - still, "FeTrIL": 2.1 / 3 - still}
    )
    words = _about_stopping(table_1, over)
    assert f"reaches {100 * still:.1f} %" in words
    assert "(below it: FullFineTuning, EWC; 95 %" in words
    made = methods_table(table_1.results, "methods", "", None, over)
    rows = {row[0]: dict(zip(made.columns, row, strict=True)) for row in made.rows}
    assert rows["FeTrIL"]["over stopping"] == pytest.approx(2.1 / 3 - still)
    assert rows["FeTrIL"]["95 %, ± over stopping"] == pytest.approx(over["FeTrIL"].margin)
    assert [rows[STOPPED][name] for name in ("init", "past", "new", "over stopping")] == [0.8, 0, 0, None]
    assert [rows["FeTrIL"][name] for name in ("init", "past", "new")] == pytest.approx([0.6] * 3)


def test_whether_methods_stand_on_one_network():
    trained, other, begun = (method(name, 0.5, 0.6, learner=name) for name in ("LUCIR", "EWC", "TrainableGBM"))
    frozen, rival = method(EIGHT, 0.5, 0.6), method("FeTrIL", 0.5, 0.6, learner="FeTrIL")
    signs = method(EIGHT + HEAVISIDE, 0.5, 0.6)
    networks = Column("one network", [], {}).networks
    assert networks(frozen, rival) == ("same", False)
    assert networks(frozen, signs) == ("different", False)
    assert networks(frozen, trained) == networks(frozen, begun) == networks(begun, trained) == ("one side", False)
    assert networks(trained, other) == ("trained", True)
    once = [method(name, 0.5, learner=name) for name in ("LUCIR", "EWC", "FeTrIL", "NearestMean")]
    assert [networks(*once[at : at + 2]) for at in range(3)] == [("trained", False), ("mixed", False), ("same", False)]
    by_seed = Column("a network for every seed", [], {}, by_seed=True).networks
    pairs = permutations([trained, other, frozen, rival, signs], 2)
    found = {frozenset((one.name, two.name)): by_seed(one, two) for one, two in pairs}
    assert {shown for _, shown in found.values()} == {True}
    assert [{*pair} for pair, (kind, _) in found.items() if kind == "same"] == [{EIGHT, "FeTrIL"}]
    assert [{*pair} for pair, (kind, _) in found.items() if kind == "trained"] == [{"LUCIR", "EWC"}]
    assert sum(kind == "mixed" for kind, _ in found.values()) == 2 * 3
    assert sum(kind == "different" for kind, _ in found.values()) == 2
    assert by_seed(frozen, begun) == ("one side", True)
    assert by_seed(trained, begun) == ("mixed", True)
    assert (by_seed(*once[:2]), by_seed(*once[2:])) == (("trained", False), ("same", False))  # nothing about others


def test_fine_tuning_and_whoever_stops_are_one_network_after_task_0():
    tuned, still, other = (method(name, 0.5, learner="FullFineTuning") for name in (FINE_TUNED, STOPPED, "another"))
    networks = Column("", [], {}, by_seed=True).networks
    assert networks(tuned, still) == networks(still, tuned) == ("same", False)
    assert networks(other, still) == ("trained", False)
    tuned, still = (method(name, 0.5, 0.6, learner="FullFineTuning") for name in (FINE_TUNED, STOPPED))
    assert Column("", [], {}).networks(tuned, still) == ("same", True)  # every seed trains it
