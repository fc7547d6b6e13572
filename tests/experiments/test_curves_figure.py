"""Figure 4: the watched training is that of the run, gaps by their definition, verdicts from numbers."""

from dataclasses import replace

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.experiments._curves_figure import METHODS, _claim_best, _claim_training, _claims_groups, curves_figure
from bitreplay.experiments._training_curves import Epoch
from bitreplay.report._methods import Method
from tests.experiments.histories import method


def test_the_figure_in_miniature(small_request):
    runs = []
    request = replace(small_request(seeds=(3,)), on_run=runs.append)
    outcome = curves_figure(request, min_steps=20)  # as the runs of the request
    curves, groups, training = outcome.tables
    assert len(runs) == len(METHODS)
    expected = [[name, seen] for name in METHODS for seen in (4, 5, 6, 7, 8)]
    assert [row[:2] for row in curves.rows] == expected
    states = np.concatenate([metrics.per_state(run.history) for run in runs])
    assert [row[2] for row in curves.rows] == pytest.approx(states.tolist())
    best = metrics.init_past_new(runs[0].history)
    assert [row[3] for row in groups.rows[:2]] == [None, None]  # there is no past yet
    assert groups.rows[4][2:] == pytest.approx([best.init[-1], best.past[-1], best.new[-1], best.all[-1]])

    # Watching did not change what was learned: after the last epoch of a task stands what the run counted.
    last = {row[0]: row[3] for row in training.rows}
    assert list(last) == [0, 1, 2, 3, 4]
    assert list(last.values()) == pytest.approx(metrics.per_state(runs[0].history).tolist())
    own = [row[1] for row in training.rows if row[0] == 4]
    assert own == list(range(1, len(own) + 1))
    [axes] = outcome.drawings[1].figure.axes
    for marker, column in (("s", 2), ("o", 3)):
        drawn = [y for line in axes.lines if line.get_marker() == marker for y in line.get_ydata()]
        assert drawn == pytest.approx([100 * row[column] for row in training.rows])
    assert [drawing.name for drawing in outcome.drawings] == ["curves", "training", "stability"]


def grouped(*states: tuple[float, float, float]) -> History:
    """A history with accuracies on initial, past and new classes as given: 1000 test samples of each class."""
    made = History.empty("GBM")
    for state, (init, past, new) in enumerate(states):
        rates = [init, init] + [past] * (state - 1) + [new] * (state > 0)
        table = np.diag([round(1000 * rate) for rate in rates])
        table[:, 0] += 1000 - table.sum(axis=1)
        table[0, 0], table[0, 1] = round(1000 * init), 1000 - round(1000 * init)
        classes = (0, 1) if state == 0 else (state + 1,)
        made = made.append(classes, table, memory_bits=0, working_set_bits=0, seconds=0.0)
    return made


@pytest.mark.parametrize(
    ("state", "verdicts"),
    [
        ((0.63, 0.60, 0.62), [True, True]),  # 3.3 % relative, 3 points
        ((0.70, 0.60, 0.66), [False, False]),
        ((0.60, 0.60, 0.60), [True, None]),
        ((0.55, 0.60, 0.56), [False, False]),
    ],
)
def test_verdicts_on_old_and_new_classes(state, verdicts):
    histories = tuple(grouped((0.8, 0, 0), (0.7, 0, 0.7), state, state) for _ in range(2))
    claims = _claims_groups(Method("GBM", (0, 1), histories))
    assert [claim.holds for claim in claims] == verdicts
    init, past, new = state
    assert claims[0].measured.startswith(f"{100 * abs(new - past) / past:.1f} %")
    assert f"in {2 * (new > past)} of 2 states" in claims[0].measured
    assert claims[1].measured.startswith(f"{100 * (init - past):+.1f} points")


@pytest.mark.parametrize(
    ("fetril", "holds"),
    [((0.9, 0.60, 0.50), True), ((0.7, 0.60, 0.60), False), ((0.7, 0.629, 0.5), None), ((0.7, 0.60, 0.549), None)],
)
def test_verdict_on_every_task(fetril, holds):
    ours, below = (0.8, 0.63, 0.55), (0.8, 0.55, 0.45)
    methods = {name: method(name, below, below) for name in METHODS}
    methods["GBM K=8"] = method("GBM K=8", ours, ours)
    methods["FeTrIL"] = method("FeTrIL", fetril, fetril)
    methods["Joint"] = method("Joint", (0.9,) * 3, (0.9,) * 3, learner="Joint")  # a bound: it is not compared
    claim = _claim_best(methods)
    assert claim.holds is holds
    smallest = min(np.subtract(ours, fetril)[1:])
    assert f"{100 * smallest:+.1f} points" in claim.measured
    assert "FeTrIL" in claim.measured


@pytest.mark.parametrize(("rate", "full", "holds"), [(0.995, 10, True), (0.8, 9, True), (0.8, 8, False)])
def test_verdict_on_training(rate, full, holds):
    epochs = [Epoch(0, 1, 0.2, 0.2)]
    for task in range(1, 11):
        epochs += [Epoch(task, 1, 0.5, 0.5), Epoch(task, 2, 1.0 if task <= full and rate < 0.99 else rate, 0.5)]
    claim = _claim_training(epochs)
    assert claim.holds is holds
    assert f"in {full} of 10 tasks" in claim.measured
