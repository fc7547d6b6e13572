"""`bitreplay demo`: the whole pipeline on scikit-learn's digits, offline, in a minute."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from bitreplay import metrics
from bitreplay._floor.arguments import integer
from bitreplay.binarizers import Thermometer
from bitreplay.errors import InputError
from bitreplay.evaluation import RunResult
from bitreplay.heads import HEADS
from bitreplay.memory import BinaryMemory
from bitreplay.report import terminal_table, write_report
from bitreplay.runs import RunFolder, Setting, Specification, compare_learners

SIZES = [5, 1, 1, 1, 1, 1]


def demo(*, output: Path = Path("demo"), seed: int = 0, prototypes: int = 8, bits: int = 3, p: int = 1) -> None:
    """Learn scikit-learn's digits class by class, and see which methods forget.

    A small network is trained on five digits, in two phases, and then frozen. The other five come one at a time. Plain
    fine-tuning, the nearest class mean, a generative binary memory with each of its heads, and training on all data at
    once learn them, and a report compares them. Nothing is downloaded.

    Parameters
    ----------
    output : Path
        Folder for the runs and the report.
    seed : int
        Determines the order of the classes and all randomness.
    prototypes : int
        K, prototypes that GBM stores per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32.
    p : int
        Thermometer bits per feature.
    """
    if output.exists() and not output.is_dir():
        raise InputError(f"output must be a folder; {output} is a file")
    integer("prototypes", prototypes, 1)
    integer("seed", seed, 0, 2**32 - 1)
    BinaryMemory(bits), Thermometer(p)  # refuse what is out of range now, and not after the training
    console = Console()
    setting = Setting("digits", sizes=SIZES, order=seed, p=p, training_seed=seed, accelerator="cpu")
    memories = [f"GBM:head={head},prototypes={prototypes},bits={bits}" for head in HEADS]
    learners = [Specification.parse(text) for text in ("FineTuning", "NearestMean", *memories, "Joint")]
    output.mkdir(parents=True, exist_ok=True)  # now: better to fail at once than after all the work

    scenario = setting.scenario()
    trained = setting.trained(scenario)
    names = [scenario.dataset.class_names[c] for c in scenario.classes_seen(len(SIZES) - 1)]
    accuracy = trained.accuracy["straight_through"] or 0.0
    console.print(
        f"A network was trained on the digits {', '.join(names[:5])} ({100 * accuracy:.1f} % accuracy) and frozen.\n"
        f"Then {', '.join(names[5:])} arrive one at a time; old images are discarded each time.\n",
        highlight=False,
    )

    def show(run: RunFolder) -> None:
        console.print(f"  {run.name}: {100 * metrics.final(run.result().history):.1f} % in the end", highlight=False)

    runs = compare_learners(setting, learners, [seed], output / "runs", on_run=show)
    results = [RunResult(_short(run.name), seed, run.result().history) for run in runs]
    console.print()
    console.print(terminal_table(results))
    page = write_report(results, output, "Digits, class by class", {"prototypes": prototypes, "bits": bits, "p": p})
    console.print(f"\nreport: {page}", highlight=False, soft_wrap=True)


def _short(name: str) -> str:
    """The learner, and GBM's head: the rest is the same in all rows."""
    learner, _, options = name.partition(":")
    head = next((part.removeprefix("head=") for part in options.split(",") if part.startswith("head=")), "")
    return f"{learner}, {head.replace('_', ' ')}" if head else learner
