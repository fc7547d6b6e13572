"""`bitreplay run` and `bitreplay train`, as a user types them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from bitreplay.cli import main
from bitreplay.runs import RunFolder, Setting, Specification, run_learner
from bitreplay.training import TrainedNetwork
from tests.runs.problems import SIZES, digits

Capture = pytest.CaptureFixture[str]


def folder_in(path: Path) -> Path:
    (folder,) = path.iterdir()
    return folder


def _without(typed: list[str], option: str) -> list[str]:
    """What is typed but for an option and its values."""
    if option not in typed:
        return typed
    start = typed.index(option)
    end = next((place for place in range(start + 1, len(typed)) if typed[place].startswith("--")), len(typed))
    return typed[:start] + typed[end:]


@pytest.fixture
def setting(network: Path, tmp_path: Path) -> list[str]:
    sizes = list(map(str, SIZES))
    options = ["--dataset", "digits", "--encoder", str(network), "--sizes", *sizes, "--samples_per_class", "30"]
    return [*options, "--output", str(tmp_path / "runs")]


def test_from_images_to_a_report_and_the_same_command_shows_it_again(
    setting: list[str], tmp_path: Path, capsys: Capture
) -> None:
    command = ["run", *setting, "--learner", "GBM", "--learner.prototypes", "2", "--train_accuracy"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "digits: 10 classes in 3 tasks, 5 + 3 + 2" in printed
    for state, classes in enumerate((5, 8, 10)):
        assert f"task {state}: {classes} classes, accuracy" in printed
    assert "GBM:prototypes=2" in printed
    folder = folder_in(tmp_path / "runs")
    assert f"results: {folder}" in printed
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.yaml", "history.json", "log.csv", "memory.safetensors", "model.bitreplay", "origin.json", "plots",
        "report.html", "states.csv", "table.csv", "table.md",
    }  # fmt: skip
    assert "GBM:prototypes=2 on digits" in (folder / "report.html").read_text(encoding="utf-8")
    history = (folder / "history.json").read_bytes()

    assert main(command) == 0
    assert "task 0:" not in capsys.readouterr().out
    assert folder_in(tmp_path / "runs") == folder
    assert (folder / "history.json").read_bytes() == history


def test_the_configuration_of_a_run_runs_it_again(network: Path, tmp_path: Path) -> None:
    setting = digits(network, order=[4, 2, 7, 6, 0, 9, 8, 5, 3, 1])
    first = run_learner(setting, Specification.parse("GBM:prototypes=2,blend=.5"), 3, tmp_path / "first")
    command = ["run", "--config", str(first.path / "config.yaml"), "--output", str(tmp_path / "again")]
    assert main(command) == 0
    again = folder_in(tmp_path / "again")
    assert again.name == first.path.name
    assert RunFolder.read(again) == replace(first, path=again)


def test_what_is_typed_wins_over_the_configuration(network: Path, tmp_path: Path, capsys: Capture) -> None:
    written = {"dataset": "digits", "encoder": str(network), "sizes": SIZES, "order": None, "seed": 3}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**written, "learner": "GBM:prototypes=2"}))
    command = ["run", "--config", str(file), "--output", str(tmp_path / "runs")]
    assert main(command) == 2  # null is no order, and there the network saw other classes
    assert "was trained on classes that differ" in capsys.readouterr().err
    assert main([*command, "--seed", "4", "--learner.bits", "2", "--sizes", "5", "5", "--order", "1993"]) == 0
    config = RunFolder.read(folder_in(tmp_path / "runs")).config
    assert (config["learner"], config["seed"], config["sizes"]) == ("GBM:prototypes=2,bits=2", 4, [5, 5])
    assert "order" not in config  # the default again


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--learner", "GMB"], "there is no learner 'GMB'; there are GBM, "),
        (["--learner", "GBM", "--learner.protoypes", "4"], "did you mean prototypes?"),
        (["--learner", "GBM", "--learner.prototypes", "x"], "must be an integer of at least 1; got 'x'"),
        (["--seed", "-1"], "seed must be an integer of at least 0; got -1"),
        (["--sizes", "5", "4"], "sizes must sum to the 10 classes"),
        (["--order", "1", "2"], "order must hold each class from 0 to 9 once"),
        (["--order", "5"], "was trained on classes that differ from task 0"),
        (["--encoder", "resnet81"], "encoder must be one of resnet18"),
        (["--dataset", "digist"], "did you mean 'digits'?"),
        (["--config", "config.yaml"], '--config: "config.yaml" does not exist.'),
        (["--training.epochs", "4"], "comes with weights and takes no training options"),
        (["--training.epochs", "0"], "epochs must be an integer of at least 1; got 0"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_line(
    setting: list[str], tmp_path: Path, capsys: Capture, options: list[str], said: str
) -> None:
    assert main(["run", *_without(setting, options[0]), *options]) == 2
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("error: ")
    assert said in error[0]
    assert error[1:] in ([], ["see: bitreplay run --help"], ["see: bitreplay --help"])
    assert not (tmp_path / "runs").exists()


# ------------------------------------------------------------------ train


def test_a_trained_network_is_what_runs_use(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "network"
    tasks = ["--dataset", "digits", "--sizes", "2", "8", "--accelerator", "cpu"]
    assert main(["train", *tasks, "--folder", str(folder), "--p", "2"]) == 0
    printed = capsys.readouterr().out
    assert "training small_cnn on 2 classes of digits" in printed
    assert "test accuracy with the binarizer, after the straight-through phase: " in printed
    assert f"network: {folder}" in printed
    trained = TrainedNetwork.load(folder)
    assert np.sort(trained.classes).tolist() == [2, 4]
    short = ["--training.epochs", "1", "--training.ste_epochs", "1", "--training.continued"]
    assert main(["train", *tasks, "--folder", str(tmp_path / "control"), "--binarizer", "none", *short]) == 0
    assert "test accuracy without a binarizer, trained for as long: " in capsys.readouterr().out
    assert trained.binarizer is not None
    assert trained.binarizer.bits_per_feature == 2
    output = ["--output", str(tmp_path / "runs")]
    assert main(["run", *tasks, "--encoder", str(folder), "--learner", "GBM:prototypes=1", *output]) == 0
    assert folder_in(tmp_path / "runs").name.startswith("digits-gbm-prototypes-1")

    assert main(["train", *tasks, "--folder", str(folder), "--p", "3"]) == 2
    assert "trained differently" in capsys.readouterr().err


def test_training_options_are_given_one_by_one(tmp_path: Path, capsys: Capture) -> None:
    tasks = ["--dataset", "digits", "--sizes", "2", "8", "--accelerator", "cpu", "--training.epochs", "1"]
    tasks += ["--training.ste_epochs", "1", "--training.image_sizes", "8"]
    output = ["--output", str(tmp_path / "runs")]
    assert main(["run", *tasks, "--learner", "NearestMean", *output]) == 0
    folder = folder_in(tmp_path / "runs")
    changes = {"epochs": 1, "ste_epochs": 1, "image_sizes": [8]}
    assert RunFolder.read(folder).config["training"] == changes
    capsys.readouterr()
    assert main(["run", "--config", str(folder / "config.yaml"), "--accelerator", "cpu", *output]) == 0
    assert f"results: {folder}\n" in capsys.readouterr().out  # the same run: nothing is trained, nothing is learned
    setting = Setting("digits", sizes=[2, 8], training=changes)  # type: ignore[arg-type]
    assert setting.determinants()["training"] == changes
    for nothing in (None, {}):
        assert "training" not in Setting("digits", training=nothing).determinants()  # type: ignore[arg-type]
    options = setting.training_options
    assert (options.epochs, options.batch_size) == (1, 32)  # the one is given, the other the preset's


def test_what_comes_with_its_weights_is_not_trained(capsys: Capture) -> None:
    assert main(["train", "--dataset", "not/there", "--encoder", "efficientnet_lite0"]) == 2  # said before data is read
    assert "comes with weights" in capsys.readouterr().err
