"""The Pareto front: who is on it, by definition; and all methods have a point."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitreplay import metrics
from bitreplay.experiments._pareto import CALIBRATED, FAMILIES, LARGEST, Point, _claims, _table, front, pareto
from bitreplay.experiments._published import ONE
from bitreplay.learners import LEARNERS
from tests.experiments.histories import interval, margin, method

points = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12)


@given(points)
def test_the_front_is_what_nobody_dominates(found):
    best = front([cost for cost, _ in found], [gain for _, gain in found])
    for (cost, gain), is_best in zip(found, best, strict=True):
        cheaper = [g for c, g in found if c < cost]
        alike = [g for c, g in found if c == cost]
        assert is_best == (gain == max(alike) and gain > max(cheaper, default=-1))


def test_every_frozen_method_has_a_point():
    assert {learner.partition(":")[0] for family in FAMILIES.values() for learner in family} == set(
        LEARNERS.on_frozen_encoders()
    )


def test_bounds_are_shown_and_do_not_compete():
    made = [
        Point("small", method("small", 0.4, memory=10)),
        Point("large", method("large", 0.6, memory=100)),
        Point("worse", method("worse", 0.5, memory=100)),
        Point("bound", method("bound", 0.9, learner="Joint", memory=50)),
    ]
    table = _table(made, made[:2])
    assert [(row[0], row[-1]) for row in table.rows] == [
        ("small", "yes"), ("bound", "bound"), ("large", "yes"), ("worse", "")
    ]  # fmt: skip


@pytest.mark.parametrize(("one", "memory"), [(0.55, 32), (0.55, 160), (0.45, 32), (0.502, 32)])
def test_a_claim_about_other_data_cannot_be_told_here(one, memory):
    methods = {ONE: method(ONE, one, memory=memory), LARGEST: method(LARGEST, 0.5, memory=150)}
    [claim] = _claims(methods)
    assert claim.holds is None
    better = interval(one - 0.5, margin(one, 0.5))
    assert claim.measured == f"{better}, with {150 / memory:.1f} times less memory"


def test_all_methods_in_miniature(small_request):
    few = {family: tuple(dict.fromkeys((learners[0], learners[-1]))) for family, learners in FAMILIES.items()}
    runs = []
    outcome = pareto(replace(small_request(tasks=1), on_run=runs.append), few, CALIBRATED[-1:])
    [table] = outcome.tables
    own = {f"{learner} (calibrated)": learner for learner in CALIBRATED}
    histories = {run.name: run.history for run in runs}
    histories = {row[0]: histories[own.get(row[0], row[0])] for row in table.rows}
    assert len(histories) == len(table.rows) == len(runs)
    for name, memory, average, final, working, _ in table.rows:
        one = histories[name]
        assert (memory, working) == (one.memory_bits[-1], one.working_set_bits[-1])
        assert (average, final) == (metrics.average(one), metrics.final(one))
    rivals = [row for row in table.rows if row[-1] != "bound"]
    best = front([row[1] for row in rivals], [row[2] for row in rivals])
    assert [row[-1] == "yes" for row in rivals] == best
    line = next(line for line in outcome.drawings[0].figure.axes[0].lines if line.get_label() == "the front")
    *steps, last = line.get_xdata()
    assert steps == sorted(row[1] for row in table.rows if row[-1] == "yes")
    assert last == max(row[1] for row in table.rows)  # to the right edge: nobody there is better
    assert np.all(np.diff(line.get_ydata()) >= 0)
