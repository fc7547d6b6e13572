"""The output of a training: `log.csv`, TensorBoard if installed, and a progress bar with the time left."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bitreplay._floor.files import write_text

COLUMNS = (
    "phase",
    "epoch",
    "image_size",
    "learning_rate",
    "loss",
    "train_accuracy",
    "test_accuracy",
    "seconds",
    "images_per_second",
)


class TrainingLog:
    """Receives the work done during an epoch, and all rows after each epoch."""

    def __init__(self, path: Path, bar: Any, writer: Any) -> None:
        self._path = path
        self._bar = bar
        self._writer = writer

    def advance(self, work: int, text: str) -> None:
        """Advance the progress bar by `work`, and show the current activity."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], advance=work, description=text)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write all rows to `log.csv`, and the last one to TensorBoard.

        The file is replaced as a whole: after a kill it never holds more epochs than the checkpoint.
        """
        text = io.StringIO()
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        write_text(self._path, text.getvalue())
        if self._writer is not None:
            for name in ("learning_rate", "loss", "train_accuracy", "test_accuracy", "images_per_second"):
                if rows[-1][name] is not None:
                    self._writer.add_scalar(name, rows[-1][name], len(rows))
            self._writer.flush()


@contextmanager
def training_log(
    folder: Path, work: Sequence[int], done: int, *, tensorboard: bool, progress: bool
) -> Iterator[TrainingLog]:
    """A log in `folder` for a training whose epochs cost `work` each, with `done` of them completed."""
    with ExitStack() as stack:
        writer = bar = None
        if tensorboard:
            with contextlib.suppress(ImportError):
                from torch.utils.tensorboard import SummaryWriter

                writer = SummaryWriter(str(folder / "tensorboard"), purge_step=done + 1)
                stack.callback(writer.close)
        if progress:
            with contextlib.suppress(ImportError):
                from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

                columns = (
                    TextColumn("{task.description}"),
                    BarColumn(),
                    TaskProgressColumn(),
                    TimeRemainingColumn(elapsed_when_finished=True),
                )
                bar = stack.enter_context(Progress(*columns, speed_estimate_period=120.0))
                bar.add_task("training", total=sum(work), completed=sum(work[:done]))
        yield TrainingLog(folder / "log.csv", bar, writer)
