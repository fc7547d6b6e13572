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
EPOCHS = times(400, 1_500)  # of the comparison's slow learner, in the first trial to catch it at work
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


def ended_by(number: signal.Signals, words: Sequence[object], folder: Path, halfway: Callable[[], bool]) -> int:
    """Begin a command, send it a signal when it is halfway, and see all of its processes go.

    Returns how many processes there were; none if the command came to its end before the signal.
    """
    folder.mkdir(exist_ok=True)
    log = folder / "log.txt"
    process, mark = started(words, folder / "cache", log)
    try:
        assert wait_until(lambda: halfway() or process.poll() is not None, BEGINNING), log.read_text()
        n_processes = len(processes(mark))
        process.send_signal(number)
        assert wait_until(lambda: not processes(mark), SECONDS), (processes(mark), log.read_text())
    finally:
        for left in processes(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        code = process.wait()
    if code == 0:
        return 0
    assert code == {signal.SIGINT: 130}.get(number, -number), log.read_text()
    assert ("repeat the command to resume" in log.read_text()) == (number == signal.SIGINT)
    return n_processes


def undisturbed(words: Sequence[object], folder: Path) -> None:
    """Run a command to its end."""
    folder.mkdir(exist_ok=True)
    process, mark = started(words, folder / "cache", folder / "log.txt")
    assert process.wait() == 0, (folder / "log.txt").read_text()
    assert wait_until(lambda: not processes(mark), SECONDS)


# ---------------------------------------------------------------------- compare


def comparison(network: Path, epochs: int, n_jobs: int = 2) -> list[str]:
    """Quick runs, then slow ones, in two workers."""
    words = ["compare", *SETTING, "--encoder", network, "--learners", "NearestMean"]
    words += [f"FeTrIL:classifier=fc,epochs={epochs}", "--seeds", *SEEDS, "--n_jobs", n_jobs, "--output", "runs"]
    return [str(word) for word in words]


def histories(folder: Path) -> dict[str, History]:
    """The finished runs of a comparison, by folder."""
    found = (folder / "runs").glob("*/history.json")
    return {path.parent.name: History.from_json(path.read_bytes()) for path in found}


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_network(tmp_path_factory.mktemp("network"))


def compare_here(network: Path, epochs: int, folder: Path) -> None:
    """The comparison in this process, where everything is imported already; one process makes all runs."""
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("BITREPLAY_CACHE", str(folder / "cache"))
        assert main(comparison(network, epochs, n_jobs=1)) == 0


def caught_halfway(number: signal.Signals, network: Path, folder: Path) -> tuple[Path, int]:
    """A comparison that was ended with some of its runs finished and others not: its folder, and its epochs.

    How long a run takes beside the start of the other worker nobody can say on busy cores: where all were finished
    when the signal came, the trial is repeated with slower ones.
    """
    for trial in range(4):
        place, epochs = folder / f"trial-{trial}", EPOCHS * 4**trial

        def halfway(place: Path = place) -> bool:
            return bool(histories(place)) and any((place / "runs").glob("*fetril*"))

        n_processes = ended_by(number, comparison(network, epochs), place, halfway)
        if n_processes >= 3 and 0 < len(histories(place)) < 2 * len(SEEDS):
            return place, epochs
    pytest.fail("no comparison was caught with some runs finished and others not")


def check_comparison(number: signal.Signals, network: Path, tmp_path: Path, go_on: Callable[[int, Path], None]) -> None:
    folder, epochs = caught_halfway(number, network, tmp_path)
    finished = histories(folder)
    kept = {name: (folder / "runs" / name / "history.json").stat().st_mtime_ns for name in finished}
    go_on(epochs, folder)
    compare_here(network, epochs, tmp_path / "undisturbed")
    assert histories(folder) == histories(tmp_path / "undisturbed")
    assert len(histories(folder)) == 2 * len(SEEDS)
    for name, moment in kept.items():  # what was finished was not done again
        assert (folder / "runs" / name / "history.json").stat().st_mtime_ns == moment
    assert (folder / "runs" / "report.html").exists()
    assert not [path.name for path in folder.rglob("*") if path.name.endswith((".part", "checkpoint.safetensors"))]


def test_a_comparison_that_was_terminated_goes_on(network: Path, tmp_path: Path) -> None:
    check_comparison(signal.SIGTERM, network, tmp_path, lambda epochs, folder: compare_here(network, epochs, folder))


@long_only
@pytest.mark.parametrize("number", SIGNALS)
def test_a_comparison_with_two_workers_ends_whole_and_goes_on(
    number: signal.Signals, network: Path, tmp_path: Path
) -> None:
    def go_on(epochs: int, folder: Path) -> None:
        undisturbed(comparison(network, epochs), folder)

    check_comparison(number, network, tmp_path, go_on)


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
    assert ended_by(number, training(), tmp_path, (folder / "checkpoint.safetensors").exists) >= 3
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
