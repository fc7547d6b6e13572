"""What an experiment is: a table or figure of the paper that can be measured again with one command.

An experiment says what varies, what is fixed and how it is drawn; runs, caches and files are handled elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bitreplay._pages.methods import MethodRuns, gather
from bitreplay._pages.numbers import bits, duration, points
from bitreplay.experiments._verdict import Verdict, holm
from bitreplay.runs import RunFolder, Setting, Specification, compare_learners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["cpu", "full", "paper"]
Cell = str | int | float | None


@dataclass(frozen=True)
class Request:
    """How to run an experiment.

    Examples
    --------
    >>> request = Request("cpu", Path("runs"), seeds=[0, 1], setting={"dataset": "digits"})
    >>> Setting(**request.setting).encoder_name  # as experiments make theirs, from their options and these
    'small_cnn'
    """

    scale: Scale  # reduced to fit two cores; the paper's network with a short schedule; or as in the paper
    output: Path  # folder for the runs
    seeds: Sequence[int] | None = None  # of the learners; by default the experiment's own
    n_jobs: int = 1  # processes on this machine, -1 for one per core
    download: bool = False  # fetch published weights that are missing; data sets are never fetched
    setting: Mapping[str, Any] = field(default_factory=dict)  # options of Setting that replace the experiment's own
    on_run: Callable[[RunFolder], None] | None = None  # called with every run as it ends
    network: Path | None = None  # of `bitreplay train`, for that of the scale; what needs others is left out
    learners: Sequence[str] | None = None  # of those that train a whole network, only these
    finished: bool = False  # of those, only what has been run before; fine-tuning always
    runs: list[RunFolder] = field(default_factory=list, repr=False)  # all requested so far,
    waited: list[float] = field(default_factory=list, repr=False)  # and the seconds spent on them here

    def compare(
        self, setting: Setting, learners: Sequence[str], seeds: Sequence[int], *, train_accuracy: bool = False
    ) -> list[RunFolder]:
        """Run learners on a setting, or read earlier runs: learner by learner, seed by seed.

        Learners without randomness are run once, and that run stands for every seed.
        """
        began = time.monotonic()
        seeds = self.seeds or seeds
        specifications = [Specification.parse(text) for text in learners]
        found: dict[str, dict[int, RunFolder]] = {}
        for random in (True, False):
            if chosen := [each for each in specifications if each.about.random is random]:
                runs = compare_learners(
                    setting,
                    chosen,
                    seeds if random else seeds[:1],
                    self.output,
                    train_accuracy=train_accuracy,
                    n_jobs=self.n_jobs,
                    on_run=self.on_run,
                )
                self.runs.extend(runs)
                for run in runs:
                    found.setdefault(run.name, {})[run.config["seed"]] = run
        self.waited.append(time.monotonic() - began)
        grid = [(found[str(each)], seed) for each in specifications for seed in seeds]
        return [
            runs[seed] if seed in runs else replace(runs[seeds[0]], config={**runs[seeds[0]].config, "seed": seed})
            for runs, seed in grid
        ]

    def methods(self, setting: Setting, learners: Iterable[str], seeds: Sequence[int]) -> dict[str, MethodRuns]:
        """The same, by learner: what was measured of each with all its seeds."""
        runs = self.compare(setting, list(learners), seeds)
        return {method.name: method for method in gather([run.result() for run in runs])}


@dataclass(frozen=True)
class Table:
    """Numbers, and the name of the file they are written to.

    Accuracies are shares (0.663), sizes are bits and times are seconds, as in every CSV file of this library;
    `percent`, `bits` and `seconds` name the columns that are displayed in those units.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    percent: Sequence[str] = ()
    bits: Sequence[str] = ()
    seconds: Sequence[str] = ()

    def shown(self) -> list[list[str]]:
        """Every row, formatted for display.

        Examples
        --------
        >>> Table("sizes", "Sizes", ["K", "final", "memory"], [[8, 0.6634, 8.2e6]], ["final"], ["memory"]).shown()
        [['8', '66.3', '8.2 Mbit']]
        """
        return [[self._text(*cell) for cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def _text(self, column: str, value: Cell) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "-"
        if isinstance(value, str):
            return value
        for units, text in ((self.percent, points), (self.bits, bits), (self.seconds, duration)):
            if column in units:
                return text(value)
        return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Drawing:
    """A figure, its file name without suffix, and what it shows."""

    figure: Figure
    name: str
    words: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured, and whether the claim holds."""

    paper: str
    measured: str
    verdict: Verdict

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None where the numbers are inconclusive."""
        return self.verdict.holds


@dataclass(frozen=True)
class Outcome:
    """The results of an experiment.

    Examples
    --------
    >>> table = Table("sizes", "Prototypes", ["K", "final"], [[1, 0.62], [8, 0.66]], percent=["final"])
    >>> claims = [Claim("8 are better than 1", "+4.0 points", Verdict(True, 0.01))]
    >>> outcome = Outcome([table], claims=claims, remarks=["One seed."])
    >>> outcome.tables[0].shown(), outcome.claims[0].holds
    ([['1', '62.0'], ['8', '66.0']], True)
    """

    tables: Sequence[Table]  # the numbers, including those behind the drawings
    drawings: Sequence[Drawing] = ()
    claims: Sequence[Claim] = ()  # the paper's, with verdicts corrected for testing all of them together
    remarks: Sequence[str] = ()  # what differs from the paper, and what is needed to interpret the numbers

    def __post_init__(self) -> None:
        verdicts = holm([claim.verdict for claim in self.claims])
        corrected = [replace(claim, verdict=verdict) for claim, verdict in zip(self.claims, verdicts, strict=True)]
        object.__setattr__(self, "claims", corrected)


@dataclass(frozen=True)
class Experiment:
    """A table or figure, from the paper or in addition to it.

    Examples
    --------
    >>> def run(request: Request) -> Outcome:
    ...     return Outcome([Table("sizes", "Prototypes", ["K", "final"], [[1, 0.62], [8, 0.66]], percent=["final"])])
    >>> experiment = Experiment("Prototypes", "Do more of them help?", {"cpu": "a second", "paper": "a second"}, run)
    >>> experiment.run(Request("cpu", Path("runs"))).tables[0].rows
    [[1, 0.62], [8, 0.66]]
    """

    title: str  # what it is
    shows: str  # the question that it answers
    duration: Mapping[Scale, str]  # about how long it takes
    run: Callable[[Request], Outcome]
    networks: Sequence[Mapping[str, Any]] = ()  # those it needs, by what differs from the scale's
    optional_networks: Sequence[Mapping[str, Any]] = ()  # at full scale used if they have been trained
    takes_learners: bool = False  # whether it can run some of its learners only
