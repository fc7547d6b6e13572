"""The demo: digits arrive class by class, several methods learn them, one table and one picture compare the methods."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from bitreplay.demo._contenders import GBM, Contender, Everything, FineTuning, NearestMean
from bitreplay.demo._plot import write_plots
from bitreplay.demo._report import accuracy_table, closing_words, memory_table
from bitreplay.demo._results import Curve, Results
from bitreplay.demo._stream import Digits, accuracy
from bitreplay.errors import InputError
from bitreplay.heads import HEADS

__all__ = ["demo"]


def demo(output: Path | str = Path("demo"), seed: int = 0, *, prototypes: int = 8, bits: int = 4, p: int = 4) -> None:
    """Learn scikit-learn's digits class by class and see who forgets.

    Five classes come first, then one at a time. Plain fine-tuning, the nearest class mean, a generative binary memory
    with each of its heads, and training on all data at once are compared after every step. Nothing is downloaded; it
    takes a few seconds.

    Parameters
    ----------
    output : Path or str
        Folder for the plot and the numbers.
    seed : int
        Decides the split, the order of the classes and everything random.
    prototypes : int
        K, prototypes that GBM keeps per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32.
    p : int
        Thermometer bits per pixel.
    """
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"output must be a folder; {folder} is a file")
    if prototypes < 1:
        raise InputError(f"prototypes must be a positive integer; got {prototypes}")
    if not 0 <= seed < 2**32:
        raise InputError(f"seed must lie between 0 and 2^32 - 1; got {seed}")

    console = Console()
    digits = Digits(seed)
    contenders: list[Contender] = [
        FineTuning(p, seed),
        NearestMean(),
        *(GBM(head, prototypes, bits, p, seed) for head in HEADS),
        Everything(p, seed),
    ]
    folder.mkdir(parents=True, exist_ok=True)  # now: better to fail at once than after all the work
    curves = _compete(contenders, digits, console)
    n_seen = tuple(day.n_seen for day in digits.days())
    results = Results(seed, prototypes, bits, p, tuple(digits.order), n_seen, curves)
    numbers = folder / "results.json"
    numbers.write_text(results.to_json(), encoding="utf-8")
    plots = write_plots(results, folder)

    for table in (accuracy_table(results), memory_table(results)):
        console.print(table)
        console.print()
    console.print("Written:", *plots, numbers, soft_wrap=True, highlight=False)
    console.print()
    by_name = {curve.name: curve for curve in curves}
    console.print(closing_words(by_name["fine-tuning"], by_name["GBM, closed form"]))


def _compete(contenders: Sequence[Contender], digits: Digits, console: Console) -> tuple[Curve, ...]:
    """Every method through all days."""
    days = list(digits.days())
    columns = (TextColumn("{task.description:<19}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress_bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    curves = []
    # One thread: the matrices are so small that handing them out costs more than it brings, far more on a busy machine.
    with threadpool_limits(1), progress_bar as progress:
        task = progress.add_task("", total=len(contenders) * len(days))
        for contender in contenders:
            progress.update(task, description=contender.name)
            reached = []
            for day in days:
                contender.learn(day.features, day.labels)
                reached.append(accuracy(contender.predict(day.test_features), day.test_labels))
                progress.advance(task)
            curves.append(Curve(contender.name, tuple(reached), contender.footprint()))
    return tuple(curves)
