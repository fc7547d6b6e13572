"""Heads: every point is measured where it says, and replay's claims follow from the numbers."""

from dataclasses import replace

import pytest

from bitreplay import metrics
from bitreplay.experiments._heads import BITS, CODES, PROTOTYPES, WORDS, _claims, _over_replay, heads
from tests.experiments.histories import method

POINTS = [("K", k) for k in PROTOTYPES] + [("q", q) for q in BITS] + [("p", p) for p in CODES]


def test_all_heads_at_all_points(small_request):
    runs = []
    outcome = heads(replace(small_request(tasks=1), on_run=runs.append))
    [table], [drawing] = outcome.tables, outcome.drawings
    assert [(row[0], row[1]) for row in table.rows] == [
        (f"{letter} = {value}", head) for letter, value in POINTS for head in WORDS.values()
    ]
    assert [row[2] for row in table.rows] == [metrics.average(run.history) for run in runs]
    memory = {row[0]: row[table.columns.index("memory")] for row in table.rows}
    assert memory["K = 1"] == 1 * 32 * 3 * 8  # K * D * q * n_c
    assert memory["K = 1"] < memory["K = 4"] <= 4 * memory["K = 1"]  # few samples make few prototypes
    assert all(memory[f"q = {q}"] * 3 == memory["q = 3"] * q for q in BITS)
    assert [run.config.get("p", 1) for run in runs[-3 * len(CODES) :: 3]] == list(CODES)
    panels = drawing.figure.axes
    assert [axes.get_xlabel()[0] for axes in panels] == ["K", "q", "p"]
    drawn = [line.get_ydata() for line in panels[1].lines if len(line.get_ydata()) == len(BITS)]
    values = [100 * row[2] for row in table.rows if row[0].startswith("q")]
    assert list(drawn[0]) == pytest.approx(values[:: len(WORDS)])


def measured(**replay: float) -> dict:
    """Points with 60 % for replay, or as given, and two points more for the other heads."""
    cells = {}
    for letter, value in POINTS:
        reached = replay.get(f"{letter}{value}", 0.6)
        for head, gain in (("closed_form", 0.02), ("replay", 0.0), ("bayes", -0.03)):
            cells[letter, value, head] = method(head, reached + gain)
    return cells


@pytest.mark.parametrize(
    ("replay", "verdicts"),
    [
        ({"K1": 0.58, "q2": 0.55}, [True, True]),
        ({"K1": 0.62, "q2": 0.55, "q3": 0.54}, [False, False]),
        ({"K1": 0.598, "q2": 0.598}, [None, None]),
    ],
)
def test_verdicts_follow_from_the_numbers(replay, verdicts):
    assert [claim.holds for claim in _claims(measured(**replay))] == verdicts


def test_a_head_is_compared_with_replay_point_by_point():
    assert _over_replay(measured(K1=0.5), "closed_form", "Kqp").mean == pytest.approx(0.02)
    assert _over_replay(measured(K1=0.5), "bayes", "K").holds is False
    assert len(_over_replay(measured(), "bayes", "K").values) == len(PROTOTYPES)
    assert len(_over_replay(measured(), "bayes", "Kqp").values) == len(POINTS) - 2  # the centre is in every panel
