"""A training that is killed, and killed again, ends like one that was not."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bitreplay._floor.container import read_file
from bitreplay._floor.locks import file_lock
from bitreplay.training import train_base
from bitreplay.training._log import TrainingLog
from tests.training.problems import ARGUMENTS, tiny_task

pytest.importorskip("lightning_fabric", reason="Lightning Fabric is not installed")

ROOT = Path(__file__).parents[2]

# A child that trains, and is killed while it writes its second checkpoint: written, but not renamed.
CHILD = """
import os, signal, sys
from bitreplay._floor import files as _file
from bitreplay.training import train_base
from tests.training.problems import ARGUMENTS, tiny_task

calls = 0

def dies(descriptor):
    global calls
    calls += 1
    if calls == 2:
        os.kill(os.getpid(), signal.SIGKILL)

_file.os.fsync = dies
train_base(tiny_task(), **ARGUMENTS, folder=sys.argv[1], progress=False)
"""


def test_killed_while_writing_at_a_step_and_between_it_ends_with_the_same_weights(tmp_path, monkeypatch):
    undisturbed = train_base(tiny_task(), **ARGUMENTS, folder=tmp_path / "undisturbed", progress=False)
    folder = tmp_path / "killed"
    threads = str(torch.get_num_threads())  # the last digits of sums depend on it
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-c", CHILD, str(folder)]
    assert subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    assert list((folder / "plain").glob(".bitreplay-*.part"))
    assert read_file(folder / "plain" / "checkpoint.safetensors")[0]["epoch"] == 1

    calls = []

    def advance(log: TrainingLog, work: int, text: str) -> None:
        calls.append(text)
        if len(calls) == 9:  # in the third epoch, of six steps each
            raise KeyboardInterrupt

    def write_until(epoch: int) -> Callable[[TrainingLog, list[object]], None]:
        """Interrupts between checkpoint and log."""
        whole = TrainingLog.write

        def write(log: TrainingLog, rows: list[object]) -> None:
            if len(rows) == epoch and rows[-1]["phase"] == ("plain" if epoch == 3 else "straight_through"):
                raise KeyboardInterrupt
            whole(log, rows)

        return write

    plain = folder / "plain"
    for name, interrupted, place, done in (
        ("advance", advance, plain, 2),
        ("write", write_until(3), plain, 3),  # at the end of the first phase
        ("write", write_until(1), folder, 1),
        ("write", write_until(2), folder, 2),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(TrainingLog, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                train_base(tiny_task(), **ARGUMENTS, folder=folder, progress=False)
        content, _ = read_file(place / "checkpoint.safetensors")
        assert content["epoch"] == done

    resumed = train_base(tiny_task(), **ARGUMENTS, folder=folder, progress=False)
    assert resumed.accuracy == undisturbed.accuracy
    content, tensors = read_file(folder / "network.safetensors")
    expected_content, expected = read_file(tmp_path / "undisturbed" / "network.safetensors")
    assert content == expected_content
    assert set(tensors) == set(expected)
    for name, value in tensors.items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)
    for part in (".", "plain"):
        logs = [
            [line.split(",")[:7] for line in (path / part / "log.csv").read_text().splitlines()]  # all but the times
            for path in (folder, tmp_path / "undisturbed")
        ]
        assert logs[0] == logs[1]
    assert not list(folder.rglob("*checkpoint*"))
    assert not list(folder.rglob(".*.part"))


def test_the_lock_lets_one_in_at_a_time(tmp_path):
    order = []

    def second() -> None:
        with file_lock(tmp_path / ".lock"):
            order.append("second")

    with file_lock(tmp_path / ".lock"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)  # it waits
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
