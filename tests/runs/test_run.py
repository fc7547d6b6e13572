"""Runs: a folder from which anybody can go on, with the numbers of a run that nothing happened to."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bitreplay import ImageClassifier, metrics
from bitreplay._floor.container import read_file
from bitreplay._floor.files import part_beside
from bitreplay.data import load_dataset
from bitreplay.errors import FileFormatError, InputError
from bitreplay.evaluation import History
from bitreplay.learners import LEARNERS
from bitreplay.memory import BinaryMemory
from bitreplay.runs import Prepared, RunFolder, Specification, find_runs, results_of, run_learner
from bitreplay.runs._run import find_run
from tests.runs.problems import SIZES, digits, save_network

CHECKPOINT = "checkpoint.safetensors"


def stop_after(*states: int) -> Callable[[int, History], None]:
    left = list(states)

    def stop(state: int, history: History) -> None:
        if left and state == left[0]:
            left.pop(0)
            raise KeyboardInterrupt

    return stop


# Every learner, as quick as it can be made.
QUICK = {
    "FineTuning": "epochs=1",
    "Joint": "epochs=1",
    "RandomRidge": "width=64",
    "GaussianReplay": "epochs=1",
    "LatentReplay": "epochs=1",
}
VARIANTS = ["GBM:head=replay,epochs=1", "GBM:head=bayes", "FeTrIL:classifier=fc,epochs=1"]


@pytest.mark.parametrize(
    "text", [*VARIANTS, *(f"{name}:{QUICK[name]}" if name in QUICK else name for name in LEARNERS.on_frozen_encoders())]
)
def test_an_interrupted_run_ends_like_one_that_was_not(network: Path, tmp_path: Path, text: str) -> None:
    setting, specification = digits(network), Specification.parse(text)
    prepared = Prepared(setting)
    undisturbed = run_learner(setting, specification, 1, tmp_path / "undisturbed", prepared=prepared)
    assert undisturbed.finished
    assert undisturbed.history is not None
    assert undisturbed.history.task_sizes == tuple(SIZES)

    output = tmp_path / "interrupted"
    for state in (0, 1):
        with pytest.raises(KeyboardInterrupt):
            run_learner(setting, specification, 1, output, on_state=stop_after(state), checkpoint_seconds=0)
        (folder,) = output.iterdir()
        content, _ = read_file(folder / CHECKPOINT)
        assert History.from_json(content["history"]).n_states == state + 1
        assert not RunFolder.read(folder).finished
    seen: list[int] = []
    resumed = run_learner(setting, specification, 1, output, on_state=lambda state, history: seen.append(state))
    assert seen == [2]
    assert resumed.history == undisturbed.history
    assert sorted(path.name for path in resumed.path.iterdir()) == sorted(
        path.name for path in undisturbed.path.iterdir()
    )
    memories = [read_file(run.path / "memory.safetensors") for run in (resumed, undisturbed) if "GBM" in text]
    if memories:
        assert memories[0][0] == memories[1][0]
        assert all((memories[0][1][name] == memories[1][1][name]).all() for name in memories[1][1])


@pytest.mark.parametrize("damage", ["empty", "cut", "altered", "another file", "another learner"])
def test_a_damaged_checkpoint_is_as_good_as_none(network: Path, tmp_path: Path, damage: str) -> None:
    setting, specification = digits(network), Specification.parse("NearestMean")
    prepared = Prepared(setting)
    with pytest.raises(KeyboardInterrupt):
        run_learner(
            setting, specification, 0, tmp_path, prepared=prepared, on_state=stop_after(1), checkpoint_seconds=0
        )
    (folder,) = (path for path in tmp_path.iterdir() if path.name.startswith("digits"))
    checkpoint = folder / CHECKPOINT
    raw = checkpoint.read_bytes()
    if damage == "empty":
        checkpoint.write_bytes(b"")
    elif damage == "cut":
        checkpoint.write_bytes(raw[:-10])
    elif damage == "altered":
        checkpoint.write_bytes(raw[:-5] + bytes([raw[-5] ^ 1]) + raw[-4:])
    elif damage == "another file":
        shutil.copy(network / "network.safetensors", checkpoint)
    else:
        other = Specification.parse("RandomRidge:width=16")
        with pytest.raises(KeyboardInterrupt):
            run_learner(
                setting, other, 0, tmp_path / "other", prepared=prepared, on_state=stop_after(1), checkpoint_seconds=0
            )
        (other_folder,) = (tmp_path / "other").iterdir()
        shutil.copy(other_folder / CHECKPOINT, checkpoint)
    states: list[int] = []
    with pytest.warns(UserWarning, match=r"the run starts over: .*checkpoint\.safetensors cannot be used"):
        again = run_learner(
            setting, specification, 0, tmp_path, prepared=prepared, on_state=lambda state, history: states.append(state)
        )
    assert states == [0, 1, 2]
    assert again.finished
    assert again.history == run_learner(setting, specification, 0, tmp_path / "fresh", prepared=prepared).history


def test_what_killed_processes_left_behind_is_removed(network: Path, tmp_path: Path) -> None:
    setting, specification = digits(network), Specification.parse("NearestMean")
    with pytest.raises(KeyboardInterrupt):
        run_learner(setting, specification, 0, tmp_path / "runs", on_state=stop_after(0), checkpoint_seconds=0)
    (folder,) = (tmp_path / "runs").iterdir()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stray, own = (part_beside(folder / "x").name.replace(str(os.getpid()), str(pid)) for pid in (gone.pid, os.getpid()))
    for name in (stray, own):
        (folder / name).write_bytes(b"half")
    run_learner(setting, specification, 0, tmp_path / "runs")
    assert sorted(path.name for path in folder.iterdir()) == [
        own,
        "config.yaml",
        "history.json",
        "log.csv",
        "origin.json",
    ]


def test_a_finished_run_is_only_read(network: Path, tmp_path: Path) -> None:
    setting, specification = digits(network), Specification.parse("NearestMean")
    first = run_learner(setting, specification, 0, tmp_path / "runs")
    prepared = Prepared(setting)
    again = run_learner(setting, specification, 0, tmp_path / "runs", prepared=prepared, on_state=stop_after(0))
    assert again == first
    assert "encoder" not in vars(prepared)  # which might take a training


def test_a_run_killed_after_its_history_was_written_is_not_taken_for_finished(network: Path, tmp_path: Path) -> None:
    setting, specification = digits(network), Specification.parse("NearestMean")
    with pytest.raises(KeyboardInterrupt):
        run_learner(setting, specification, 0, tmp_path / "runs", on_state=stop_after(1), checkpoint_seconds=0)
    (folder,) = (tmp_path / "runs").iterdir()
    whole = run_learner(setting, specification, 0, tmp_path / "whole")
    shutil.copy(whole.path / "history.json", folder / "history.json")
    assert not RunFolder.read(folder).finished
    states: list[int] = []
    run = run_learner(
        setting, specification, 0, tmp_path / "runs", on_state=lambda state, history: states.append(state)
    )
    assert states == [2]
    assert run.finished
    assert run.history == whole.history


def test_the_folder_stands_for_everything_that_determines_the_result(network: Path, tmp_path: Path) -> None:
    setting, nearest = digits(network), Specification.parse("NearestMean")
    folders = [
        run_learner(replace(setting, **changed), specification, seed, tmp_path / "runs", train_accuracy=train).path  # type: ignore[arg-type]
        for changed, specification, seed, train in (
            ({}, nearest, 0, False),
            ({}, nearest, 1, False),
            ({}, nearest, 0, True),
            ({}, Specification.parse("RandomRidge:width=64"), 0, False),
            ({}, Specification.parse("RandomRidge:width=32"), 0, False),
            ({"sizes": [5, 5]}, nearest, 0, False),
            ({"samples_per_class": 20}, nearest, 0, False),
            ({"encoder": str(save_network(tmp_path / "other", seed=1))}, nearest, 0, False),
        )
    ]
    assert len(set(folders)) == 8
    same = run_learner(replace(setting, accelerator="auto", devices=2), nearest, 0, tmp_path / "runs")
    assert same.path == folders[0]
    assert folders[0].name.startswith("digits-nearestmean-seed-0-")


def test_what_is_in_the_folder(network: Path, tmp_path: Path) -> None:
    setting = digits(network)
    run = run_learner(setting, Specification.parse("GBM:prototypes=2"), 5, tmp_path / "runs", train_accuracy=True)
    assert yaml.safe_load((run.path / "config.yaml").read_text()) == run.config
    assert run.config == {
        "dataset": "digits",
        "sizes": SIZES,
        "samples_per_class": 30,
        "encoder": str(network),
        "accelerator": "cpu",
        "learner": "GBM:prototypes=2",
        "seed": 5,
        "train_accuracy": True,
    }
    history = History.from_json((run.path / "history.json").read_bytes())
    assert history == run.history
    assert history.train_right is not None
    few = "30 samples of every class after task 0"
    assert history.notes == {"data": "digits", "few-shot": few, "encoder": "small_cnn"}
    rows = list(csv.DictReader((run.path / "log.csv").read_text().splitlines()))
    assert [float(row["accuracy"]) for row in rows] == pytest.approx(metrics.per_state(history).tolist())
    memory = BinaryMemory.load(run.path / "memory.safetensors")
    assert [int(label) for label in memory.labels] == sorted_by_task(history)
    assert memory.size_bits == history.memory_bits[-1]
    result = run.result()
    assert (result.name, result.seed) == ("GBM:prototypes=2", 5)


def sorted_by_task(history: History) -> list[int]:
    return [label for task in history.classes for label in sorted(task)]


# ------------------------------------------------------------------ finding runs


def test_finding_runs_learner_by_learner_and_seed_by_seed(network: Path, tmp_path: Path) -> None:
    setting = digits(network)
    prepared = Prepared(setting)
    runs = tmp_path / "runs"
    for text, seed in (("RandomRidge:width=16", 0), ("NearestMean", 1), ("NearestMean", 0)):
        run_learner(setting, Specification.parse(text), seed, runs / "deep", prepared=prepared)
    with pytest.raises(KeyboardInterrupt):
        run_learner(setting, Specification.parse("FeCAM"), 0, runs, prepared=prepared, on_state=stop_after(0))
    shutil.copytree(runs / "deep", runs / "copies")
    (runs / "config.yaml").write_text("something: else")
    found = find_runs([runs, runs / "deep"])
    assert [(run.name, run.config["seed"]) for run in found] == [
        ("NearestMean", 0),
        ("NearestMean", 1),
        ("RandomRidge:width=16", 0),
    ]
    assert [result.name for result in results_of(found)] == [run.name for run in found]


def test_what_differs_between_settings_becomes_part_of_the_name(network: Path, tmp_path: Path) -> None:
    nearest = Specification.parse("NearestMean")
    run_learner(digits(network), nearest, 0, tmp_path / "runs")
    run_learner(digits(network, sizes=[5, 5]), nearest, 0, tmp_path / "runs")
    run_learner(digits(network, sizes=[5, 5], samples_per_class=None), nearest, 0, tmp_path / "runs")
    names = {result.name for result in results_of(find_runs([tmp_path / "runs"]))}
    assert names == {
        "NearestMean (sizes=[5, 3, 2], samples_per_class=30)",
        "NearestMean (sizes=[5, 5], samples_per_class=30)",
        "NearestMean (sizes=[5, 5])",
    }


def test_what_has_the_same_name_but_not_the_same_content_is_no_other_seed(network: Path, tmp_path: Path) -> None:
    own, runs = tmp_path / "network", tmp_path / "runs"
    for seed in (0, 1):  # another network in the same folder
        save_network(own, seed=seed)
        for name in ("NearestMean", "GBM:prototypes=1"):
            run_learner(digits(own), Specification.parse(name), seed, runs)
    names = [result.name for result in results_of(find_runs([runs]))]
    assert len(set(names)) == 4
    assert all("(network content=" in name for name in names)
    found = find_runs([runs])
    (found[0].path / "origin.json").write_text('{"version": "0"}')
    assert "version=0" in results_of(found)[0].name
    (found[0].path / "origin.json").write_text("[")
    with pytest.raises(FileFormatError, match=r"origin\.json is damaged"):
        results_of(found)
    for run in found:  # as runs of before have none
        (run.path / "origin.json").unlink()
    assert [result.name for result in results_of(found)] == [run.name for run in found]


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not the folder of a run: it has no config\.yaml"):
        RunFolder.read(tmp_path)
    for folder in (tmp_path, tmp_path / "absent"):
        with pytest.raises(InputError, match="there is no"):
            find_runs([folder])
    for content in ("[1, 2]", "{", "learner: GBM", "a: \x00"):
        (tmp_path / "config.yaml").write_text(content)
        with pytest.raises(FileFormatError, match=r"config\.yaml is"):
            RunFolder.read(tmp_path)
    (tmp_path / "config.yaml").write_text("learner: GBM\nseed: 0\n")
    run = RunFolder.read(tmp_path)
    assert (run.history, run.finished) == (None, False)
    with pytest.raises(InputError, match="has not finished any task yet"):
        run.result()
    (tmp_path / "history.json").write_text(json.dumps({"kind": "?"}))
    with pytest.raises(FileFormatError, match=r"history\.json"):
        find_runs([tmp_path])


def test_a_run_of_another_version_of_the_learner_is_not_taken_for_this_one(
    network: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting, specification = digits(network), Specification.parse("NearestMean")
    first = run_learner(setting, specification, 0, tmp_path)
    assert run_learner(setting, specification, 0, tmp_path).path == first.path
    monkeypatch.setattr(LEARNERS["NearestMean"], "VERSION", 2)
    second = run_learner(setting, specification, 0, tmp_path)
    assert second.path != first.path
    monkeypatch.setattr("bitreplay.learners.frozen._on_bits.HEADS_VERSION", 77)
    assert find_run(Prepared(setting), specification, 0, tmp_path) is not None  # it has no memory
    assert Specification.parse("GBM").about.version == f"{LEARNERS['GBM'].VERSION}.77"


def test_a_run_says_when_it_was_made_and_not_when_it_was_read(network: Path, tmp_path: Path) -> None:
    setting, specification = digits(network), Specification.parse("NearestMean")
    made = run_learner(setting, specification, 0, tmp_path)
    assert made.history is not None
    assert made.history.made is not None
    assert made.history.made.seconds > 0
    text = (made.path / "history.json").read_text()
    (made.path / "history.json").write_text(text.replace(made.history.made.date, "1999-12-31"))
    again = run_learner(setting, specification, 0, tmp_path)
    assert again.history is not None
    assert again.history.made == replace(made.history.made, date="1999-12-31")


def test_gbm_leaves_a_model_that_predicts_and_learns(network: Path, tmp_path: Path) -> None:
    run = run_learner(digits(network), Specification.parse("GBM:prototypes=2"), 0, tmp_path)
    model = ImageClassifier.load(run.path / "model.bitreplay")
    dataset = load_dataset("digits")
    assert model.classes_.tolist() == sorted(dataset.class_names)
    assert run.history is not None
    answers = model.predict(dataset.test.images)
    right = sum(
        dataset.class_names[label] == answer for label, answer in zip(dataset.test.labels, answers, strict=True)
    )
    assert right == run.history.right[-1].sum()
    assert len(model.partial_fit(dataset.train.images[:20], "something else").classes_) == 11
    own_module = "GBM:prototypes=2,head=replay,architecture=binary,epochs=1,min_steps=5"
    for text in ("NearestMean", own_module):
        other = run_learner(digits(network), Specification.parse(text), 0, tmp_path)
        assert not (other.path / "model.bitreplay").exists()
