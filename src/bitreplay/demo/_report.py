"""What the demo says on the terminal: two tables, what they show, and what to do next."""

from __future__ import annotations

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from bitreplay.demo._results import Curve, Results

__all__ = ["accuracy_table", "closing_words", "memory_table"]

NEXT = """\
Now with the features of your own encoder:

    clf = bitreplay.GBMClassifier()
    clf.partial_fit(features, labels)  # every day, with that day's classes only
    clf.predict(features)
"""


def accuracy_table(results: Results) -> Group:
    """Accuracy after every day, average and final, and the memory behind it."""
    table = _table(*map(str, results.n_seen), "average", "final", "memory")
    for curve in results.curves:
        values = [*curve.accuracy, curve.average, curve.final]
        table.add_row(curve.name, *map(_percent, values), f"{curve.footprint.memory:,}", style=_style(curve))
    return Group(Text("Accuracy in % on the test samples of all 5, 6, ... 10 classes seen so far", style="bold"), table)


def memory_table(results: Results) -> Group:
    """Bytes of every method: memory as the paper counts it, as it is held, and the working set."""
    table = _table("memory", "held", "working set")
    for curve in results.curves:
        kept = curve.footprint
        table.add_row(curve.name, *(f"{n:,}" for n in (kept.memory, kept.held, kept.working_set)), style=_style(curve))
    meaning = (
        "memory: values kept of old classes, as the paper counts; held: with mixing weights, counts and labels; "
        "working set: the weights that a decision needs beside it"
    )
    return Group(Text("Bytes in the end", style="bold"), table, Text(meaning, style="dim"))


def closing_words(forgetful: Curve, remembering: Curve) -> Group:
    """What a newcomer has just seen, and the three lines that do the same with their own features."""
    seen = Text.assemble(
        "Fine-tuning on each new digit ends at ",
        (f"{_percent(forgetful.final)} %", "bold"),
        ": it knows the last one and has forgotten the rest. GBM never sees an old sample again either, but keeps a "
        "memory of ",
        (f"{remembering.footprint.memory:,} bytes", "bold"),
        " and ends at ",
        (f"{_percent(remembering.final)} %", "bold"),
        ".",
    )
    return Group(seen, "", Text(NEXT.rstrip(), no_wrap=True))


def _table(*numbers: str) -> Table:
    """A table that fits into 80 columns: a name, then columns of numbers two spaces apart."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True, style="bold" if name == "final" else "")
    return table


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _style(curve: Curve) -> str:
    return "green" if curve.name.startswith("GBM") else ""
