"""Runs that are interrupted within a task go on with the epoch they were at, and end like those that were not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.nn.functional import cross_entropy

from bitreplay._floor.container import read_file, write_file
from bitreplay.learners import TrainingContext
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.finetuned._progress import EpochCheckpoint
from bitreplay.runs import RunFolder, Setting, Specification, run_learner
from tests.runs.problems import SIZES

SETTING = Setting("digits", every=4, sizes=SIZES, samples_per_class=30, encoder="small_cnn", accelerator="cpu")
# SGD in two phases, Adam with outputs that come and go, with fixed statistics, and one that looks at what was learned.
NAMES = ["EEIL", "IL2A", "TrainableGBM", "EWC"]


class Interrupted:
    """Lets a run be interrupted after so many epochs, and counts those that it trains."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.epochs, self.last = 0, -1
        after = EpochCheckpoint.after

        def count(checkpoint: EpochCheckpoint, *arguments: Any) -> None:
            after(checkpoint, *arguments)
            self.epochs += 1
            if self.epochs == self.last:
                raise KeyboardInterrupt

        monkeypatch.setattr(EpochCheckpoint, "after", count)

    def run(self, name: str, output: Path, last: int = -1) -> RunFolder | None:
        """A run, to its end or to the interruption."""
        self.epochs, self.last = 0, last
        specification = Specification.parse(f"{name}:epochs=3")
        try:
            return run_learner(SETTING, specification, 1, output, checkpoint_seconds=0)
        except KeyboardInterrupt:
            return None


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_task_is_resumed_where_it_was(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Interrupted(monkeypatch)
    undisturbed = runs.run(name, tmp_path / "undisturbed")
    assert undisturbed is not None
    every = runs.epochs
    for last in (2, 3, 1):  # of those that are left: in the first training, over the end of a task, in the next one
        assert runs.run(name, tmp_path / "runs", last) is None
        assert runs.epochs == last
        assert len(list(tmp_path.glob("runs/*/progress/*.safetensors"))) in (1, 2)
    resumed = runs.run(name, tmp_path / "runs")
    assert resumed is not None
    assert runs.epochs == every - 6
    assert resumed.history == undisturbed.history
    assert {path.name for path in resumed.path.iterdir()} == {path.name for path in undisturbed.path.iterdir()}
    assert "progress" not in {path.name for path in resumed.path.iterdir()}


def test_a_resumed_task_took_as_long_as_both_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Interrupted(monkeypatch)
    assert runs.run("PASS", tmp_path, 2) is None
    [path] = tmp_path.glob("*/progress/*.safetensors")
    content, tensors = read_file(path)
    [row] = content["rows"]
    assert row["seconds"] > 0
    write_file(path, "training", {**content, "rows": [{"seconds": 1_000.0}]}, tensors)
    resumed = runs.run("PASS", tmp_path)
    assert resumed is not None
    assert resumed.history is not None
    assert 1_000 < resumed.history.seconds[0] < 1_500
    assert resumed.history.seconds[1] < 500


def test_a_task_that_is_interrupted_twice_took_as_long_as_all_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Interrupted(monkeypatch)
    for last in (1, 1):
        assert runs.run("PASS", tmp_path, last) is None
        [path] = tmp_path.glob("*/progress/*.safetensors")
        content, tensors = read_file(path)
        [row] = content["rows"]
        write_file(path, "training", {**content, "rows": [{"seconds": row["seconds"] + 1_000.0}]}, tensors)
    resumed = runs.run("PASS", tmp_path)
    assert resumed is not None
    assert resumed.history is not None
    assert 2_000 < resumed.history.seconds[0] < 2_500


def test_trainings_of_a_task_that_do_not_say_their_phase_are_told_apart(tmp_path: Path) -> None:
    task = SETTING.scenario()[0]
    twice, kept = Twice(epochs=2), Twice(epochs=2)
    kept.keep_progress_in(tmp_path / "progress", 0)
    for learner in (twice, kept):
        learner.use(TrainingContext("small_cnn", {"width": 4}, device="cpu"))
        learner.learn(task)
    assert len(list((tmp_path / "progress").iterdir())) == 2
    ours, theirs = kept.state_dict(), twice.state_dict()
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)


class Twice(FineTunedLearner):
    """Trains twice for every task, more slowly the second time."""

    name = "Twice"

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        for slower in (1.0, 0.1):
            self._fit(
                network,
                images,
                targets,
                lambda batch: cross_entropy(network(batch.pixels), batch.targets),
                slower=slower,
            )


def test_what_another_process_left_of_a_finished_run_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Interrupted(monkeypatch)
    run = runs.run("PASS", tmp_path)
    assert run is not None
    (run.path / "progress").mkdir()
    again = runs.run("PASS", tmp_path)
    assert again is not None
    assert runs.epochs == 0
    assert not (run.path / "progress").exists()


def test_a_checkpoint_of_another_network_is_said_and_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Interrupted(monkeypatch)
    undisturbed = runs.run("PASS", tmp_path / "undisturbed")
    assert runs.run("PASS", tmp_path / "runs", 2) is None
    [path] = tmp_path.glob("runs/*/progress/*.safetensors")
    content, tensors = read_file(path)
    name = next(name for name in tensors if name.endswith("weight"))
    write_file(path, "training", content, {**tensors, name: tensors[name][:1]})
    with pytest.warns(UserWarning, match="the training begins again: .* holds another network"):
        resumed = runs.run("PASS", tmp_path / "runs")
    assert undisturbed is not None
    assert resumed is not None
    assert resumed.history == undisturbed.history


def test_a_damaged_checkpoint_is_said_and_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Interrupted(monkeypatch)
    undisturbed = runs.run("PASS", tmp_path / "undisturbed")
    every = runs.epochs
    assert runs.run("PASS", tmp_path / "runs", 2) is None
    [path] = tmp_path.glob("runs/*/progress/*.safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="the training begins again"):
        resumed = runs.run("PASS", tmp_path / "runs")
    assert runs.epochs == every
    assert undisturbed is not None
    assert resumed is not None
    assert resumed.history == undisturbed.history
