"""Table 1: methods of every family, and verdicts that follow from their numbers."""

from dataclasses import replace
from pathlib import Path

import pytest

from bitreplay import metrics
from bitreplay.evaluation import RunResult
from bitreplay.experiments import Request, _main_runs, _retraining
from bitreplay.experiments._main_runs import METHODS, Column
from bitreplay.experiments._main_table import (
    CURVES,
    FAMILIES,
    _about_rows,
    _ahead,
    _all_columns,
    _claims,
    _curves,
    _published_order,
    main_table,
)
from bitreplay.experiments._noise import Noise
from bitreplay.experiments._published import COLUMNS, EIGHT, HEAVISIDE, ONE, PUBLISHED, published
from bitreplay.experiments._stopped import STOPPED, stopped
from tests.experiments.histories import history, interval, margin

SOME = ["FullFineTuning", "LUCIR", "EWC", "PASS", "FeTrIL", ONE, EIGHT, "FineTuning"]


def test_the_table_in_miniature(small_request):
    runs = []
    request = replace(small_request(tasks=1, classes=None, base=None, increment=None), on_run=runs.append)
    outcome = main_table(request, SOME)
    families, methods, curves = outcome.tables
    averages = [metrics.average(run.history) for run in runs]
    assert [row[0] for row in methods.rows] == [*SOME, ONE + HEAVISIDE, EIGHT + HEAVISIDE, STOPPED]
    assert [row[2] for row in methods.rows[:-1]] == averages
    assert [run.config.get("binarizer") for run in runs[-2:]] == ["heaviside"] * 2
    assert len(families.rows) == len(FAMILIES)
    reached = dict(zip((row[0] for row in methods.rows[:-1]), averages, strict=True))
    for family, _, best, average, place, _ in families.rows:
        assert average == reached[best] == max(reached[name] for name in FAMILIES[family] if name in reached)
        assert place == 1 + sum(other[3] > average for other in families.rows) or averages.count(average) > 1
    states = {run.name: metrics.per_state(run.history).tolist() for run in runs}
    drawn = [name for name, row in CURVES.items() if row in (*SOME, STOPPED)]
    assert [row[0] for row in curves.rows] == [name for name in drawn for _ in range(2)]
    assert [row[2] for row in curves.rows if row[0] == "PASS"] == pytest.approx(states["PASS"])
    assert [drawing.name for drawing in outcome.drawings] == ["curves-0"]


def test_at_full_scale_every_seed_has_networks_of_its_own_and_joint_training_only_the_end(small_request, monkeypatch):
    monkeypatch.setattr(_main_runs, "CHOSEN", {"EWC": "EWC:strength=50"})
    runs = []
    short = {"epochs": 1, "ste_epochs": 1}
    small = small_request(seeds=(0, 1), tasks=2, classes=6, base=2, increment=None, training=short)
    request = replace(small, scale="full", on_run=runs.append)
    learners = ["FullFineTuning", "FullJoint", "LUCIR", "EWC", "EWC:strength=50", "PASS", "FeTrIL", ONE, EIGHT]
    outcome = main_table(request, [*learners, "FineTuning"])
    assert all(run.config.get("training_seed", 0) == run.config["seed"] for run in runs)
    assert {run.config["seed"] for run in runs if run.name == "FeTrIL"} == {0, 1}  # without randomness of its own
    families, methods, _ = outcome.tables
    rows = {row[0]: dict(zip(methods.columns, row, strict=True)) for row in methods.rows}
    joint = [metrics.final(run.history) for run in runs if run.name == "FullJoint"]
    assert rows["FullJoint"]["final"] == pytest.approx(sum(joint) / 2)
    assert all(run.history.task_sizes == (6,) for run in runs if run.name == "FullJoint")
    assert [rows["FullJoint"][name] for name in ("average", "init", "past", "new", "over stopping")] == [None] * 5
    assert rows["PASS"]["over stopping"] == pytest.approx(rows["PASS"]["average"] - rows[STOPPED]["average"])
    assert {row[2] for row in families.rows if row[0] == "regularization"} == {"EWC:strength=50"}
    assert "published" not in methods.columns


def test_of_the_methods_that_train_the_network_some_can_be_chosen(small_request, monkeypatch):
    monkeypatch.setattr(_main_runs, "METHODS", ("FullFineTuning", "LUCIR", "EWC", "FeTrIL", ONE, EIGHT, "FineTuning"))
    request = small_request(tasks=1, classes=None, base=None, increment=None, training={"epochs": 1})
    outcome = main_table(replace(request, learners=["EWC", "EWC:strength=1"]))
    families, methods, _ = outcome.tables
    frozen = ["FeTrIL", ONE, EIGHT, "FineTuning", ONE + HEAVISIDE, EIGHT + HEAVISIDE]
    assert [row[0] for row in methods.rows] == ["FullFineTuning", "EWC", "EWC:strength=1", *frozen, STOPPED]
    assert {row[0]: row[-1] for row in families.rows} == {"GBM": 1, "prototype": 2, "regularization": 4}  # the paper's
    assert outcome.claims[4].holds is None  # the order of all families
    assert any("does not name them: FullJoint, iCaRL" in remark for remark in outcome.remarks)
    assert not any("trained once" in remark for remark in outcome.remarks)


def test_what_is_finished_stands_in_the_table_with_the_seeds_that_it_has(small_request, monkeypatch):
    methods = ("FullFineTuning", "FullJoint", "LUCIR", "EWC", "PASS", "FeTrIL", ONE, EIGHT, "FineTuning")
    monkeypatch.setattr(_main_runs, "METHODS", methods)
    short = {"epochs": 1, "ste_epochs": 1}
    small = small_request(seeds=(0, 1), tasks=2, classes=6, base=2, increment=None, training=short)
    runs = []
    request = replace(small, scale="full", on_run=runs.append)
    main_table(replace(request, seeds=(0,), learners=["LUCIR", "FullJoint"]))
    main_table(replace(request, seeds=(1,), learners=["EWC"]))
    before = {(run.name, run.config["seed"]) for run in runs}
    outcome = main_table(replace(request, finished=True))
    assert ("FullFineTuning", 1) in before
    assert {(run.name, run.config["seed"]) for run in runs} == before  # all that is new was there
    table = outcome.tables[1]
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    seeds = {name: row["seeds"] for name, row in rows.items()}
    assert {name for name, n in seeds.items() if n == 1} == {"LUCIR", "FullJoint"}
    assert {name for name, n in seeds.items() if n == 2} == {
        "FullFineTuning", "FeTrIL", ONE, EIGHT, "FineTuning", ONE + HEAVISIDE, EIGHT + HEAVISIDE, STOPPED
    }  # fmt: skip
    average = {run.name: metrics.average(run.history) for run in runs if run.config["seed"] == 0}
    [first] = [run.history for run in runs[: len(methods)] if run.name == "FullFineTuning"]
    assert rows["LUCIR"]["over stopping"] == pytest.approx(average["LUCIR"] - metrics.average(stopped(first)))
    [missing, fewer] = [remark for remark in outcome.remarks if remark.startswith(("Not run", "With fewer"))]
    assert missing.startswith("Not run yet with the first seed: ")
    assert {"EWC", "PASS"} <= set(missing.removesuffix(".").partition(": ")[2].split(", "))
    assert fewer.startswith("With fewer seeds than the others: LUCIR (0), FullJoint (0). ")


def test_a_seed_that_has_not_begun_is_left_out_of_what_is_finished(small_request, monkeypatch):
    monkeypatch.setattr(_main_runs, "METHODS", ("FullFineTuning", "LUCIR", "EWC", "FeTrIL", ONE, EIGHT, "FineTuning"))
    small = small_request(seeds=(0, 1), tasks=1, classes=None, base=None, increment=None, training={"epochs": 1})
    runs = []
    outcome = main_table(replace(small, learners=["LUCIR"], finished=True, on_run=runs.append))
    assert {run.config["seed"] for run in runs} == {0}
    assert {row[1] for row in outcome.tables[1].rows} == {1}
    missing = [remark.partition(": ")[::2] for remark in outcome.remarks if remark.startswith("Not run")]
    assert [why for why, _ in missing] == [
        "Not run, as --learners does not name them",
        "Not run yet with the first seed",
    ]
    assert "EWC" in missing[0][1]
    assert missing[1][1] == "LUCIR."


def test_columns_in_which_other_methods_are_finished_stand_in_one_table():
    one, other = (replace(column(), name=name) for name in ("cifar100, T = 5", "cifar100, T = 10"))
    here, there = (
        [each for each in whole.results if each.name != name] for whole, name in ((one, "IL2A"), (other, "EWC"))
    )
    columns = [replace(one, results=here), replace(other, results=there)]
    rows = {row[0]: row[1::2] for row in _all_columns(columns).rows}
    assert rows["EWC"] == [pytest.approx(REACHED["EWC"]), None]
    assert rows["IL2A"] == [None, pytest.approx(REACHED["IL2A"])]
    assert rows["LUCIR"] == [pytest.approx(REACHED["LUCIR"])] * 2
    told = _about_rows(Request("paper", Path("runs"), finished=True), columns)
    assert [remark.partition(", T")[2] for remark in told if "IL2A" in remark] == [
        " = 5: FullJoint, iCaRL:output=nme, EWC:outputs=all, IL2A, TrainableGBM."
    ]


def test_chosen_weights_stand_for_their_method_where_they_were_run(monkeypatch):
    monkeypatch.setattr(_main_runs, "CHOSEN", {"PASS": "PASS:prototype_weight=1", "EWC": "EWC:strength=1"})
    one = column(**{"PASS:prototype_weight=1": 0.3})
    assert one.method("PASS").name == "PASS:prototype_weight=1"
    assert one.method("EWC").name == "EWC"
    assert [method.name for method in _curves(one)] == [name for name, row in CURVES.items() if row in one.methods]
    best = one.best(["PASS", "EWC"])
    assert best.name in ("PASS:prototype_weight=1", "EWC")  # not PASS, which test samples would prefer


def test_the_paper_has_all_these_rows_and_we_run_all_of_its():
    rows = {name for names in FAMILIES.values() for name in names}
    assert rows == set(PUBLISHED)
    assert {name for name in rows if not name.endswith(HEAVISIDE)} <= set(METHODS)
    assert len({*METHODS}) == len(METHODS)
    assert all(len(row) == len(COLUMNS) for row in PUBLISHED.values())
    assert published("tiny_imagenet", 5)[EIGHT] == 0.546


def test_the_order_of_the_families_is_the_papers():
    assert _published_order(column(), FAMILIES) == ["GBM", "prototype", "replay", "regularization"]


REACHED = {
    "FullFineTuning": 0.2, "FineTuning": 0.2, "LUCIR": 0.5, "EWC": 0.3, "PASS": 0.52, "FeTrIL": 0.58,
    "iCaRL": 0.4, "EEIL": 0.45, "LwF-MC": 0.28, "IL2A": 0.51,
    ONE: 0.6, EIGHT: 0.62, ONE + HEAVISIDE: 0.57, EIGHT + HEAVISIDE: 0.6,
}  # fmt: skip


def column(tasks: int = 10, **changed: float) -> Column:
    reached = REACHED | changed
    results = [RunResult(name, 0, history([value], learner=name.partition(":")[0])) for name, value in reached.items()]
    return Column("10 + 5 x 2 classes", results, published("cifar100", tasks))


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, [True] * 6),
        ({"FeTrIL": 0.64}, [False, True, True, False, False, True]),
        ({EIGHT: 0.601}, [True, None, None, True, True, True]),
        ({ONE: 0.578}, [True, True, True, None, True, True]),
        ({"LUCIR": 0.583}, [True, True, True, True, None, True]),
        ({"EWC": 0.19}, [True, True, True, True, True, False]),
    ],
)
def test_verdicts_follow_from_the_numbers(changed, verdicts):
    assert [claim.holds for claim in _claims([column(**changed)])] == verdicts


@pytest.mark.parametrize(
    ("missing", "verdicts"),
    [
        (["IL2A"], [True, True, True, None, None, None]),
        (["iCaRL"], [True, True, True, True, None, None]),
        (["LwF-MC", "EWC"], [True, True, True, True, None, None]),  # a whole family
    ],
)
def test_with_some_methods_missing_a_claim_about_all_may_fail_but_not_hold(missing, verdicts):
    whole = column()
    part = replace(whole, results=[one for one in whole.results if one.name not in missing])
    assert [claim.holds for claim in _claims([part])] == verdicts
    behind = column(FeTrIL=0.64, LUCIR=0.1)
    part = replace(behind, results=[one for one in behind.results if one.name not in missing])
    assert [_claims([part])[number].holds for number in (3, 5)] == [False, False]


def test_a_method_must_be_better_than_every_rival_not_only_the_best(monkeypatch):
    assert _claims([column()])[3].holds is True
    monkeypatch.setattr(_retraining, "UNSTEADY", {"IL2A": {"average": Noise(0.05, 2)}})
    claim = _claims([column()])[3]
    assert claim.measured.startswith("10 + 5 x 2 classes: +2.0 points")
    assert "against FeTrIL, +9.0 points" in claim.measured
    assert claim.measured.endswith("against IL2A")
    assert claim.holds is None  # IL2A is far behind, but another training of it might be ahead


def test_the_best_of_several_may_be_the_best_by_chance():
    one = column()
    alone, chosen = (_ahead(one, names, ["LUCIR"]) for names in (["FeTrIL"], ["PASS", "IL2A", "FeTrIL"]))
    assert alone.positive is chosen.positive is True
    assert chosen.p == pytest.approx(3 * alone.p, rel=1e-6, abs=0)
    behind = _ahead(one, ["LUCIR", "iCaRL"], ["PASS", "FeTrIL"])
    assert behind.positive is False
    ahead = one.difference(one.method("FeTrIL"), one.method("LUCIR")).verdict
    assert behind.p == pytest.approx(2 * ahead.p, rel=1e-6, abs=0)


def test_an_average_over_more_seeds_does_not_turn_a_verdict_about_those_that_two_share():
    def runs(name: str, *values: float) -> list[RunResult]:
        return [RunResult(name, seed, history([value], learner=name)) for seed, value in enumerate(values)]

    others = [one for one in column().results if one.name not in ("LUCIR", "EWC")]
    one = replace(column(), results=[*others, *runs("LUCIR", 0.50, 0.44), *runs("EWC", 0.475)])
    assert _main_runs.average(one.method("LUCIR")) < _main_runs.average(one.method("EWC"))
    assert one.difference(one.method("LUCIR"), one.method("EWC")).mean == pytest.approx(0.025)
    assert _ahead(one, ["LUCIR"], ["EWC"]).holds is None


def test_chosen_weights_may_have_been_run_alone(monkeypatch):
    monkeypatch.setattr(_main_runs, "CHOSEN", {"PASS": "PASS:prototype_weight=1"})
    one = column(**{"PASS:prototype_weight=1": 0.53})
    one = replace(one, results=[each for each in one.results if each.name != "PASS"])
    assert one.best(["PASS", "IL2A"]).name == "PASS:prototype_weight=1"


def test_a_claim_about_all_columns_fails_with_one():
    other = replace(column(FeTrIL=0.64), name="another")
    claim = _claims([column(), other])[0]
    assert claim.holds is False
    ahead, behind = interval(0.04, margin(0.62, 0.58)), interval(-0.02, margin(0.62, 0.64))
    assert claim.measured == f"10 + 5 x 2 classes: {ahead}; another: {behind}"


def test_columns_in_which_the_paper_does_not_say_so_do_not_decide():
    lost = column(FeTrIL=0.64)
    here = replace(lost, name="tiny_imagenet, T = 5", published=published("tiny_imagenet", 5))  # FeTrIL wins there
    claim = _claims([column(), here])[0]
    assert claim.holds is True
    assert "tiny_imagenet, T = 5: -2.0 points" in claim.measured


def test_what_the_paper_does_not_say_of_any_column_cannot_be_told():
    claim = _claims([column(tasks=5)])[3]  # "for T = 10 and 20"
    assert claim.holds is None
    assert claim.measured.startswith("10 + 5 x 2 classes: +2.0 points")
