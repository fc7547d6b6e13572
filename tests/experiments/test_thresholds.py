"""Thresholds: rows are the runs', claims follow from the numbers, and a network given is the one that is used."""

from dataclasses import replace

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.errors import InputError
from bitreplay.experiments import EXPERIMENTS, Request
from bitreplay.experiments._networks import check_thermometer, fits, missing_seconds, network_of, networks_table
from bitreplay.experiments._thresholds import (
    BEST,
    PLAIN,
    POINTS,
    RIVAL,
    SMALLEST,
    TRAINED,
    WORDS,
    Bits,
    _claims,
    choose,
    held_out_accuracy,
    thresholds,
)
from bitreplay.runs import Prepared, Setting, Specification
from tests.experiments.conftest import TRAIN
from tests.experiments.histories import method


def test_the_table_in_miniature(small_request):
    runs = []
    points = (TRAINED, SMALLEST, BEST, PLAIN, replace(TRAINED, source="added"), replace(SMALLEST, head="bayes"))
    points = (*points, Bits("random projection", 2, 1, 3))
    request = replace(small_request(tasks=1), on_run=runs.append)
    outcome = thresholds(request, points)
    table, chosen = outcome.tables
    assert len(table.rows) == len(points) + 4
    reached = {(run.name, source_of(run)): metrics.average(run.history) for run in runs}
    for row in table.rows[:-4]:
        cells = dict(zip(table.columns, row, strict=True))
        [point] = [
            point for point in points
            if row[:5] == [f"GBM, {point.source}", point.p, point.prototypes, point.bits, WORDS[point.head]]
        ]  # fmt: skip
        source = "calibrated" if point.source == "random projection" else point.source
        assert cells["average"] == reached[point.learner, source]
        assert 0 < cells["held out"] <= 1
    held, memory = (table.columns.index(name) for name in ("held out", "memory"))
    fitting = [row for row in table.rows[:-4] if 100 * row[memory] <= table.rows[-4][memory]]
    assert 0 < len(fitting) < len(points)
    best = {row[0]: max(other[held] for other in fitting if other[0] == row[0]) for row in fitting}
    assert {row[0]: row[held] for row in chosen.rows[:-4]} == best
    assert len(outcome.claims) == 4 + ("GBM, calibrated" in best)


def source_of(run) -> str:
    if (run.config.get("training") or {}).get("ste_epochs") == 0:
        return "added"
    return {None: "trained", "none": PLAIN.source}.get(run.config.get("binarizer"), "calibrated")


def test_points_differ_and_include_those_of_the_claims():
    assert len(set(POINTS)) == len(POINTS) == len({(point.source, point.learner) for point in POINTS})
    assert {TRAINED, SMALLEST, BEST, PLAIN} <= set(POINTS)


def test_the_choice_sees_no_test_sample_and_learns_no_sample_that_judges(small_request, monkeypatch):
    prepared = Prepared(Setting(**small_request().setting))
    seen = []

    class Noting:
        def learn(self, task):
            seen.append(("learned", task.train.part, set(task.train.indices.tolist())))
            self.classes = task.classes

        def predict(self, samples):
            seen.append(("asked", samples.part, set(samples.indices.tolist())))
            return np.full(len(samples), self.classes[0])

    monkeypatch.setattr(Specification, "learner", lambda self, prepared, seed: Noting())
    assert held_out_accuracy(prepared, "GBM", 0) == pytest.approx(1 / 4)  # as many of each of four classes
    (_, part, learned), (_, other, asked) = seen
    assert part == other == "train"
    assert not learned & asked
    assert learned | asked == set(prepared.scenario[0].train.indices.tolist())
    assert len(asked) == 4 * -(-TRAIN // 5)


def test_the_best_that_fits_is_chosen():
    measured = {
        BEST: method("best", 0.6, memory=60),
        SMALLEST: method("smallest", 0.5, memory=10),
        TRAINED: method("trained", 0.45, memory=12),
    }
    other = replace(SMALLEST, bits=4)
    measured[other] = method("other", 0.5, memory=11)
    held_out = {BEST: 0.9, SMALLEST: 0.8, TRAINED: 0.95, other: 0.8}
    assert choose(measured, held_out, 100) == {"trained": TRAINED, "calibrated": BEST}
    assert choose(measured, held_out, 11) == {"calibrated": SMALLEST}  # as good with fewer bits
    assert choose(measured, held_out, 9) == {}


@pytest.mark.parametrize(
    ("best", "memory", "holds"), [(0.6, 10, True), (0.6, 100, False), (0.55, 10, False), (0.595, 10, None)]
)
def test_near_the_best_with_a_hundredth_of_its_memory(best, memory, holds):
    measured = {
        BEST: method("best", best, memory=memory),
        SMALLEST: method("smallest", 0.5, memory=1),
        TRAINED: method("trained", 0.45),
        PLAIN: method("plain", 0.65),
    }
    chosen, first, second, third, fourth = _claims(measured, {RIVAL: method("rival", 0.6, memory=1000)}, SMALLEST)
    assert chosen.holds is False
    assert "ahead by +10.0 points" in chosen.measured
    assert first.holds is holds
    assert (second.holds, third.holds, fourth.holds) == (True, True, True)


def test_a_network_given_stands_for_that_of_the_scale(small_request, tmp_path):
    setting = Setting(**small_request().setting)
    setting.trained(setting.scenario(), folder=tmp_path / "network", progress=False)
    request = Request("full", tmp_path / "runs", network=tmp_path / "network")
    assert network_of(request)["encoder"] == str(tmp_path / "network")
    assert network_of(replace(request, network=None))["encoder"] == "resnet18"
    assert [fits(request, p=p) for p in (1, 2)] == [True, False]
    assert not fits(request, binarizer="heaviside")
    assert fits(replace(request, network=None), p=2)
    assert missing_seconds(request, [{"p": 2}]) == []
    with pytest.raises(InputError, match=r"thermometer of p = 2 or 4; .* was trained with thermometer, p = 1"):
        check_thermometer(request, 2, 4)
    check_thermometer(request, 1, 4)
    with pytest.raises(InputError, match="six networks"):
        EXPERIMENTS["table-2"].run(request)


def test_what_the_networks_of_an_experiment_reach(small_request, tmp_path):
    request = replace(small_request(), scale="full")
    setting = Setting(**request.setting)
    longer = {"binarizer": "none", "training": {"continued": True}}
    networks = [{}, longer, {"binarizer": "heaviside", "f": 3}]  # nobody has trained the last one
    reached = [
        Setting(**{**request.setting, **varied}).trained(setting.scenario(), progress=False).accuracy
        for varied in networks[:2]
    ]
    [table] = networks_table(request, networks)
    first, second = table.rows
    assert first[1:] == [reached[0][phase] for phase in ("plain", "plain_then_binarized", "straight_through")]
    assert second[1:] == [reached[1]["plain"], None, reached[1]["continued"]]
    assert "4 classes, small_cnn, thermometer, p = 1" in first[0]
    assert second[0].endswith("no binarizer, trained for as long")
    assert networks_table(small_request(), networks) == []  # at cpu scale, networks differ from table to table


def test_every_experiment_has_a_duration_at_every_scale():
    assert {name for name, one in EXPERIMENTS.items() if set(one.duration) != {"cpu", "full", "paper"}} == set()
