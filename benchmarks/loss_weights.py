"""Loss weights of the methods that train the whole network, at the budget of table 1's full scale.

Their authors chose them for other networks, batches and epochs. One procedure for all, in which only training samples
of task 0 have a say: four fifths of them are learned, its 25 classes as 15 + 2 x 5 and with the recipe of the table,
and the others judge. All weights of a method are multiplied by one factor, 1, 0.3, 0.1 or 0.03; where the best is the
first or the last of those tried, the next one beyond is tried, too. The highest average accuracy wins. Nothing else of
a method is chosen, ours included.

Every training is a run of its own in the output folder: an interrupted call goes on, and `--only` divides the work.

BITREPLAY_DATA=datasets python benchmarks/loss_weights.py --output runs/weights > results/choices/loss_weights.txt
"""

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import cyclopts
import numpy as np
from PIL import Image

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay.evaluation import made_in_words
from bitreplay.experiments._difference import difference
from bitreplay.experiments._loss_weights import weighted
from bitreplay.experiments._main_runs import SETTING
from bitreplay.runs import Prepared, Setting, Specification, run_learner
from problems import HELD_OUT

ROWS = ("LUCIR", "EWC", "EWC:outputs=all", "TrainableGBM", "PASS", "IL2A")  # of the table
FACTORS = (1.0, 0.3, 0.1, 0.03)
LADDER = (100.0, 30.0, 10.0, 3.0, *FACTORS, 0.01, 0.003, 0.001)
SIZES = [15, 5, 5]  # of the 25 classes of task 0
SEED = 0
MANY = cyclopts.Parameter(consume_multiple=True)  # --only LUCIR EWC


def held_out(setting: Setting, folder: Path) -> Path:
    """Task 0's training images as a data set of its own, in which every fifth one of a class is for testing."""
    if folder.exists():
        return folder
    task = setting.scenario()[0]
    images, labels = task.train.images, task.train.labels
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        for place, label in enumerate(task.classes):
            for number, row in enumerate(np.flatnonzero(labels == label)):
                split = "train" if number % HELD_OUT else "test"
                path = Path(part) / "set" / split / f"{place:03d}" / f"{number:04d}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(images[row].squeeze()).save(path)
        (Path(part) / "set").rename(folder)
    return folder


def tried(average: Callable[[float], float]) -> dict[float, float]:
    """The average accuracy with every factor that is tried, in the order in which they are."""
    found = {factor: average(factor) for factor in FACTORS}
    while (beyond := next_factor(found)) is not None:
        found[beyond] = average(beyond)
    return found


def next_factor(found: Mapping[float, float]) -> float | None:
    """The factor beyond the best one, if that is at an end of those tried."""
    place = LADDER.index(best_factor(found))
    beyond = [LADDER[other] for other in (place - 1, place + 1) if 0 <= other < len(LADDER)]
    return next((factor for factor in beyond if factor not in found), None)


def best_factor(found: Mapping[float, float]) -> float:
    """The factor with the highest average; of several, the one nearest to the authors'."""
    return max(found, key=lambda factor: (found[factor], -abs(np.log(factor))))


def choose(row: str, setting: Setting, output: Path, measured: dict[str, MethodRuns]) -> str:
    """Print what a row reaches with all factors, and return the best as a learner; add to `measured`."""
    prepared = Prepared(setting)

    def average(factor: float) -> float:
        learner = weighted(row, factor)
        print(f"{learner} ...", file=sys.stderr, flush=True)
        run = run_learner(setting, Specification.parse(learner), SEED, output, prepared=prepared)
        [measured[learner]] = gather([run.result()])
        return measured[learner].measure(metrics.average).mean

    print(f"\n{row:76s} factor average  final   init    new  against the authors'")
    found = tried(average)
    for factor in sorted(found, reverse=True):
        print(line(weighted(row, factor), factor, measured, measured[row]), flush=True)
    return weighted(row, best_factor(found))


def line(learner: str, factor: float, measured: Mapping[str, MethodRuns], first: MethodRuns) -> str:
    """What was measured of a learner, and by how much its average differs, with the error of the held-out samples."""
    [history] = measured[learner].histories
    groups = metrics.init_past_new(history)
    values = [metrics.average(history), metrics.final(history), groups.init[-1], groups.new[-1]]
    gain = difference(measured[learner], first)
    told = "" if measured[learner] is first else f"{100 * gain.mean:+7.2f} ± {100 * gain.test_error:.2f}"
    return f"{learner:76s} {factor:6g} " + " ".join(f"{100 * value:6.2f}" for value in values) + f"  {told}"


def main(output: Path = Path("runs/weights"), *, only: Annotated[list[str] | None, MANY] = None) -> None:
    """Choose the loss weights, or read what was measured of them.

    Parameters
    ----------
    output : Path
        Folder for the runs; another call goes on there.
    only : list of str, optional
        Rows of the table; by default all of them.
    """
    whole = SETTING["full"]
    images = held_out(Setting(**whole), output / "held_out")
    setting = Setting(str(images), sizes=SIZES, order=None, encoder=whole["encoder"], preset=whole["preset"])
    print("Accuracy (%) on held-out training samples of task 0, which come as 15 + 2 x 5 classes; ± the standard error")
    print("that the held-out samples give the difference. A factor of 1: the authors' weights.")
    measured: dict[str, MethodRuns] = {}
    chosen = {row: choose(row, setting, output, measured) for row in only or ROWS}
    print("\nchosen, where that is not the row itself (CHOSEN in src/bitreplay/experiments/_loss_weights.py):")
    print("\n".join(f'    "{row}": "{learner}",' for row, learner in chosen.items() if learner != row))
    made = made_in_words([history for method in measured.values() for history in method.histories])
    print(f"\n{made['machine']}; bitreplay {made['version']}; {made['date']}")


if __name__ == "__main__":
    cyclopts.run(main)
