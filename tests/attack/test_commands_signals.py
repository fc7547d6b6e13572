"""Whole commands that are ended by a signal: all their processes are gone in seconds, and the same command goes on.

What it ends with is what a command says that nobody disturbed.
"""

from __future__ import annotations

import contextlib
import csv
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from bitreplay._floor.container import read_file
from bitreplay.cli import main
from bitreplay.evaluation import History
from tests.attack.processes import SECONDS, processes, started, wait_until
from tests.attack.scale import LONG, times
from tests.runs.problems import SIZES, save_network

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

BEGINNING = 900  # seconds that a command may take to come to the middle of its work, on very busy cores
EPOCHS = times(400, 1_500)  # of the comparison's slow learner: many more than a signal takes to arrive
SEEDS = range(times(1, 2))
TRAINED = 20  # epochs of a training
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]
long_only = pytest.mark.skipif(not LONG, reason="make attack")

SETTING = ["--dataset", "digits", "--sizes", *SIZES, "--samples_per_class", "30", "--accelerator", "cpu"]
TRAINING = ["--training.epochs", TRAINED, "--training.augmentation", "none", "--training.batch_size", "16"]


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """What shells start in the background ignores SIGINT, and so would all that it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ended_by(
    number: signal.Signals, words: Sequence[object], folder: Path, halfway: Callable[[], bool], n_processes: int
) -> None:
    """Begin a command, send it a signal when it is halfway, and see all of its processes go."""
    log = folder / "log.txt"
    process, mark = started(words, folder / "cache", log)
    try:
        assert wait_until(lambda: halfway() or process.poll() is not None, BEGINNING), log.read_text()
        assert process.poll() is None, log.read_text()
        assert len(processes(mark)) >= n_processes
        process.send_signal(number)
        assert wait_until(lambda: not processes(mark), SECONDS), (processes(mark), log.read_text())
    finally:
        for left in processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        code = process.wait()
    assert code == {signal.SIGINT: 130}.get(number, -number)
    assert ("repeat the command to resume" in log.read_text()) == (number == signal.SIGINT)


def undisturbed(words: Sequence[object], folder: Path) -> None:
    """Run a command to its end."""
    folder.mkdir(exist_ok=True)
    process, mark = started(words, folder / "cache", folder / "log.txt")
    assert process.wait() == 0, (folder / "log.txt").read_text()
    assert wait_until(lambda: not processes(mark), SECONDS)


# ---------------------------------------------------------------------- compare


def comparison(network: Path, n_jobs: int = 2) -> list[str]:
    """Quick runs, then slow ones, in two workers."""
    words = ["compare", *SETTING, "--encoder", network, "--learners", "NearestMean"]
    words += [f"FeTrIL:classifier=fc,epochs={EPOCHS}", "--seeds", *SEEDS, "--n_jobs", n_jobs, "--output", "runs"]
    return [str(word) for word in words]


def histories(folder: Path) -> dict[str, History]:
    """The finished runs of a comparison, by folder."""
    found = (folder / "runs").glob("*/history.json")
    return {path.parent.name: History.from_json(path.read_bytes()) for path in found}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_network(tmp_path_factory.mktemp("network"))


@pytest.fixture(scope="module")
def compared(network: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, History]:
    """What the comparison says when nobody disturbs it, and one process makes all runs."""
    folder = tmp_path_factory.mktemp("compared")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BITREPLAY_CACHE", str(folder / "cache"))
        assert main(comparison(network, n_jobs=1)) == 0
    return histories(folder)


def check_comparison(
    number: signal.Signals, network: Path, compared: dict[str, History], folder: Path, go_on: Callable[[], None]
) -> None:
    def halfway() -> bool:
        return bool(histories(folder)) and any((folder / "runs").glob("*fetril*"))

    ended_by(number, comparison(network), folder, halfway, n_processes=3)
    finished = histories(folder)
    assert 0 < len(finished) < len(compared) == 2 * len(SEEDS)
    kept = {name: (folder / "runs" / name / "history.json").stat().st_mtime_ns for name in finished}
    go_on()
    assert histories(folder) == compared
    for name, moment in kept.items():  # what was finished was not done again
        assert (folder / "runs" / name / "history.json").stat().st_mtime_ns == moment
    assert (folder / "runs" / "report.html").exists()
    assert not [path.name for path in folder.rglob("*") if path.name.endswith((".part", "checkpoint.safetensors"))]


def test_a_comparison_that_was_terminated_goes_on(
    network: Path, compared: dict[str, History], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))

    def here() -> None:  # where everything is imported already
        assert main(comparison(network, n_jobs=1)) == 0

    check_comparison(signal.SIGTERM, network, compared, tmp_path, here)


@long_only
@pytest.mark.parametrize("number", SIGNALS)
def test_a_comparison_with_two_workers_ends_whole_and_goes_on(
    number: signal.Signals, network: Path, compared: dict[str, History], tmp_path: Path
) -> None:
    check_comparison(number, network, compared, tmp_path, lambda: undisturbed(comparison(network), tmp_path))


# ---------------------------------------------------------------------- train


def training(folder: str = "network") -> list[object]:
    """Twenty epochs on two devices."""
    options = ["--encoder", "small_cnn", "--binarizer", "none", "--devices", 2, "--folder", folder]
    return ["train", *SETTING, *options, *TRAINING]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    undisturbed(training(), folder)
    return folder / "network"


def epochs(folder: Path) -> list[dict[str, str]]:
    """The log of a training, without times."""
    with (folder / "log.csv").open() as log:
        return [{name: value for name, value in row.items() if "second" not in name} for row in csv.DictReader(log)]


@long_only
@pytest.mark.parametrize("number", SIGNALS)
def test_a_training_on_two_devices_ends_whole_and_goes_on(
    number: signal.Signals, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "network"
    ended_by(number, training(), tmp_path, (folder / "checkpoint.safetensors").exists, n_processes=3)
    assert 0 < read_file(folder / "checkpoint.safetensors")[0]["epoch"] < TRAINED
    undisturbed(training(), tmp_path)
    assert not (folder / "checkpoint.safetensors").exists()
    assert epochs(folder) == epochs(trained)
    assert len(epochs(folder)) == TRAINED
    (content, tensors), (expected, others) = (read_file(where / "network.safetensors") for where in (folder, trained))
    assert content["accuracy"] == expected["accuracy"]
    assert tensors.keys() == others.keys()
    for name, values in tensors.items():
        np.testing.assert_array_equal(values, others[name], err_msg=name)
