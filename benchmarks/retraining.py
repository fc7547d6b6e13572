"""How much results change when the network is trained again: the noise that one network cannot show.

The setting of table 1 at full scale (50 classes of CIFAR-100 in 25 + 5 x 5, a ResNet-18 of width 32 at 24 px, 27 epochs
and 3 with the thermometer, p = 1), with several seeds of the network's training, and one of the learners.
Printed are standard deviations over the networks: of accuracies (methods on different networks), of differences between
methods (on the same network), and of what the phases of training add. The verdicts of the experiments use them
(`src/bitreplay/experiments/_retraining.py`). A network takes 20 minutes on one core; `--seeds` divides the work.

BITREPLAY_DATA=datasets python benchmarks/retraining.py --output runs/retraining > results/choices/retraining.txt
"""

import sys
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated

import cyclopts
import numpy as np

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay.evaluation import History, made_in_words
from bitreplay.experiments._curves_figure import _mean_gap, _mean_priority
from bitreplay.experiments._main_runs import SETTING
from bitreplay.experiments._published import EIGHT, ONE
from bitreplay.runs import Setting, Specification, compare_learners

METHODS = {  # what a column is called, and what it is
    "K=8": EIGHT,
    "K=1": ONE,
    "closed": "GBM",
    "FeTrIL": "FeTrIL",
    "NearestMean": "NearestMean",
    "FeCAM": "FeCAM",
}
LEARNER_SEEDS = (0,)
MANY = cyclopts.Parameter(consume_multiple=True)  # --seeds 0 1


def initial(history: History) -> float:
    """Accuracy after task 0."""
    return float(metrics.per_state(history)[0])


METRICS: dict[str, Callable[[History], float]] = {
    "average": metrics.average,
    "final": metrics.final,
    "initial": initial,
    "past-new gap": _mean_gap,
    "init-past": _mean_priority,
}
PHASES = ("plain", "plain_then_binarized", "straight_through")
Values = np.ndarray  # of one figure, one for each network, in %


def measured(setting: Setting, output: Path) -> tuple[dict[str, MethodRuns], dict[str, float | None]]:
    """All methods on one network, and what its phases reached."""
    network = setting.trained(setting.scenario())
    specifications = [Specification.parse(text) for text in METHODS.values()]
    runs = compare_learners(setting, specifications, LEARNER_SEEDS, output)
    names = {text: name for name, text in METHODS.items()}
    return {names[one.name]: one for one in gather([run.result() for run in runs])}, dict(network.accuracy)


def spread(values: Values) -> float:
    """Standard deviation over the networks."""
    return float(np.std(values, ddof=1))


def row(name: str, values: Sequence[float] | Values) -> str:
    """A figure of every network, their mean and their spread."""
    each = " ".join(f"{value:7.2f}" for value in values)
    return f"{name:32s} {each}   mean {np.mean(values):6.2f}  sd {spread(np.asarray(values)):5.2f}"


def root_mean_square(values: Sequence[float]) -> float:
    """The spread of several figures, pooled."""
    return float(np.sqrt(np.mean(np.square(values))))


def degrees(values: Sequence[Values]) -> float:
    """Degrees of freedom of the pooled spread of differences: Box's (1954), as these are correlated."""
    centred = np.array(values) - np.mean(values, axis=0)  # what all methods have in common is in no difference
    covariance = np.cov(centred)
    return float((len(values[0]) - 1) * np.trace(covariance) ** 2 / np.trace(covariance @ covariance))


def main(output: Path = Path("runs/retraining"), *, seeds: Annotated[list[int] | None, MANY] = None) -> None:
    """Train the networks, or find them, run all methods and print the spreads.

    Parameters
    ----------
    output : Path
        Folder for the runs; another call goes on there.
    seeds : list of int, optional
        Of the networks' training; by default 0 to 4.
    """
    found, phases = [], []
    for seed in seeds or range(5):
        methods, reached = measured(Setting(**{**SETTING["full"], "training_seed": seed}), output)
        found.append(methods)
        phases.append(reached)
        print(f"network {seed}: {reached}", file=sys.stderr, flush=True)
    print(f"{len(found)} networks; accuracies in %")
    for name, metric in METRICS.items():
        values = {m: np.array([100 * one[m].measure(metric).mean for one in found]) for m in METHODS}
        print(f"\n{name}, on every network")
        print("\n".join(row(method, each) for method, each in values.items()))
        print(f"pooled sd: {root_mean_square([spread(each) for each in values.values()]):.2f}")
        if name in ("average", "final", "initial"):
            print(f"{name}, differences of methods on the same network")
            pairs = {f"{a} - {b}": values[a] - values[b] for a, b in combinations(METHODS, 2)}
            print("\n".join(row(pair, each) for pair, each in pairs.items()))
            spreads = [spread(each) for each in pairs.values()]
            known = f"{degrees(list(values.values())):.1f} degrees of freedom"
            print(f"pooled sd: {root_mean_square(spreads):.2f}, {known}; largest: {max(spreads):.2f}")
    print("\ntask 0, by phase of the training")
    each = {name: np.array([100 * float(one[name] or np.nan) for one in phases]) for name in PHASES}
    print("\n".join(row(name, values) for name, values in each.items()))
    plain, cut, trained = (each[name] for name in PHASES)
    print(row("straight-through - binarized", trained - cut))
    print(row("straight-through - plain", trained - plain))
    made = made_in_words([history for methods in found for method in methods.values() for history in method.histories])
    print(f"\n{made['machine']}; bitreplay {made['version']}; {made['date']}")


if __name__ == "__main__":
    cyclopts.run(main)
