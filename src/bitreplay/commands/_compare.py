"""`bitreplay compare`: several learners and seeds on one setting, as one table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from bitreplay import metrics
from bitreplay._floor.arguments import integer
from bitreplay.commands._options import DEFAULT_SETTING, Integers, SettingOptions
from bitreplay.learners import LEARNERS
from bitreplay.report import terminal_table, write_report, write_summary
from bitreplay.runs import RunFolder, Setting, Specification, compare_learners


def compare(
    *,
    learners: list[str] | None = None,
    seeds: Integers | None = None,
    output: Path = Path("runs"),
    train_accuracy: bool = False,
    n_jobs: int = 1,
    dask: str | None = None,
    results: Path | None = None,
    setting: SettingOptions = DEFAULT_SETTING,
) -> None:
    """Compare learners on one encoder and one sequence of tasks.

    An interrupted comparison resumes with the missing runs. `bitreplay reproduce table-1` is the paper's own
    comparison.

    Parameters
    ----------
    learners : list of str, optional
        Names as for `run`, with options after a colon: `--learners GBM GBM:head=replay,bits=8 FeTrIL`. By default
        all that use a frozen encoder, except those that do not go with its features; with `--stream`, those that can
        learn from one.
    seeds : list of int, optional
        Seeds of the learners: `--seeds 0 1 2`. By default 0.
    output : Path
        Folder for all runs, the table and the report.
    train_accuracy : bool
        Also measure accuracy on training samples.
    n_jobs : int
        Processes on this machine; -1 means one per core.
    dask : str, optional
        Address of a Dask scheduler that runs the learners instead.
    results : Path, optional
        Also write the table's numbers, with command, machine and date, to this JSON file.
    setting : SettingOptions
        Data, tasks and encoder.
    """
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not (names := learners):
        names = list(LEARNERS.on_frozen_encoders() if setting.stream is None else LEARNERS.in_streams())
    specifications = [Specification.parse(text) for text in names]
    refused: dict[str, str] | None = None if learners else {}  # nobody asked for those by name
    begun = time.time()
    seeds = seeds or [0]
    for seed in seeds:
        integer("seed", seed, 0)  # refused before anything long begins

    def show(run: RunFolder) -> None:
        history = run.result().history
        console.print(
            f"{run.name}, seed {run.config['seed']}: average {100 * metrics.average(history):.1f} %, "
            f"final {100 * metrics.final(history):.1f} %, {sum(history.seconds):.1f} s"
            + (f" (of an earlier call: delete {run.path} to repeat it)" if run.ended < begun else "")
        )

    runs = compare_learners(
        setting,
        specifications,
        seeds,
        output,
        train_accuracy=train_accuracy,
        n_jobs=n_jobs,
        dask=dask,
        on_run=show,
        refused=refused,
    )
    for name, why in (refused or {}).items():
        console.print(f"{name} is left out: {why}")
    found = [run.result() for run in runs]
    Console().print(terminal_table(found))
    page = write_report(found, output, f"Learners on {setting.dataset}", asdict(setting))
    if results is not None:
        command = _command(specifications, seeds, setting, train_accuracy)
        write_summary(found, results, asdict(setting), command, **_network(setting, specifications))
        console.print(f"numbers: {results}")
    console.print(f"report:  {page}")


def _network(setting: Setting, specifications: Sequence[Specification]) -> dict[str, Any]:
    """The encoder's accuracy on task 0 in each phase, if it was trained for this."""
    if not setting.trains or all(specification.about.uses is None for specification in specifications):
        return {}
    return {"network": dict(setting.trained(setting.scenario(), progress=False).accuracy)}


def _command(
    specifications: Sequence[Specification], seeds: Sequence[int], setting: Setting, train_accuracy: bool
) -> list[str]:
    """The arguments that reproduce the numbers, whether typed, read from a file, or left at their defaults."""
    words = ["compare", "--dataset", setting.dataset]
    given, defaults = asdict(setting), asdict(Setting())
    given |= {f"training.{name}": value for name, value in (given.pop("training") or {}).items()}
    for name, value in given.items():
        if name == "dataset" or value == defaults.get(name):
            continue
        if isinstance(value, bool):
            words.append(f"--{name}={str(value).lower()}")
        else:
            many = value if isinstance(value, list | tuple) else ["null" if value is None else value]
            words += [f"--{name}", *map(str, many)]
    words += ["--learners", *map(str, specifications), "--seeds", *map(str, seeds)]
    return [*words, "--train_accuracy"] if train_accuracy else words
