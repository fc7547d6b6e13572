"""The cost of an update: medians, their line, and nothing of task 0."""

from dataclasses import replace

import numpy as np
import pytest

from bitreplay._pages.methods import MethodRuns
from bitreplay.experiments._update_cost import LEARNERS, Cost, update_cost
from tests.experiments.histories import history

ONCE = ("FeTrIL", "NearestMean", "FeCAM")  # nothing is random in these


def test_a_line_through_the_medians():
    def run(*seconds: float) -> object:
        return history([0.5] * 4, seconds=seconds)

    cost = Cost.of(MethodRuns("x", (0, 1, 2), (run(99, 1, 2, 30), run(50, 1.5, 9, 3), run(7, 0.1, 0.1, 0.2))))
    assert cost.known.tolist() == [2, 3, 4]  # two classes in task 0, then one at a time
    assert cost.seconds.tolist() == [1, 2, 3]
    assert cost.slope == pytest.approx(1)
    assert cost.at(10) == pytest.approx(9)


def test_all_methods_are_timed_one_by_one(small_request, tmp_path):
    runs = []
    request = replace(small_request(seeds=(0, 1), tasks=2), on_run=runs.append, n_jobs=2)
    outcome = update_cost(request)
    slopes, points = outcome.tables
    assert {run.path.parent for run in runs} == {request.output / "timed"}
    assert [row[0] for row in slopes.rows] == list(LEARNERS.values())
    for index, name in enumerate(LEARNERS.values()):
        mine = [run.history.seconds for run in runs[2 * index : 2 * index + 2]]
        assert (mine[0] == mine[1]) == (name in ONCE)
        expected = np.median(mine, axis=0)[1:]
        assert [row[2] for row in points.rows if row[0] == name] == pytest.approx(expected)
        assert slopes.rows[index][3] == pytest.approx(1000 * (expected[1] - expected[0]) / 2, rel=1e-6)
    assert [row[1] for row in points.rows[:2]] == [4, 6]
    assert f"GBM, closed form {round(slopes.rows[0][3], 1) + 0.0:+.1f}" in outcome.remarks[0]  # never "-0.0"
    said = [text.get_text() for text in outcome.drawings[0].figure.artists]
    assert any("2 seeds (GBM, closed form, GBM, replay" in " ".join(words.split()) for words in said)
    assert any(f"1 seed ({', '.join(ONCE)})" in " ".join(words.split()) for words in said)
    drawn = outcome.drawings[0].figure.axes[0].lines[0]
    assert 10 ** drawn.get_ydata() == pytest.approx([row[2] for row in points.rows[:2]])


def test_the_request_knows_the_runs_that_were_timed(small_request):
    runs = []
    request = replace(small_request(tasks=2), on_run=runs.append)
    update_cost(request)
    assert {run.path for run in request.runs} == {run.path for run in runs}
    assert sum(request.waited) > 0
