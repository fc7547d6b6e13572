"""The tables that most experiments have: one row per method, or per state of it; mean and spread over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay.evaluation import History, RunResult
from bitreplay.experiments._difference import Difference
from bitreplay.experiments._experiment import Cell, Table

GROUPS = ("init", "past", "new")
OVER = "over stopping"


def methods_table(
    results: Sequence[RunResult],
    name: str,
    title: str,
    published: Mapping[str, float] | None = None,  # what the paper says, by name of the method
    over: Mapping[str, Difference] | None = None,  # how much better it is than stopping after task 0, by name
) -> Table:
    """Average and final accuracy with their standard deviations, memory, time, and what the paper says.

    Of the final accuracy also its parts: on the classes of task 0 (init), of the newest task, and of those in between.
    Methods that were only measured in the end have neither average nor parts.
    """
    rows: list[list[Cell]] = []
    methods = gather(results)
    states = max(len(method.task_sizes) for method in methods)
    for method in methods:
        average, final = method.measure(metrics.average), method.measure(metrics.final)
        groups = [method.measure(partial(_last, group)).mean for group in GROUPS]
        row: list[Cell] = [method.name, len(method.seeds), *average, *final, *groups]
        if len(method.task_sizes) < states:
            row = [method.name, len(method.seeds), None, None, *final, *[None] * len(GROUPS)]
        if over is not None:
            gain = over.get(method.name)
            row += [None, None] if gain is None else [gain.mean, gain.margin]
        row += [method.memory, method.seconds]
        rows.append([*row, published.get(method.name)] if published else row)
    shares = ["average", "± average", "final", "± final", *GROUPS]
    shares += [] if over is None else [OVER, f"95 %, ± {OVER}"]
    columns = ["method", "seeds", *shares, "memory", "learning"]
    shares.append("published")
    return Table(name, title, [*columns, "published"] if published else columns, rows, shares, ["memory"], ["learning"])


def curves_table(methods: Sequence[MethodRuns]) -> Table:
    """Accuracy after each task: the numbers behind curves."""
    rows: list[list[Cell]] = []
    for method in methods:
        mean, spread = method.curves(metrics.per_state)
        for seen, *values in zip(method.histories[0].classes_seen, mean, spread, strict=True):
            rows.append([method.name, seen, *map(float, values)])
    title = "Accuracy (%) on all classes seen so far"
    return Table("curves", title, ["method", "classes", "accuracy", "±"], rows, percent=["accuracy", "±"])


def _last(group: str, history: History) -> float:
    """Accuracy on a group of classes in the end; nan if there are none."""
    return float(getattr(metrics.init_past_new(history), group)[-1])
