"""`bitreplay run`: one learner, from images to accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.learners.frozen import GBM
from bitreplay.learners.frozen._method import Method
from bitreplay.report import terminal_table, write_report
from bitreplay.runs import Setting, Specification, prepare, run_learner

__all__ = ["run"]


def run(
    learner: Method | None = None,
    *,
    seed: int = 0,
    output: Path | str = Path("runs"),
    train_accuracy: bool = False,
    checkpoint_seconds: float = 20.0,
    **setting: Any,
) -> None:
    """Take one learner through the tasks of a data set.

    The same command goes on where an interrupted run stopped, and shows a finished one at once. Results are a folder
    with `history.json`, `log.csv`, `config.yaml` and `report.html`.

    Parameters
    ----------
    learner : Method, optional
        The method, by default GBM: `--learner FeTrIL`, `--learner GBM --learner.prototypes 16`. Its options are shown
        by `--learner.help NAME`.
    seed : int
        Seed of the learner.
    output : Path or str
        Folder of all runs; this one gets a folder in it.
    train_accuracy : bool
        Also measure accuracy on training samples, to see overfitting.
    checkpoint_seconds : float
        Time between two checkpoints: what a kill can cost.
    **setting
        Data, tasks and encoder.
    """
    console = Console()
    chosen = Setting(**setting)
    specification = Specification.of(learner or GBM())
    scenario, encoder = prepare(chosen)
    console.print(scenario.summary(), highlight=False)

    def show(state: int, history: History) -> None:
        accuracy = metrics.per_state(history)[-1]
        console.print(
            f"task {state}: {history.classes_seen[-1]} classes, accuracy {100 * accuracy:.1f} %, "
            f"learned in {history.seconds[-1]:.1f} s",
            highlight=False,
        )

    finished = run_learner(
        chosen,
        specification,
        seed,
        Path(output),
        train_accuracy=train_accuracy,
        prepared=(scenario, encoder),
        on_state=show,
        checkpoint_seconds=checkpoint_seconds,
    )
    result = finished.result()
    console.print(terminal_table([result]))
    page = write_report([result], finished.path, f"{specification} on {scenario.dataset.name}", finished.config)
    console.print(f"results: {finished.path}\nreport:  {page}", highlight=False, soft_wrap=True)
