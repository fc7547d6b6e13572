"""Thresholds: rows are the runs', claims follow from the numbers, and a network given is the one that is used."""

from dataclasses import replace

import pytest

from bitreplay import metrics
from bitreplay.errors import InputError
from bitreplay.experiments import EXPERIMENTS, Request
from bitreplay.experiments._networks import fits, missing_seconds, network_of
from bitreplay.experiments._thresholds import BEST, POINTS, RIVAL, SMALLEST, TRAINED, Bits, _claims, thresholds
from bitreplay.runs import Setting
from tests.experiments.histories import method


def test_the_table_in_miniature(small_request):
    runs = []
    points = (TRAINED, SMALLEST, BEST, replace(SMALLEST, head="bayes"), Bits("random projection", 2, 1, 3))
    request = replace(small_request(tasks=1), on_run=runs.append)
    outcome = thresholds(request, points)
    [table] = outcome.tables
    assert len(table.rows) == len(points) + 4
    reached = {(run.name, run.config.get("binarizer")): metrics.average(run.history) for run in runs}
    for point, row in zip(sorted(points, key=lambda one: one.source != "trained"), table.rows, strict=False):
        source = None if point.source == "trained" else "calibrated"
        cells = dict(zip(table.columns, row, strict=True))
        assert cells["average"] == reached[point.learner, source]
        assert (cells["p"], cells["K"], cells["q"]) == (point.p, point.prototypes, point.bits)
    assert len(outcome.claims) == 3


def test_points_differ_and_include_those_of_the_claims():
    assert len(set(POINTS)) == len(POINTS) == len({(point.source, point.learner) for point in POINTS})
    assert {TRAINED, SMALLEST, BEST} <= set(POINTS)


@pytest.mark.parametrize(
    ("best", "memory", "holds"), [(0.6, 10, True), (0.6, 100, False), (0.55, 10, False), (0.595, 10, None)]
)
def test_near_the_best_with_a_hundredth_of_its_memory(best, memory, holds):
    measured = {
        BEST: method("best", best, memory=memory),
        SMALLEST: method("smallest", 0.5),
        TRAINED: method("trained", 0.45),
    }
    first, second, third = _claims(measured, {RIVAL: method("rival", 0.6, memory=1000)})
    assert first.holds is holds
    assert second.holds is True
    assert third.holds is True


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
    with pytest.raises(InputError, match="networks of its own"):
        missing_seconds(request, [])
    with pytest.raises(InputError, match="six networks"):
        EXPERIMENTS["table-2"].run(request)


def test_every_experiment_has_a_duration_at_every_scale():
    assert {name for name, one in EXPERIMENTS.items() if set(one.duration) != {"cpu", "full", "paper"}} == set()
