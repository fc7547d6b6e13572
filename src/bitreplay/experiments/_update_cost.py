"""Beyond the paper: the cost of one update in seconds, against the number of classes already known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from bitreplay._pages.look import COLOURS, LOOK, MARKERS, PAPER, figure, heading, name_ends, quiet
from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.words import setting_in_words
from bitreplay.evaluation import History
from bitreplay.experiments._experiment import Cell, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import network_of
from bitreplay.runs import Setting, Specification

LEARNERS = {  # and what the figure calls them
    "GBM": "GBM, closed form",
    "GBM:head=replay": "GBM, replay",
    "GBM:head=bayes": "GBM, posterior",
    "FeTrIL": "FeTrIL",
    "NearestMean": "NearestMean",
    "FeCAM": "FeCAM",
}
SEEDS = [0, 1, 2]  # a time is the median over them
TIMED = "timed"  # folder of runs that had the machine to themselves, as far as this program knows
FASTEST = 1e-4  # seconds: what is faster is drawn here
REMARKS = (
    "Seconds to learn a task from precomputed features, without evaluation. The experiment makes its own runs, one "
    "after another, regardless of n_jobs; other programs on the machine affect the times.",
    "Times are medians over three seeds; methods without randomness are run and timed once.",
    "Task 0 is left out: heads choose their options there.",
)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cost:
    """Seconds of every update after task 0, and the line through them."""

    known: Floats  # classes before the update
    seconds: Floats  # medians over the seeds
    slope: float  # seconds per known class
    start: float  # the line at no class

    @classmethod
    def of(cls, method: MethodRuns) -> Cost:
        """The cost of a method, from its runs."""
        known = np.array(method.histories[0].classes_seen[:-1], dtype=np.float64)
        seconds = np.median([_updates(history) for history in method.histories], axis=0)
        slope, start = np.polyfit(known, seconds, 1) if len(known) > 1 else (0.0, float(seconds[0]))
        return cls(known, seconds, float(slope), float(start))

    def at(self, known: float) -> float:
        """The line's value."""
        return self.start + self.slope * known


def update_cost(request: Request) -> Outcome:
    """Time the updates."""
    setting = Setting(**{**network_of(request), **request.setting})
    alone = replace(request, n_jobs=1, output=request.output / TIMED)
    methods = [_named(method) for method in alone.methods(setting, LEARNERS, SEEDS).values()]
    costs = {method.name: Cost.of(method) for method in methods}
    size = methods[0].task_sizes[1]
    drawing = Drawing(
        _draw(costs, size, methods), "update-cost", f"Seconds to learn {size} classes, against the classes known before"
    )
    return Outcome([_lines(costs, size), _points(costs)], [drawing], remarks=[_finding(costs), *REMARKS])


def _named(method: MethodRuns) -> MethodRuns:
    """Under the figure's name, with the seeds that were run: only one if nothing is random."""
    n = len(method.seeds) if Specification.parse(method.name).about.random else 1
    return MethodRuns(LEARNERS[method.name], method.seeds[:n], method.histories[:n])


def _updates(history: History) -> list[float]:
    return list(history.seconds[1:])


def _lines(costs: Mapping[str, Cost], size: int) -> Table:
    rows: list[list[Cell]] = []
    for name, cost in costs.items():
        first, last = cost.known[0], cost.known[-1]
        growth = cost.at(last) / cost.at(first) - 1
        rows.append([name, cost.at(first), cost.at(last), 1000 * cost.slope, growth])
    some = next(iter(costs.values())).known
    columns = ["method", f"with {some[0]:.0f} known", f"with {some[-1]:.0f} known", "ms per known class", "growth, %"]
    title = f"Cost of an update of {size} classes: the line through the times of all updates"
    return Table("slopes", title, columns, rows, percent=columns[4:], seconds=columns[1:3])


def _points(costs: Mapping[str, Cost]) -> Table:
    rows: list[list[Cell]] = [
        [name, int(known), float(seconds)]
        for name, cost in costs.items()
        for known, seconds in zip(cost.known, cost.seconds, strict=True)
    ]
    return Table("seconds", "Seconds of every update", ["method", "classes known", "seconds"], rows)


def _finding(costs: Mapping[str, Cost]) -> str:
    slopes = ", ".join(f"{name} {_slope(cost)}" for name, cost in costs.items())
    return f"Slopes in milliseconds per known class: {slopes}."


def _draw(costs: Mapping[str, Cost], size: int, methods: Sequence[MethodRuns]) -> Figure:
    """Points and their lines on a logarithmic scale, because the methods lie far apart."""
    with matplotlib.rc_context(LOOK):
        made = figure(3.9)
        axes = made.subplots()
        ends = []
        for index, (name, cost) in enumerate(costs.items()):
            look: dict[str, Any] = {"color": COLOURS[index], "marker": MARKERS[index], "mec": PAPER, "mew": 0.6}
            heights = np.log10(np.maximum(cost.seconds, FASTEST))
            axes.plot(cost.known, heights, linestyle="", ms=6, **look)
            line = np.array([cost.at(known) for known in cost.known])
            axes.plot(cost.known, np.log10(np.maximum(line, FASTEST)), color=COLOURS[index], linewidth=1.2)
            ends.append((f"{name}  {_slope(cost)} ms", float(heights[-1]), look))
        quiet(axes)
        axes.set_xlabel("classes known before the update")
        axes.set_ylabel(f"seconds to learn {size} more classes" if size > 1 else "seconds to learn one more class")
        low, high = np.floor(axes.get_ylim()[0]), np.ceil(axes.get_ylim()[1])
        axes.set_ylim(low, high)
        axes.yaxis.set_major_locator(MultipleLocator(1))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda power, _: f"{10.0**power:g}"))
        name_ends(axes, 2.8, ends)
        setting = f"{setting_in_words(methods)} · medians · next to the names: milliseconds per class known before"
        heading(made, "Cost of an update", setting)
    return made


def _slope(cost: Cost) -> str:
    return f"{round(1000 * cost.slope, 1) + 0.0:+.1f}"


UPDATE_COST = Experiment(
    title="Cost of an update, against the number of known classes (not in the paper)",
    shows="How long does it take to learn a few more classes, and does it take longer the more are known?",
    duration={"cpu": "five minutes", "full": "five minutes", "paper": "half an hour after the network's training"},
    run=update_cost,
    networks=({},),
)
