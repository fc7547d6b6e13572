"""The table of all methods: for the terminal, as Markdown and as CSV; and a CSV of every state of every run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bitreplay import metrics
from bitreplay._pages.methods import MEASURES, MeanAndSpread, MethodRuns, common_notes, gather, leading
from bitreplay._pages.numbers import bits, csv_text, duration, percent
from bitreplay._pages.words import captions, labels_in_words
from bitreplay.errors import InputError
from bitreplay.evaluation import RunResult

if TYPE_CHECKING:
    from rich.console import Group

COLUMNS = ("average", "final", "forgetting", "memory", "working set", "learning")
FEW_SHOT = ("average", "final", "harmonic mean", "memory", "working set", "learning")


def columns(methods: Sequence[MethodRuns]) -> tuple[str, ...]:
    """The columns of a table of these methods: few-shot learning is judged by old and new classes alike."""
    return FEW_SHOT if any("few-shot" in method.notes for method in methods) else COLUMNS


def cells(method: MethodRuns) -> dict[str, str]:
    """A method's row, by column."""
    return {
        "average": percent(method.measure(metrics.average)),
        "final": percent(method.measure(metrics.final)),
        "harmonic mean": percent(method.measure(metrics.harmonic_mean)),
        "forgetting": percent(method.measure(metrics.forgetting)),
        "memory": bits(method.memory),
        "working set": bits(method.working_set),
        "learning": duration(method.seconds),
    }


def markdown_table(runs: Sequence[RunResult]) -> str:
    """A Markdown table with one row per method, and the notes needed to read it.

    Examples
    --------
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("GBM", {"pretrained": "ImageNet"})
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> print(markdown_table([RunResult("GBM", 0, history)]))
    | method | average | final | forgetting | memory | working set | learning | labels |
    |:--|--:|--:|--:|--:|--:|--:|:--|
    | GBM | 85.0 | 85.0 | - | 8.0 kbit | 640 bit | 0.50 s | pretrained: ImageNet |
    <BLANKLINE>
    All methods: pretrained: ImageNet.
    Accuracy and forgetting in %. One seed (0): the spread is unknown, and no best is marked.
    20 test samples in the end: an accuracy may be off by 16.0 points; smaller differences are not meaningful.
    <BLANKLINE>
    """
    methods = gather(runs)
    best, shown = _best(methods), columns(methods)
    lines = [f"| method | {' | '.join(shown)} | labels |", f"|:--|{'--:|' * len(shown)}:--|"]
    for method in methods:
        row = cells(method)
        marked = [f"**{row[column]}**" if method.name in best.get(column, ()) else row[column] for column in shown]
        words = [method.name, *marked, labels_in_words(method.notes)]
        lines.append(f"| {' | '.join(word.replace('|', chr(92) + '|') for word in words)} |")
    return "\n".join([*lines, "", *captions(methods), ""])


def csv_table(runs: Sequence[RunResult]) -> str:
    """One line per method, with unrounded numbers: shares in [0, 1], bits, seconds; empty where undefined.

    Examples
    --------
    >>> import csv
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("GBM")
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> [row] = csv.DictReader(csv_table([RunResult("GBM", 0, history)]).splitlines())
    >>> row["method"], row["final"], row["memory_bits"]
    ('GBM', '0.85', '8000.0')
    """
    head = ["method", "learner", "seeds", *(f"{name}{part}" for name in MEASURES for part in ("", "_std")), "labels"]
    lines: list[list[Any]] = [head]
    for method in gather(runs):
        values = [part for metric in MEASURES.values() for part in _blank(method.measure(metric))]
        seeds = " ".join(map(str, method.seeds))
        lines.append([method.name, method.histories[0].learner, seeds, *values, labels_in_words(method.notes)])
    return csv_text(lines)


def states_csv(runs: Sequence[RunResult]) -> str:
    """One line per run and state, with unrounded numbers: what the curves are drawn from.

    Examples
    --------
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("GBM")
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> print(states_csv([RunResult("GBM", 0, history)]), end="")
    method,seed,state,classes_seen,accuracy,init,past,new,memory_bits,working_set_bits,seconds
    GBM,0,0,2,0.85,0.85,,,8000,640,0.5
    """
    head = ["method", "seed", "state", "classes_seen", "accuracy", "init", "past", "new"]
    lines: list[list[Any]] = [[*head, "memory_bits", "working_set_bits", "seconds"]]
    for method in gather(runs):
        for seed, history in zip(method.seeds, method.histories, strict=True):
            groups = metrics.init_past_new(history)
            for state, seen in enumerate(history.classes_seen):
                rates = [groups.all[state], groups.init[state], groups.past[state], groups.new[state]]
                shares = ["" if math.isnan(rate) else float(rate) for rate in rates]
                figures = [history.memory_bits[state], history.working_set_bits[state], history.seconds[state]]
                lines.append([method.name, seed, state, seen, *shares, *figures])
    return csv_text(lines)


def terminal_table(runs: Sequence[RunResult]) -> Group:
    """The table for rich's console; it fits into 80 columns if names are short.

    Examples
    --------
    >>> from rich.console import Console
    >>> from bitreplay.evaluation import History
    >>> history = History.empty("GBM")
    >>> history = history.append([0, 1], [[9, 1], [2, 8]], memory_bits=8000, working_set_bits=640, seconds=0.5)
    >>> console = Console(width=80, color_system=None)
    >>> console.print(terminal_table([RunResult("GBM", 0, history)]))  # doctest: +NORMALIZE_WHITESPACE
                                                  working
    method  average  final  forgetting    memory      set  learning
    ───────────────────────────────────────────────────────────────
    GBM        85.0   85.0           -  8.0 kbit  640 bit    0.50 s
    <BLANKLINE>
    Accuracy and forgetting in %. One seed (0): the spread is unknown, and no best is
    marked.
    20 test samples in the end: an accuracy may be off by 16.0 points; smaller
    differences are not meaningful.
    """
    try:
        from rich import box
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text
    except ModuleNotFoundError:
        raise InputError("tables on the terminal need rich: pip install 'bitreplay[cli]'") from None

    methods = gather(runs)
    best, shared, shown = _best(methods), common_notes(methods), columns(methods)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", overflow="fold")
    for column in shown:
        table.add_column(column.replace(" ", "\n"), justify="right", no_wrap=True, vertical="top")
    for method in methods:
        own = {name: text for name, text in method.notes.items() if name not in shared}
        name = Text(method.name, style="dim" if method.bound else "")
        if own:
            name.append(f"\n{labels_in_words(own)}", style="dim")
        row = cells(method)
        marked = (Text(row[c], style="bold green" if method.name in best.get(c, ()) else "") for c in shown)
        table.add_row(name, *marked)
    return Group(table, "", *(Text(line, style="dim") for line in captions(methods)))


def _best(methods: Sequence[MethodRuns]) -> dict[str, frozenset[str]]:
    """The marked methods, by column."""
    return {"average": leading(methods, "average"), "final": leading(methods, "final")}


def _blank(value: MeanAndSpread) -> list[Any]:
    return ["" if part is None or math.isnan(part) else part for part in value]
