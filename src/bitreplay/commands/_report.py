"""`bitreplay report`: tables and plots of existing runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from rich.console import Console

from bitreplay.report import csv_table, markdown_table, terminal_table, write_report
from bitreplay.runs import find_runs, results_of


def report(
    runs: list[Path],
    *,
    output: Path | None = None,
    title: str = "Class-incremental learning",
    table: Literal["terminal", "markdown", "csv"] = "terminal",
) -> None:
    """Show runs side by side: a table here, and tables, plots and one HTML page in a folder.

    Parameters
    ----------
    runs : list of Path
        Folders of runs, or folders that contain some.
    output : Path, optional
        Where the report goes; by default the first folder.
    title : str
        Heading of the page.
    table : {"terminal", "markdown", "csv"}
        How the table is printed.
    """
    found = find_runs(runs)
    results = results_of(found)
    if table == "terminal":
        Console().print(terminal_table(results))
    else:
        print(markdown_table(results) if table == "markdown" else csv_table(results), end="")
    page = write_report(results, output or runs[0], title, {run.path.name: run.config for run in found})
    if table == "terminal":
        Console().print(f"report: {page}", highlight=False, markup=False, soft_wrap=True)
