"""All files of a report: the page, the tables, and the plots for papers and slides."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bitreplay._floor.files import write_bytes
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay.errors import InputError
from bitreplay.evaluation import RunResult
from bitreplay.report._tables import csv_table, markdown_table, states_csv


def write_report(runs: Sequence[RunResult], folder: Path, title: str, configuration: Mapping[str, Any]) -> Path:
    """Write tables, plots and one self-contained HTML page.

    Parameters
    ----------
    runs : sequence of RunResult
        Runs of one name and different seeds are one method: mean and standard deviation are taken over them.
    folder : Path
        Created if missing. Receives `report.html`, `table.md`, `table.csv`, `states.csv` and the folder `plots`.
    title : str
        Heading of the page.
    configuration : mapping
        What was run, so that it can be repeated; may be nested.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("GBM")
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report([RunResult("GBM", 0, history)], Path(folder), "Two classes", {"prototypes": 8})
    ...     page.name, sorted(path.name for path in Path(folder).glob("*.csv"))
    ('report.html', ['states.csv', 'table.csv'])
    """
    methods = gather(runs)
    try:
        from bitreplay._pages.files import png, svg
        from bitreplay.report._page import page
        from bitreplay.report._plots import draw_plots
    except ModuleNotFoundError as error:
        raise InputError(f"a report needs {error.name}: pip install 'bitreplay[cli]'") from None

    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"a report needs a folder; {folder} is a file")
    plots = draw_plots(methods, file_names(methods))
    texts = {plot.file: svg(plot.figure) for plot in plots}
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    for plot in plots:
        write_bytes(folder / "plots" / f"{plot.file}.svg", texts[plot.file].encode())
        if plot.method is None:  # maps of single methods are SVG only: there are many
            write_bytes(folder / "plots" / f"{plot.file}.png", png(plot.figure))
    for name, text in (("table.md", markdown_table), ("table.csv", csv_table), ("states.csv", states_csv)):
        write_bytes(folder / name, text(runs).encode())
    write_bytes(folder / "report.html", page(methods, title, configuration, plots, texts).encode())
    return folder / "report.html"


def file_names(methods: Sequence[MethodRuns]) -> dict[str, str]:
    """A file name for every method.

    Examples
    --------
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("x").append([0], [[3]], memory_bits=0, working_set_bits=0, seconds=0)
    >>> file_names(gather([RunResult(name, 0, history) for name in ("GBM, K=8", "GBM K 8", "Ä")]))
    {'GBM, K=8': 'gbm-k-8', 'GBM K 8': 'gbm-k-8-2', 'Ä': 'method'}
    """
    names: dict[str, str] = {}
    for method in methods:
        plain = re.sub(r"[^a-z0-9]+", "-", method.name.lower()).strip("-")[:60] or "method"
        number, name = 1, plain
        while name in names.values():
            number += 1
            name = f"{plain}-{number}"
        names[method.name] = name
    return names
