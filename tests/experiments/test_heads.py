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
    assert [run.config.get("p", 1) for run in runs[-len(WORDS) * len(CODES) :: len(WORDS)]] == list(CODES)
    assert sum("architecture=hidden" in run.name for run in runs) == len(POINTS)
    panels = drawing.figure.axes
    assert [axes.get_xlabel()[0] for axes in panels] == ["K", "q", "p"]
    drawn = [line.get_ydata() for line in panels[1].lines if len(line.get_ydata()) == len(BITS)]
    values = [100 * row[2] for row in table.rows if row[0].startswith("q")]
    assert list(drawn[0]) == pytest.approx(values[:: len(WORDS)])


def measured(**replay: float) -> dict:
    """Points with 60 % for replay, or as given, in two seeds; two points more in closed form, three less by Bayes."""
    cells = {}
    for letter, value in POINTS:
        reached = replay.get(f"{letter}{value}", 0.6)
        for head, gain in (("closed_form", 0.02), ("replay", 0.0), ("bayes", -0.03), ("hidden", 0.01)):
            cells[letter, value, head] = method(head, reached + gain, reached + gain)
    return cells


@pytest.mark.parametrize(
    ("replay", "verdicts"),
    [
        ({"K1": 0.58, "q2": 0.55}, [True, True]),
        ({"K1": 0.62, "q2": 0.55, "q3": 0.54}, [False, False]),
        ({"K1": 0.598, "q2": 0.598}, [None, None]),
        ({"K1": 0.59, "q2": 0.55, "q3": 0.551}, [True, None]),  # one of three
    ],
)
def test_verdicts_follow_from_the_numbers(replay, verdicts):
    assert [claim.holds for claim in _claims(measured(**replay))] == verdicts


def test_a_head_is_compared_with_replay_point_by_point():
    assert _over_replay(measured(K1=0.5), "closed_form", "Kqp").mean == pytest.approx(0.02)
    assert _over_replay(measured(K1=0.5), "closed_form", "Kqp").verdict.holds is True
    assert _over_replay(measured(K1=0.5), "bayes", "K").verdict.holds is False


def test_all_gains_of_a_seed_are_one():
    cells = measured()
    for letter, value in POINTS:  # the second seed is better by two points everywhere
        cells[letter, value, "closed_form"] = method("closed_form", 0.61, 0.63)
    for letters in ("K", "Kqp"):
        found = _over_replay(cells, "closed_form", letters)
        assert found.values == pytest.approx([0.01, 0.03])
        assert found.seeds.error == pytest.approx(0.01)  # however many points there are
        assert found.verdict.holds is None


CENTRES = [("K", 8), ("q", 3), ("p", 1)]


def test_the_runs_of_the_centre_count_once():
    cells = measured()
    for centre in CENTRES:
        cells[*centre, "closed_form"] = method("closed_form", 0.8, 0.8)
    points = len(POINTS) - 2
    expected = (0.2 + 0.02 * (points - 1)) / points
    assert _over_replay(cells, "closed_form", "Kqp").mean == pytest.approx(expected)


def test_another_network_at_the_centre_counts_too():
    """At cpu scale p is varied on a smaller network: its runs with p = 1 are not those of the other two panels."""
    cells = measured()
    for centre in CENTRES[:2]:
        cells[*centre, "closed_form"] = method("closed_form", 0.8, 0.8)
    points = len(POINTS) - 1
    expected = (0.2 + 0.02 * (points - 1)) / points
    assert _over_replay(cells, "closed_form", "Kqp").mean == pytest.approx(expected)
