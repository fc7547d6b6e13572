"""The few-shot protocol: draws differ in the samples of later tasks only, numbers are the runs', leads are paired."""

from dataclasses import replace

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.data._sizes import task_sizes
from bitreplay.experiments import EXPERIMENTS
from bitreplay.experiments import _few_shot as experiment
from bitreplay.experiments._few_shot import _leads, few_shot, learners
from bitreplay.experiments._networks import NETWORK
from bitreplay.learners import LEARNERS
from bitreplay.runs import Setting
from tests.experiments.histories import method

SMALL = {"protocol": None, "tasks": None, "base": 4, "increment": 2, "samples_per_class": 5}


def test_all_learners_on_frozen_encoders_are_compared():
    names = {text.partition(":")[0] for text in learners()}
    assert names == set(LEARNERS.on_frozen_encoders())
    assert {text for text in learners() if text.startswith("GBM")} == {"GBM", "GBM:head=bayes", "GBM:head=replay"}


def test_the_experiment_in_miniature(small_request, monkeypatch):
    compared = ["GBM", "GBM:head=bayes", "NearestMean"]
    monkeypatch.setattr(experiment, "learners", lambda: compared)
    runs = []
    request = replace(small_request(seeds=(0, 3), **SMALL), on_run=runs.append)
    outcome = few_shot("cifar100", "resnet18", request)
    assert len(runs) == 2 * (len(compared) + 1)
    assert {(run.config["seed"], run.config.get("draw", 0)) for run in runs} == {(0, 0), (3, 3)}
    table, leads, of_calibrated = outcome.tables
    assert [row[:2] for row in table.rows] == [[name, 2] for name in [*compared, experiment.CALIBRATED_ROW]]
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        histories = [run.history for run in runs if run.name == row[0].removesuffix(" (calibrated)")]
        for column, metric in (
            ("final", metrics.final),
            ("new", metrics.later),
            ("harmonic mean", metrics.harmonic_mean),
            ("average", metrics.average),
        ):
            values = [metric(history) for history in histories]
            assert cells[column] == pytest.approx(np.mean(values))
            assert cells[f"± {column}"] == pytest.approx(np.std(values, ddof=1))
        # All classes have as many test samples, and as many classes come first as later.
        assert cells["final"] == pytest.approx((cells["base"] + cells["new"]) / 2)
    assert [row[0] for row in leads.rows] == compared[1:]
    assert [row[0] for row in of_calibrated.rows] == compared
    assert [run.config["binarizer"] for run in runs if run.name == experiment.CALIBRATED] == ["calibrated"] * 2
    # The network of this miniature was trained on task 0.
    assert not any("pretrained" in remark for remark in outcome.remarks)
    assert "few-shot" in runs[0].history.notes


def test_draws_differ_in_the_samples_of_later_tasks_only(small_request):
    setting = Setting(**{**small_request().setting, **SMALL})
    one, again, other = (replace(setting, draw=draw).scenario() for draw in (1, 1, 2))
    for task in range(3):
        assert np.array_equal(one[task].train.indices, again[task].train.indices)
        assert np.array_equal(one[task].train.indices, other[task].train.indices) == (task == 0)
        assert np.array_equal(one[task].test.indices, other[task].test.indices)
        assert len(one[task].train) == (96 if task == 0 else 10)


def test_leads_are_differences_of_harmonic_means():
    ours = method("GBM", [0.8, 0.6], [0.8, 0.62], paired=True, samples=2000)
    worse = method("NearestMean", [0.8, 0.5], [0.8, 0.52], paired=True, samples=2000)
    [[name, draws, lead, low, high]] = _leads([ours, worse]).rows
    assert (name, draws) == ("NearestMean", 2)
    assert lead == pytest.approx(0.1)  # all classes are recognised alike: the mean of equal numbers
    assert low < lead < high


def test_slow_learners_have_the_first_draws_only_and_are_compared_on_these(small_request, monkeypatch):
    monkeypatch.setattr(experiment, "learners", lambda: ["GBM:head=bayes", "NearestMean"])
    monkeypatch.setattr(experiment, "FEWER", {"cifar100": {"NearestMean": 1}})
    monkeypatch.setattr(experiment, "DRAWS", 2)
    runs = []
    outcome = few_shot("cifar100", "resnet18", replace(small_request(**SMALL), seeds=None, on_run=runs.append))
    assert [(run.name, run.config["seed"]) for run in runs] == [
        ("GBM:head=bayes", 0), ("NearestMean", 0), ("GBM:p=2", 0), ("GBM:head=bayes", 1), ("GBM:p=2", 1)
    ]  # fmt: skip
    table, leads, _ = outcome.tables
    assert [row[1] for row in table.rows] == [2, 1, 2]
    [[_, draws, lead, *bounds]] = leads.rows
    assert (draws, bounds) == (1, [None, None])  # nothing is known of other draws
    ours, other, *_ = (metrics.harmonic_mean(run.history) for run in runs)
    assert lead == pytest.approx(ours - other)


def test_those_with_fewer_draws_are_learners_of_the_table():
    for fewer in experiment.FEWER.values():
        assert set(fewer) < set(learners())
        assert "GBM" not in fewer


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("few-shot")])
def test_all_four_have_a_protocol(name):
    run = EXPERIMENTS[name].run
    dataset, encoder = run.args
    setting = Setting(dataset, protocol="few-shot", encoder=encoder)
    assert setting.samples_per_class == 5
    assert setting.trains == name.endswith("resnet18")


def test_the_classes_of_a_network_given_come_first(small_request, tmp_path, monkeypatch):
    monkeypatch.setattr(experiment, "learners", lambda: ["GBM", "NearestMean"])
    monkeypatch.setitem(experiment.SESSIONS, "cifar100", 2)
    request = small_request(seeds=(0,), tasks=None)
    setting = Setting(**{**request.setting, "base": 4, "increment": 2})
    setting.trained(setting.scenario(), folder=tmp_path / "network")
    own = {name: request.setting[name] for name in ("dataset", "image_size", "accelerator")}
    outcome = few_shot("cifar100", "resnet18", replace(request, setting=own, network=tmp_path / "network"))
    title = ", network: 4 classes, then 2 sessions of 2 with 5 samples each"  # by its name, wherever it is
    assert title in outcome.tables[0].title
    assert "pretrained" not in outcome.tables[0].title
    assert "network given" in outcome.remarks[0]


def test_tiny_imagenet_has_one_network_at_full_scale():
    """That of table 1 over its tasks: the first 100 classes are the same."""
    few, tasks = (
        Setting(**{**NETWORK["full"], **EXPERIMENTS[name].networks[0]})
        for name in ("few-shot-tiny-resnet18", "table-1-tasks-tiny")
    )
    assert few.how_trained() == tasks.how_trained()
    assert few.training_options == tasks.training_options
    assert few.backbone_options == {"stem_stride": 2}
    assert few.base == task_sizes(200, tasks.tasks, None, None, None)[0] == 100
