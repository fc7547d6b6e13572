"""Figure 4: the watched training is that of the run, gaps by their definition, verdicts from numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.experiments._curves_figure import METHODS, _claim_best, _claim_training, _claims_groups, curves_figure
from bitreplay.experiments._training_curves import Epoch
from bitreplay.report._methods import MethodRuns
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


def grouped(*states: tuple[float, float, float], samples: int = 100_000, answers: bool = False) -> History:
    """A history with accuracies on initial, past and new classes as given, from so many test samples of each class."""
    made = History.empty("GBM")
    for state, (init, past, new) in enumerate(states):
        rates = [init, init] + [past] * (state - 1) + [new] * (state > 0)
        right = [round(samples * rate) for rate in rates]
        table = np.diag(right)
        table[:, 0] += samples - table.sum(axis=1)
        table[0, 0], table[0, 1] = right[0], samples - right[0]
        given = [np.random.default_rng(label).permutation(samples) < n for label, n in enumerate(right)]
        classes = (0, 1) if state == 0 else (state + 1,)
        figures = {"memory_bits": 0, "working_set_bits": 0, "seconds": 0.0}
        made = made.append(classes, table, **figures, answers=np.concatenate(given) if answers else None)
    return made


@pytest.mark.parametrize(
    ("state", "verdicts"),
    [
        ((0.63, 0.60, 0.62), [True, True]),  # 3.3 % relative, 3 points
        ((0.70, 0.60, 0.66), [False, False]),
        ((0.60, 0.60, 0.60), [True, None]),
        ((0.55, 0.60, 0.56), [False, False]),
        ((0.6595, 0.60, 0.6265), [None, None]),  # 4.4 % of 4.5, and 5.95 points of 6: not surely less
        ((0.6605, 0.60, 0.6275), [None, None]),  # nor surely more
    ],
)
def test_verdicts_on_old_and_new_classes(state, verdicts):
    histories = tuple(grouped((0.8, 0, 0), (0.7, 0, 0.7), state, state) for _ in range(2))
    claims = _claims_groups(MethodRuns("GBM", (0, 1), histories))
    assert [claim.holds for claim in claims] == verdicts
    init, past, new = state
    assert claims[0].measured.startswith(f"{100 * abs(new - past) / past:.1f} % (± 0.")
    assert f"in {2 * (new > past)} of 2 states" in claims[0].measured
    assert claims[1].measured.startswith(f"{100 * (init - past):+.1f} points")


@pytest.mark.parametrize(("samples", "verdicts"), [(100, [None, None]), (100_000, [True, True])])
def test_what_few_samples_of_a_group_may_be_off_is_no_verdict(samples, verdicts):
    state = (0.63, 0.60, 0.62)
    made = grouped((0.8, 0, 0), (0.7, 0, 0.7), state, state, samples=samples, answers=True)
    claims = _claims_groups(MethodRuns("GBM", (0, 1), (made, made)))
    assert [claim.holds for claim in claims] == verdicts
    # By hand: two states, in each a new class and as a share of the past ones; classes are both, so it is not exact.
    off = np.sqrt(2 * 0.62 * 0.38 / samples + 2 * 0.60 * 0.40 / samples) / 2 / 0.60
    [shown] = re.findall(r"\(± ([\d.]+)\)", claims[0].measured)
    assert float(shown) / 100 == pytest.approx(2.09 * off, rel=0.5)


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
