"""Tables: every cell is the metric, labels and warnings stand beside, and only winners are marked."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bitreplay import metrics
from bitreplay._pages.methods import gather
from bitreplay._pages.numbers import bits, duration
from bitreplay.report import csv_table, markdown_table, states_csv, terminal_table
from tests.evaluation.examples import steady
from tests.report.examples import NOTES, comparison, run

UNITS = {"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12}


@pytest.fixture(scope="module")
def runs():
    return comparison()


def printed(runs, width=80):
    console = Console(width=width, file=io.StringIO(), color_system="standard", force_terminal=True)
    console.print(terminal_table(runs))
    marked = console.file.getvalue()
    plain = Console(width=width, file=io.StringIO())
    plain.print(terminal_table(runs))
    return plain.file.getvalue(), marked


def rows_of(markdown):
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.replace(r"\|", "¦").strip("|").split("|")] for line in lines]


@steady
@given(st.integers(0, 10**15))
def test_sizes_keep_two_digits_and_use_the_largest_fitting_unit(number):
    value, unit = bits(number).split()
    assert float(value) * UNITS[unit] == pytest.approx(number, rel=0.051)
    assert float(value) < 1000 or unit == "Tbit"
    assert unit == "bit" or float(value) >= 1


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0.00 s"), (0.95, "0.9 s"), (9.96, "10 s"), (599, "599 s"), (7200, "2.0 h")]
)
def test_times(seconds, text):
    assert duration(seconds) == text


def test_markdown_shows_the_metrics(runs):
    head, _, *rows = rows_of(markdown_table(runs))
    assert head == ["method", "average", "final", "forgetting", "memory", "working set", "learning", "labels"]
    for method, row in zip(gather(runs), rows, strict=True):
        assert row[0] == method.name.replace("|", "¦")
        for cell, metric in zip(row[1:4], (metrics.average, metrics.final, metrics.forgetting), strict=True):
            values = [100 * metric(history) for history in method.histories]
            assert cell.strip("*") == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
        assert row[4] == bits(method.histories[0].memory_bits[-1])
        assert row[5] == bits(method.histories[0].working_set_bits[-1])
        assert row[7] == "encoder: efficientnet_lite0 · pretrained: ImageNet"


def test_few_shot_runs_are_judged_by_the_harmonic_mean():
    few = {**NOTES, "few-shot": "5 samples of every class after task 0"}
    runs = [run("a", seed, accuracy, notes=few) for seed, accuracy in ((0, 0.5), (1, 0.7))]
    head, _, row = rows_of(markdown_table(runs))
    assert head == ["method", "average", "final", "harmonic mean", "memory", "working set", "learning", "labels"]
    values = [100 * metrics.harmonic_mean(one.history) for one in runs]
    assert row[3] == f"{np.mean(values):.1f} ± {np.std(values, ddof=1):.1f}"
    plain, _ = printed(runs)
    assert "harmonic" in plain
    assert "forgetting" not in plain.partition("\n\n")[0]
    assert all(len(line) <= 80 for line in plain.splitlines())


def test_only_the_winner_is_bold(runs):
    rows = rows_of(markdown_table(runs))[2:]
    assert [[cell.startswith("**") for cell in row] for row in rows] == [
        [False, True, True, *[False] * 5],
        *[[False] * 8] * 3,
    ]
    plain, marked = printed(runs)
    assert marked.count("\x1b[1;32m") == 2
    assert "Bold: the best, and all not distinguishable from it" in " ".join(plain.split())


def test_one_seed_says_so_and_marks_nothing():
    single = comparison(seeds=[5])
    text = markdown_table(single)
    assert "One seed (5): the spread is unknown, and no best is marked." in text
    assert "**" not in text
    assert "±" not in text
    assert "Bold" not in text
    plain, marked = printed(single)
    assert "One seed (5)" in plain
    assert "\x1b[1;32m" not in marked


def test_different_seeds_are_named():
    runs = [r for r in comparison() if r.seed == 0 or r.name != "Joint"]
    text = markdown_table(runs)
    assert "GBM, K=8: 0, 1, 2;" in text
    assert "Joint: 0)" in text
    assert "**" in text  # Joint is a bound: that it has one seed does not matter for the others
    assert "No best is marked" not in text


def test_the_terminal_table_fits_into_80_columns_and_shows_labels(runs):
    plain, _ = printed([r for r in runs if "<" not in r.name])
    assert all(len(line) <= 80 for line in plain.splitlines())
    assert "pretrained: ImageNet" in plain
    assert "Joint: upper bound" in plain
    row = next(line for line in plain.splitlines() if line.startswith("FineTuning"))
    assert "0 b" in row


def test_a_label_of_one_method_stands_in_its_row():
    plain, _ = printed([run("a", 0, 0.5, notes={"encoder": "r18"}), run("b", 0, 0.5, notes=NOTES)])
    lines = plain.splitlines()
    after = lines[next(i for i, line in enumerate(lines) if line.startswith("b ")) + 1]
    assert "encoder:" in after


def test_csv_has_the_unrounded_numbers(runs):
    rows = list(csv.DictReader(io.StringIO(csv_table(runs))))
    for method, row in zip(gather(runs), rows, strict=True):
        assert row["method"] == method.name
        assert row["learner"] == method.histories[0].learner
        assert row["seeds"] == "0 1 2"
        assert row["labels"] == "encoder: efficientnet_lite0 · pretrained: ImageNet"
        for name in ("average", "final", "harmonic_mean", "forgetting", "backward_transfer"):
            values = [getattr(metrics, name)(history) for history in method.histories]
            assert float(row[name]) == pytest.approx(np.mean(values), abs=1e-15)
            assert float(row[f"{name}_std"]) == pytest.approx(np.std(values, ddof=1), abs=1e-15)
        assert float(row["memory_bits"]) == method.histories[0].memory_bits[-1]
        assert float(row["seconds"]) == pytest.approx(np.mean([sum(h.seconds) for h in method.histories]))


def test_csv_leaves_what_is_undefined_empty():
    row = next(csv.DictReader(io.StringIO(csv_table([run("a", 0, 0.5, sizes=(3,))]))))
    assert [row[name] for name in ("forgetting", "forgetting_std", "average_std", "backward_transfer")] == [""] * 4


def test_states_csv_has_every_state_of_every_run(runs):
    rows = list(csv.DictReader(io.StringIO(states_csv(runs))))
    assert len(rows) == len(runs) * 4
    by_run = {(r.name, r.seed): r.history for r in runs}
    for row in rows:
        history, state = by_run[row["method"], int(row["seed"])], int(row["state"])
        groups = metrics.init_past_new(history)
        assert int(row["classes_seen"]) == history.classes_seen[state]
        assert float(row["accuracy"]) == groups.all[state]
        assert (row["past"] == "") == (state < 2)
        assert (row["new"] == "") == (state < 1)
        assert int(row["memory_bits"]) == history.memory_bits[state]
