"""`bitreplay compare`: several learners and seeds on one setting, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from bitreplay import metrics
from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS
from bitreplay.report import terminal_table, write_report, write_summary
from bitreplay.runs import (
    COMPARISONS,
    RunFolder,
    Scale,
    Setting,
    Specification,
    compare_learners,
    named_comparison,
)
from bitreplay.training import PRESETS

__all__ = ["compare"]


def compare(
    learners: list[str] | None = None,
    seeds: list[int] | None = None,
    *,
    output: Path | str = Path("runs"),
    train_accuracy: bool = False,
    n_jobs: int = 1,
    dask: str | None = None,
    results: Path | str | None = None,
    scale: Scale = "cpu",
    **setting: Any,
) -> None:
    """Compare learners on one encoder and one sequence of tasks.

    An interrupted comparison goes on with the runs that are missing. The preset `table-1` stands for all options of
    the paper's main table, at the scale of a machine; what is given besides wins.

    Parameters
    ----------
    learners : list of str, optional
        Names as for `run`, with options after a colon: `--learners GBM GBM:head=replay,bits=8 FeTrIL`. By default
        those of the preset, or all that use a frozen encoder.
    seeds : list of int, optional
        Seeds of the learners: `--seeds 0 1 2`. By default 0.
    output : Path or str
        Folder of all runs; table and report go there too.
    train_accuracy : bool
        Also measure accuracy on training samples.
    n_jobs : int
        Processes on this machine; -1 means one per core.
    dask : str, optional
        Address of a Dask scheduler that runs the learners instead.
    results : Path or str, optional
        Also write the table's numbers, with command, machine and date, to this JSON file.
    scale : {"cpu", "paper"}
        Size of `--preset table-1`: what two cores can do, or the paper's own, for a GPU.
    **setting
        Data, tasks and encoder.
    """
    console = Console()
    default: Iterable[str] = LEARNERS.on_frozen_encoders()
    if (preset := setting.get("preset")) in COMPARISONS:
        chosen, default = named_comparison(str(preset), scale, setting)
    elif preset is not None and preset not in PRESETS:
        raise InputError(f"preset must be one of {', '.join([*COMPARISONS, *PRESETS])}; got {preset!r}")
    else:
        chosen = Setting(**setting)
    specifications = [Specification.parse(text) for text in learners or default]
    seeds = seeds or [0]
    for seed in seeds:
        specifications[0].make(seed)  # refuses a wrong seed before anything long begins

    def show(run: RunFolder) -> None:
        history = run.result().history
        console.print(
            f"{run.name}, seed {run.config['seed']}: average {100 * metrics.average(history):.1f} %, "
            f"final {100 * metrics.final(history):.1f} %, {sum(history.seconds):.1f} s",
            highlight=False,
            markup=False,
        )

    runs = compare_learners(
        chosen,
        specifications,
        seeds,
        Path(output),
        train_accuracy=train_accuracy,
        n_jobs=n_jobs,
        dask=dask,
        on_run=show,
    )
    found = [run.result() for run in runs]
    console.print(terminal_table(found))
    page = write_report(found, Path(output), f"Learners on {chosen.dataset}", asdict(chosen))
    if results is not None:
        command = _command(specifications, seeds, chosen, train_accuracy)
        write_summary(found, Path(results), asdict(chosen), command, **_network(chosen, specifications))
        console.print(f"numbers: {results}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"report:  {page}", highlight=False, markup=False, soft_wrap=True)


def _network(setting: Setting, specifications: Sequence[Specification]) -> dict[str, Any]:
    """What the encoder has reached on task 0 in each phase, if it was trained for this."""
    if not setting.trains or all(specification.about.uses is None for specification in specifications):
        return {}
    return {"network": dict(setting.trained(setting.scenario(), progress=False).accuracy)}


def _command(
    specifications: Sequence[Specification], seeds: Sequence[int], setting: Setting, train_accuracy: bool
) -> list[str]:
    """The arguments that give the same numbers again, whether they were typed, in a file, or never written."""
    words = ["compare", "--dataset", setting.dataset]
    defaults = asdict(Setting())
    for name, value in asdict(setting).items():
        if name != "dataset" and value != defaults[name]:
            many = value if isinstance(value, list | tuple) else ["null" if value is None else value]
            words += [f"--{name}", *map(str, many)]
    words += ["--learners", *map(str, specifications), "--seeds", *map(str, seeds)]
    return [*words, "--train_accuracy"] if train_accuracy else words
