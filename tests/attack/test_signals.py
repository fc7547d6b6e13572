"""Commands that are ended by a signal: all their processes are gone within seconds, and the same command goes on."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from bitreplay._floor.children import end_with_parent, ending_children
from bitreplay._floor.container import read_file
from bitreplay.training import TrainedNetwork
from tests.attack.scale import LONG

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

ROOT = Path(__file__).parents[2]
EPOCHS = 40  # of a training that is ended while it lasts
SECONDS = 10  # within which all processes must be gone

# Everything that a command starts inherits this mark, by which it is found wherever it went.
TRAIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start what runs in the background without it
from bitreplay.training import train_base, TrainingOptions
from tests.training.problems import tiny_task
if __name__ == "__main__":
    options = TrainingOptions(epochs=int(sys.argv[2]), ste_epochs=0, batch_size=16, augmentation="none")
    train_base(tiny_task(n=480), "small_cnn", options, binarizer="none", folder=sys.argv[1], accelerator="cpu",
               devices=2, progress=False)
"""
COMPARE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from bitreplay.runs import Specification, compare_learners
from tests.runs.problems import digits
if __name__ == "__main__":
    learners = [Specification.parse(f"FeTrIL:classifier=fc,epochs={sys.argv[2]}")]
    compare_learners(digits(Path(sys.argv[1]) / "network"), learners, [0, 1], Path(sys.argv[1]) / "runs", n_jobs=2)
"""


def processes(mark: str) -> list[int]:
    """All living processes that carry a mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes() and " Z " not in (folder / "stat").read_text():
                found.append(int(folder.name))
        except OSError:  # gone, or not ours
            continue
    return found


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def started(program: Path, *arguments: object) -> tuple[subprocess.Popen[bytes], str]:
    mark = f"BITREPLAY_ATTACK_MARK={os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    environment = {**os.environ, name: value, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), environment.get("PYTHONPATH", "")])
    command = [sys.executable, str(program), *map(str, arguments)]
    with program.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log), mark


def working(mark: str, n: int) -> bool:
    """Whether so many workers have been computing for a while."""
    busy = 0
    for process in processes(mark):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            busy += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 3
        except OSError:
            continue
    return busy >= n


def test_a_worker_ends_with_its_parent() -> None:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's word on forks beside threads
        parent = os.fork()
        if not parent:
            parent_of_worker = os.getpid()
            worker = os.fork()
            if not worker:
                end_with_parent(parent_of_worker)
                end_with_parent(parent_of_worker)  # a second job
                os.write(writing, str(os.getpid()).encode())
            time.sleep(60)
            os._exit(0)
    worker = int(os.read(reading, 20))
    os.kill(parent, signal.SIGTERM)
    os.waitpid(parent, 0)
    assert wait_until(lambda: not alive(worker), SECONDS)
    os.close(reading)
    os.close(writing)


def test_a_worker_whose_parent_was_gone_before_it_began_ends_at_once() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        worker = os.fork()
        if not worker:
            end_with_parent(os.getppid() + 1)
            time.sleep(60)
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == 128 + signal.SIGTERM


def test_an_interrupted_parent_ends_its_workers_and_no_others() -> None:
    context = multiprocessing.get_context("fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        earlier = context.Process(target=time.sleep, args=(60,))
        earlier.start()
        workers = [context.Process(target=time.sleep, args=(60,)) for _ in range(2)]
        with pytest.raises(KeyboardInterrupt), ending_children():  # noqa: PT012
            for worker in workers:
                worker.start()
            raise KeyboardInterrupt
    assert not any(worker.is_alive() for worker in workers)
    assert earlier.is_alive()
    earlier.kill()
    earlier.join()


def alive(process: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


# Whole commands import everything in every process, which takes longer than all that is tested.
long_only = pytest.mark.skipif(not LONG, reason="make attack")
SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGKILL]


@long_only
@pytest.mark.parametrize("number", SIGNALS)
def test_a_training_on_two_devices_ends_whole(number: signal.Signals, tmp_path: Path) -> None:
    program, folder = tmp_path / "program.py", tmp_path / "training"
    program.write_text(TRAIN)
    process, mark = started(program, folder, EPOCHS)
    try:
        assert wait_until((folder / "checkpoint.safetensors").exists, 180), program.with_suffix(".log").read_text()
        assert len(processes(mark)) >= 3
        process.send_signal(number)
        assert wait_until(lambda: not processes(mark), SECONDS), processes(mark)
    finally:
        for left in processes(mark):
            os.kill(left, signal.SIGKILL)
        process.wait()
    assert (folder / "checkpoint.safetensors").exists()
    done = read_file(folder / "checkpoint.safetensors")[0]["epoch"]
    assert 0 < done < EPOCHS
    again, _ = started(program, folder, EPOCHS)  # the same command
    assert again.wait() == 0
    assert TrainedNetwork.load(folder).accuracy["plain"] is not None
    assert not (folder / "checkpoint.safetensors").exists()
    with (folder / "log.csv").open() as log:
        assert [int(row["epoch"]) for row in csv.DictReader(log)] == list(range(1, EPOCHS + 1))


@long_only
@pytest.mark.parametrize("number", SIGNALS)
def test_a_comparison_with_two_workers_ends_whole(number: signal.Signals, tmp_path: Path) -> None:
    from tests.runs.problems import save_network

    program = tmp_path / "program.py"
    program.write_text(COMPARE)
    save_network(tmp_path / "network")
    process, mark = started(program, tmp_path, 100_000)
    try:
        assert wait_until(lambda: working(mark, 3), 180), program.with_suffix(".log").read_text()
        process.send_signal(number)
        assert wait_until(lambda: not processes(mark), SECONDS), processes(mark)
    finally:
        for left in processes(mark):
            os.kill(left, signal.SIGKILL)
        process.wait()
