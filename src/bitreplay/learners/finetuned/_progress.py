"""How far the training of a task has come, in files: an interrupted run goes on with the epoch it was at.

Every random number of a training comes from (seed, epoch, step): network and optimizer after an epoch are all it needs.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from bitreplay.training import Position, read_checkpoint, write_checkpoint


@dataclass
class Progress:
    """Where the progress within a task is kept: nowhere without a folder."""

    folder: Path | None = None
    seconds_between: float = 0.0  # two times of writing
    earlier_seconds: float = 0.0  # that went into the task before it was interrupted
    trainings: int = 0  # of the task, so far
    written: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """A task begins, or begins again."""
        self.earlier_seconds, self.trainings = 0.0, 0

    def of_next(self, task: str) -> EpochCheckpoint | None:
        """The file of the task's next training: a method may train several times, with the same options or others."""
        self.trainings += 1
        name = f"{task}-training-{self.trainings}.safetensors"
        return None if self.folder is None else EpochCheckpoint(self, self.folder / name)


@dataclass
class EpochCheckpoint:
    """The state of a training after an epoch, in a file."""

    progress: Progress
    path: Path
    earlier_seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def read(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> int:
        """Take over network and optimizer, if there is a file; returns how many epochs are done."""
        position = read_checkpoint(self.path, self.path.stem, network, optimizer)
        self.earlier_seconds = sum(row["seconds"] for row in position.rows)
        self.progress.earlier_seconds += self.earlier_seconds
        return position.epoch

    def after(self, epochs: int, network: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Write the state after this many epochs, if it is time to."""
        now = time.monotonic()
        if now - self.progress.written < self.progress.seconds_between:
            return
        position = Position(epochs, [{"seconds": self.earlier_seconds + now - self.began}])
        with contextlib.suppress(FileNotFoundError):  # another process has finished the same run, and removed this
            self.path.parent.mkdir(exist_ok=True)
            write_checkpoint(self.path, self.path.stem, position, network, optimizer)
        self.progress.written = time.monotonic()
