"""`bitreplay run`: one learner, from images to accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.report import terminal_table, write_report
from bitreplay.runs import Prepared, Setting, Specification, run_learner

__all__ = ["run"]


def run(
    learner: str = "GBM",
    *,
    seed: int = 0,
    output: Path | str = Path("runs"),
    train_accuracy: bool = False,
    checkpoint_seconds: float = 20.0,
    **setting: Any,
) -> None:
    """Take one learner through the tasks of a data set.

    The same command goes on where an interrupted run stopped, and shows a finished one at once. Results are a folder
    with `history.json`, `log.csv`, `config.yaml`, `report.html` and, for GBM, `memory.safetensors`.

    Parameters
    ----------
    learner : str
        GBM, FineTuning, Joint, NearestMean, FeTrIL, FeCAM, StreamingLDA, RandomRidge, GaussianReplay, LatentReplay or
        LatentReplayCWR.
        Those that train the whole network: FullFineTuning, FullJoint, iCaRL, EEIL, LUCIR, LwF-MC, EWC, PASS, IL2A or
        TrainableGBM. Options follow: `--learner GBM --learner.prototypes 16`, or in short `--learner
        GBM:prototypes=16`; `--learner.help GBM` lists them.
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
    specification = Specification.parse(learner)
    specification.make(seed)  # refuses a wrong seed before anything long begins
    prepared = Prepared(chosen)
    console.print(prepared.scenario.summary(), highlight=False, markup=False)

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
        prepared=prepared,
        on_state=show,
        checkpoint_seconds=checkpoint_seconds,
    )
    result = finished.result()
    console.print(terminal_table([result]))
    title = f"{specification} on {prepared.scenario.dataset.name}"
    page = write_report([result], finished.path, title, finished.config)
    console.print(f"results: {finished.path}\nreport:  {page}", highlight=False, markup=False, soft_wrap=True)
