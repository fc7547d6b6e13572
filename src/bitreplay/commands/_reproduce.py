"""`bitreplay reproduce`: a table or figure of the paper, measured again."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bitreplay import metrics
from bitreplay.experiments import EXPERIMENTS, ExperimentName, Request
from bitreplay.report import terminal_table, write_report
from bitreplay.runs import RunFolder, Scale

__all__ = ["reproduce"]


def reproduce(
    experiment: ExperimentName | None = None,
    *,
    scale: Scale = "cpu",
    output: Path | str = Path("runs"),
    seeds: list[int] | None = None,
    n_jobs: int = 1,
    download: bool = False,
    list: bool = False,
) -> None:
    """Measure a table or figure of the paper again.

    Without the name of an experiment, the experiments are listed. An interrupted one goes on with the runs that are
    missing.

    Parameters
    ----------
    experiment : str, optional
        Which: `bitreplay reproduce table-5`.
    scale : {"cpu", "paper"}
        Reduced so that two cores do it, or as in the paper, which needs a GPU.
    output : Path or str
        Folder of the runs; a folder of this experiment in it gets the report.
    seeds : list of int, optional
        Seeds of the learners; the experiment has its own otherwise.
    n_jobs : int
        Processes on this machine; -1 means one per core.
    download : bool
        Fetch published weights that are missing. Data sets are never fetched; the message says where they come from.
    list : bool
        Show the experiments, and how long they take.
    """
    console = Console(soft_wrap=True, highlight=False, markup=False)
    if list or experiment is None:
        for name, entry in EXPERIMENTS.items():
            times = "; ".join(f"--scale {each}: {time}" for each, time in entry.duration.items())
            console.print(f"{name}  {entry.title}\n    {entry.shows}\n    {times}")
        return
    chosen = EXPERIMENTS[experiment]
    folder = Path(output) / experiment
    console.print(f"{chosen.title}\nThis takes about {chosen.duration[scale]}.")

    def show(run: RunFolder) -> None:
        console.print(f"{run.name}, seed {run.config['seed']}: {100 * metrics.final(run.result().history):.1f} %")

    outcome = chosen.run(Request(scale, folder, seeds, n_jobs, download, show))
    console.print(terminal_table(outcome.results))
    for name, published in outcome.published.items():
        console.print(f"published: {published}  {name}")
    for remark in outcome.remarks:
        console.print(f"note: {remark}")
    page = write_report(outcome.results, folder, chosen.title, dict(outcome.configuration))
    console.print(f"report: {page}")
