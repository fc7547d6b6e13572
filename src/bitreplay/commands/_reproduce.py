"""`bitreplay reproduce`: a table or figure of the paper, measured again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable

from bitreplay import metrics
from bitreplay._floor.arguments import integer
from bitreplay._floor.files import write_text
from bitreplay._pages.numbers import duration
from bitreplay.commands._options import Integers
from bitreplay.errors import InputError
from bitreplay.experiments import (
    EXPERIMENTS,
    MANY,
    OUTCOME,
    VERDICTS,
    ExperimentName,
    Measured,
    Request,
    Scale,
    about_network,
    command_of,
    experiments_page,
    missing_seconds,
    networks_table,
    read_outcome,
    write_outcome,
)
from bitreplay.learners import LEARNERS
from bitreplay.runs import RunFolder, Setting, Specification, content_hash
from bitreplay.training import NETWORK, Precision

WIDEST = 1000  # characters of a table


def reproduce(
    experiment: Literal[ExperimentName, "all"] | None = None,
    *,
    scale: Scale = "cpu",
    output: Path = Path("reproductions"),
    seeds: Integers | None = None,
    network: Path | None = None,
    precision: Precision = Setting.precision,
    learners: list[str] | None = None,
    finished: bool = False,
    n_jobs: int = 1,
    download: bool = False,
    results: Path | None = None,
    list: bool = False,
) -> None:
    """Measure a table or figure of the paper again.

    Without a name, the experiments are listed. An interrupted experiment resumes with the missing
    runs; `all` resumes with the missing experiments, and writes one page about all of them.

    Parameters
    ----------
    experiment : str, optional
        Which: `bitreplay reproduce table-4`, or `all`.
    scale : {"cpu", "full", "paper"}
        Reduced to fit two cores; the paper's network with a schedule of hours; or as in the paper, which needs a GPU.
    output : Path
        Folder for the runs; every experiment gets a subfolder for its numbers, figures and page. Those of other scales
        than cpu are in a folder of that name.
    seeds : list of int, optional
        Seeds of the learners; by default the experiment's own.
    network : Path, optional
        At scale full or paper, a folder written by `bitreplay train` whose network stands for that of the experiments.
        Nothing is trained then, and what needs other networks is left out.
    precision : {"32-true", "bf16-mixed"}
        Arithmetic in which the networks that methods stand on are trained: bf16-mixed is faster on a GPU, and on CPUs
        with instructions for bfloat16. Networks and runs of the one are not those of the other. Refused for table-1,
        whose methods train in 32-true, and where nothing is trained.
    learners : list of str, optional
        For table-1: of the methods that train the whole network, which takes most of its time, only these, besides
        fine-tuning. Options go after a colon: `--learners PASS PASS:prototype_weight=1`. The outcome takes the place
        of one with all of them; the runs stay.
    finished : bool
        For table-1: of the methods that train the whole network, only those whose runs are finished in `output`,
        besides fine-tuning, and each with its seeds from the first on: to look at the table before all of it has been
        run. The outcome takes the place of a whole one; the runs stay.
    n_jobs : int
        Processes on this machine; -1 means one per core.
    download : bool
        Fetch published weights that are missing. Data sets are never fetched; the message says where to get them.
    results : Path, optional
        Also copy numbers and figures to this folder, under the experiment's name; those of other scales than cpu to a
        folder of that name in it.
    list : bool
        Show the experiments, and how long they take.
    """
    console = Console(soft_wrap=True, highlight=False, markup=False)
    for seed in seeds or []:
        integer("a seed", seed, 0)
    if list or experiment is None:
        for name, entry in EXPERIMENTS.items():
            times = "; ".join(f"--scale {each}: {duration}" for each, duration in entry.duration.items())
            console.print(f"{name}  {entry.title}\n    {entry.shows}\n    {times}")
        return

    if finished and not _takes_learners(experiment):
        raise InputError(f"{experiment} runs all of its learners; --finished goes with {_able()}")

    def show(run: RunFolder) -> None:
        console.print(f"{run.name}, seed {run.config['seed']}: {100 * metrics.final(run.result().history):.1f} %")

    if network is not None and scale == "cpu":
        raise InputError("--network stands for the paper's network: it needs --scale full (or paper)")
    if network is not None and not (network / NETWORK).is_file():
        raise InputError(f"--network must be a folder written by `bitreplay train`; {network} has no {NETWORK}")
    if network is not None and precision != Setting.precision:
        raise InputError(f"--precision {precision} is how networks are trained; with --network none is")
    request = Request(
        scale,
        output / "runs",
        seeds,
        n_jobs,
        download,
        setting={} if precision == Setting.precision else {"precision": precision},
        on_run=show,
        network=network,
        learners=_chosen(experiment, learners),
        finished=finished,
    )
    if scale != "cpu":  # beside those at cpu scale
        output, results = output / scale, results and results / scale
    if experiment != "all":
        one = _measure(experiment, request, output / experiment, console)
        _copy(one, results)
        page = output / experiment / "report.html"
        write_text(page, experiments_page([one], one.title))
        console.print(f"report: {page}")
        return
    measured, missing = [], {}
    for name in EXPERIMENTS:
        if found := _found(output / name / OUTCOME, request):
            console.print(f"{name}: measured on {found.date}; delete {found.folder} to measure it again")
            measured.append(found)
            continue
        try:
            measured.append(_measure(name, request, output / name, console))
        except InputError as error:  # what one experiment needs is not here: the others go on
            missing[name] = str(error)
            console.print(f"{name}: {error}")
    for one in measured:
        _copy(one, results)
    page = output / "report.html"
    output.mkdir(parents=True, exist_ok=True)
    write_text(page, experiments_page(measured, "The paper's tables and figures, measured again", missing))
    console.print(f"report: {page}")


def _chosen(experiment: str, learners: Sequence[str] | None) -> Sequence[str] | None:
    """The learners asked for, each once."""
    if not learners:
        return None
    if not _takes_learners(experiment):
        raise InputError(f"{experiment} runs all of its learners; --learners goes with {_able()}")
    for text in learners:
        if Specification.parse(text).name in LEARNERS.on_frozen_encoders():
            raise InputError(
                f"--learners names methods that train the whole network; {text} does not: {experiment} runs all of its "
                "own methods on frozen networks anyway"
            )
    return tuple(dict.fromkeys(str(Specification.parse(text)) for text in learners))


def _takes_learners(experiment: str) -> bool:
    return experiment != "all" and EXPERIMENTS[experiment].takes_learners


def _able() -> str:
    """Experiments that can run some of their learners only."""
    return ", ".join(name for name, entry in EXPERIMENTS.items() if entry.takes_learners)


def _measure(name: str, request: Request, folder: Path, console: Console) -> Measured:
    chosen, request = EXPERIMENTS[name], replace(request, runs=[], waited=[])
    if request.network is not None and not chosen.networks:
        raise InputError(f"{name} has networks of its own, or pretrained ones: --network cannot stand for them")
    if "precision" in request.setting and not chosen.networks:
        raise InputError(f"{name} trains no networks that its methods stand on: it goes without --precision")
    console.print(chosen.title)
    if not request.finished:
        console.print(f"This takes about {chosen.duration.get(request.scale, 'as long as its runs')}.")
    if request.scale == "full" and (training := missing_seconds(request, chosen.networks)):
        console.print(
            f"Of its networks, {len(training)} phases of training are missing: about {duration(sum(training))} on this "
            "machine as it is now, by a few steps of each."
        )
    begun = time.monotonic()
    outcome = chosen.run(request)
    tables = [*outcome.tables, *networks_table(request, [*chosen.networks, *chosen.optional_networks])]
    outcome = replace(outcome, tables=tables, remarks=[*about_network(request), *outcome.remarks])
    seconds = time.monotonic() - begun - sum(request.waited)  # runs say themselves how long they took
    one = write_outcome(folder, name, chosen, outcome, request, seconds)
    for table in one.tables:
        if len(table.rows) <= MANY:
            _print_table(console, table.title, table.columns, table.shown())
    for claim in one.claims:
        console.print(f"the paper: {claim.paper}\n measured: {claim.measured}: {VERDICTS[claim.holds]}")
    for remark in one.remarks:
        console.print(f"note: {remark}")
    return one


def _print_table(console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    shown = RichTable(title=title, title_justify="left")
    for index, column in enumerate(columns):
        shown.add_column(column, justify="left" if index == 0 else "right")
    for row in rows:
        shown.add_row(*row)
    needed = Console(width=WIDEST).measure(shown).maximum  # whole, however narrow the terminal is
    Console(width=max(needed, console.width), file=console.file, highlight=False).print(shown)


def _copy(one: Measured, results: Path | None) -> None:
    """Copy the numbers and the drawings, for the project's own pages."""
    if results is None:
        return
    results.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(one.folder / OUTCOME, results / f"{one.name}.json")
    for drawing in one.drawings:
        shutil.copyfile(one.folder / f"{drawing}.svg", results / f"{one.name}-{drawing}.svg")


def _found(path: Path, request: Request) -> Measured | None:
    """An earlier measurement, if it was requested in the same way."""
    if not path.exists():
        return None
    found = read_outcome(path)
    network = "" if request.network is None else content_hash(request.network)  # another may have the same name
    return found if found.command == command_of(found.name, request) and found.network in ("", network) else None
