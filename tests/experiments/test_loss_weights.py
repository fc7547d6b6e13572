"""Loss weights chosen on task 0: which factors are tried, which samples judge, and what comes of it."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.data import load_dataset
from bitreplay.experiments._loss_weights import CHOSEN, WEIGHTS, weighted
from bitreplay.experiments._main_runs import METHODS
from bitreplay.learners import LEARNERS
from bitreplay.runs import RunFolder, Setting, Specification

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "benchmarks" / "loss_weights.py"


@pytest.fixture
def script(monkeypatch):
    if not SCRIPT.exists():
        pytest.skip("the benchmarks are not part of what is installed")
    monkeypatch.syspath_prepend(SCRIPT.parent)
    specification = importlib.util.spec_from_file_location("loss_weights", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", WEIGHTS)
def test_all_weights_of_a_method_are_multiplied(name):
    made = Specification.parse(weighted(name, 0.3)).make(0)
    assert [getattr(made, weight) for weight in WEIGHTS[name]] == pytest.approx(
        [0.3 * getattr(LEARNERS[name](), weight) for weight in WEIGHTS[name]]
    )


def test_what_was_chosen_is_a_row_beside_that_of_the_authors():
    assert set(CHOSEN) <= set(METHODS)
    for row, learner in CHOSEN.items():
        assert learner not in METHODS
        assert str(Specification.parse(learner)) == learner  # as runs are named
        assert Specification.parse(learner).name == Specification.parse(row).name


@pytest.mark.parametrize(
    ("best", "tried"),
    [
        (0.3, [1, 0.3, 0.1, 0.03]),
        (1, [1, 0.3, 0.1, 0.03, 3]),
        (30, [1, 0.3, 0.1, 0.03, 3, 10, 30, 100]),
        (1e9, [1, 0.3, 0.1, 0.03, 3, 10, 30, 100]),
        (0.01, [1, 0.3, 0.1, 0.03, 0.01, 0.003]),
    ],
)
def test_factors_go_on_until_the_best_is_between_others(script, best, tried):
    found = script.tried(lambda factor: -abs(np.log(factor / best)))
    assert list(found) == tried
    assert script.best_factor(found) == min(best, 100)


def test_where_factors_are_level_the_authors_weights_stay(script):
    assert script.best_factor(script.tried(lambda factor: 0.5)) == 1


def test_only_training_samples_of_task_0_have_a_say(script, images, tmp_path):
    whole = Setting(str(images), base=4, increment=2, order=[5, 2, 7, 0, 1, 3, 4, 6])
    folder = script.held_out(whole, tmp_path / "held_out")
    assert script.held_out(whole, tmp_path / "held_out") == folder  # and not written again
    task, apart = whole.scenario()[0], load_dataset(str(folder))
    n = len(task.train) // 4  # of every class
    for place, label in enumerate(task.classes):
        own = task.train.images[task.train.labels == label]
        for split, kept in (("train", np.arange(n) % 5 != 0), ("test", np.arange(n) % 5 == 0)):
            samples = getattr(apart, split)
            np.testing.assert_array_equal(samples.images[samples.labels == place], own[kept])
    assert apart.n_classes == 4


def test_a_row_with_its_best_factor(script, images, shared_cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BITREPLAY_CACHE", str(shared_cache))
    monkeypatch.setattr(script, "FACTORS", (1.0, 0.1))
    monkeypatch.setattr(script, "LADDER", (1.0, 0.1))
    setting = Setting(
        str(images), sizes=[4, 2, 2], encoder="small_cnn:width=4", preset="digits", accelerator="cpu",
        training={"epochs": 1, "ste_epochs": 0},
    )  # fmt: skip
    row = "EWC:fisher_samples=20,outputs=all"
    chosen = script.choose(row, setting, tmp_path / "runs", {})
    runs = [RunFolder.read(path.parent) for path in (tmp_path / "runs").glob("*/history.json")]
    reached = {run.name: metrics.average(run.history) for run in runs}
    assert {*reached} == {row, f"{row},strength=500"}
    assert reached[chosen] == max(reached.values())
    printed = capsys.readouterr().out
    for name, average in reached.items():
        *_, line = (line for line in printed.splitlines() if line.startswith(f"{name} "))  # the row is a heading, too
        assert float(line.split()[2]) == pytest.approx(100 * average, abs=0.005)
