"""The bits that the measurements are made on: scikit-learn's digits, or features from an .npz of embeddings.py.

What chooses a default takes `task_0`: it divides the training samples of task 0, four fifths to learn from and a fifth
to judge by, so that no test sample and no later class has a say.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bitreplay.binarizers import Binarizer, Identity, Thermometer
from bitreplay.bits import PackedBits


@dataclass
class Problem:
    """Binarized train and test samples per class, classes in the order of the field's convention (seed 1993)."""

    name: str
    train: dict[int, PackedBits]
    test: dict[int, PackedBits]


def parser(description: str) -> argparse.ArgumentParser:
    """A command line with --features, --p and --classes."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--features", type=Path, help=".npz of embeddings.py; scikit-learn's digits if left out")
    made.add_argument("--p", type=int, help="thermometer bits per feature (1; 4 for digits)")
    made.add_argument("--classes", type=int, help="use only so many classes")
    return made


HELD_OUT = 5  # every fifth sample of a class


def task_0(description: str) -> tuple[Problem, argparse.Namespace]:
    """As :func:`parse`, but of task 0's training samples alone, the held-out ones as test samples."""
    whole, arguments = parse(description)
    train, test = {}, {}
    for label in list(whole.train)[: (len(whole.train) + 1) // 2]:
        samples = whole.train[label]
        out = np.arange(len(samples)) % HELD_OUT == 0
        train[label], test[label] = samples[~out], samples[out]
    return Problem(f"{whole.name}, held-out training samples of task 0", train, test), arguments


def divided(problem: Problem, n_tasks: int = 10) -> list[list[int]]:
    """Half of the classes, then the others in so many tasks."""
    order = list(problem.train)
    half = len(order) // 2
    return [order[:half], *(list(part) for part in np.array_split(order[half:], min(n_tasks, len(order) - half)))]


@dataclass
class Judged:
    """Right answers after every task, sample by sample: average and final accuracy, and how sure a difference is."""

    states: list[np.ndarray]  # of every state, the samples of all classes so far, in a fixed order

    @property
    def average(self) -> float:
        """Mean over the states, in %."""
        return 100 * float(np.mean([right.mean() for right in self.states]))

    @property
    def final(self) -> float:
        """Of the last state, in %."""
        return 100 * float(self.states[-1].mean())

    def ahead(self, other: "Judged") -> tuple[float, float]:
        """Difference of the averages in points, and its standard error: paired by sample."""
        each = np.zeros(len(self.states[-1]))
        for mine, theirs in zip(self.states, other.states, strict=True):
            each[: len(mine)] += (mine.astype(float) - theirs) / (len(mine) * len(self.states))
        return 100 * float(each.sum()), 100 * float(np.sqrt(len(each)) * each.std())


def problem_of(arguments: argparse.Namespace) -> Problem:
    """The problem that these arguments ask for."""
    return problem(arguments.features, arguments.p, arguments.classes)


def parse(description: str) -> tuple[Problem, argparse.Namespace]:
    """Read --features, --p and --classes from the command line and binarize."""
    arguments = parser(description).parse_args()
    return problem_of(arguments), arguments


def problem(features: Path | None = None, p: int | None = None, n_classes: int | None = None) -> Problem:
    if features is None:
        X, y = load_digits(return_X_y=True)
        x_train, x_test, y_train, y_test = train_test_split(X.astype(np.float32), y, test_size=0.3, random_state=0)
    else:
        arrays = np.load(features)
        x_train, x_test, y_train, y_test = (arrays[name] for name in ("x_train", "x_test", "y_train", "y_test"))
    order = np.random.RandomState(1993).permutation(int(y_train.max()) + 1)[:n_classes]
    binarizer: Binarizer = Thermometer(p or (4 if features is None else 1), calibrated=True)
    if x_train.dtype == np.uint8:  # bits already, of device_network.py
        binarizer = Identity()
    binarizer.calibrate(x_train[np.isin(y_train, order[: len(order) // 2])])  # thresholds know task 0 only
    train, test = binarizer.pack(x_train), binarizer.pack(x_test)
    return Problem(
        features.stem if features else "digits",
        {int(c): train[y_train == c] for c in order},
        {int(c): test[y_test == c] for c in order},
    )
