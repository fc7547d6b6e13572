"""The table that most experiments have: one row per method, mean and spread over its seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bitreplay import metrics
from bitreplay._pages.methods import gather
from bitreplay.evaluation import RunResult
from bitreplay.experiments._experiment import Cell, Table

__all__ = ["methods_table"]


def methods_table(
    results: Sequence[RunResult], name: str, title: str, published: Mapping[str, float] | None = None
) -> Table:
    """Average and final accuracy with their standard deviations, memory, time, and what the paper says.

    Parameters
    ----------
    results : sequence of RunResult
        Runs of one name and different seeds are one row.
    name, title : str
        Of the table.
    published : mapping of str to float, optional
        What the paper says, by name of the method.
    """
    rows: list[list[Cell]] = []
    for method in gather(results):
        average, final = method.measure(metrics.average), method.measure(metrics.final)
        row: list[Cell] = [method.name, len(method.seeds), *average, *final, method.memory, method.seconds]
        rows.append([*row, published.get(method.name)] if published else row)
    columns = ["method", "seeds", "average", "± average", "final", "± final", "memory", "learning"]
    shares = ["average", "± average", "final", "± final", "published"]
    return Table(name, title, [*columns, "published"] if published else columns, rows, shares, ["memory"], ["learning"])
