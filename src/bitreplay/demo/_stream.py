"""scikit-learn's digits as they would arrive on a device: five classes on the first day, then one new class a day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

__all__ = ["Day", "Digits", "accuracy"]

Array = npt.NDArray[Any]

N_CLASSES = 10
FIRST_DAY = 5  # classes of task 0
TEST_SHARE = 0.25  # ours: about 135 samples of a class to learn from, 45 to test on


@dataclass(frozen=True)
class Day:
    """What arrives on one day, and what is asked in the evening."""

    features: Array  # training samples of the new classes only
    labels: Array
    test_features: Array  # test samples of all classes seen so far
    test_labels: Array
    n_seen: int


@dataclass(frozen=True)
class Digits:
    """The split and the order of the classes for one seed.

    Parameters
    ----------
    seed : int
        Decides which samples are for testing and in which order the classes come.

    Examples
    --------
    >>> digits = Digits(seed=0)
    >>> [(day.n_seen, len(set(day.labels)), len(set(day.test_labels))) for day in digits.days()]
    [(5, 5, 5), (6, 1, 6), (7, 1, 7), (8, 1, 8), (9, 1, 9), (10, 1, 10)]
    """

    seed: int

    @property
    def order(self) -> list[int]:
        """Classes in the order they come."""
        return [int(c) for c in np.random.default_rng(self.seed).permutation(N_CLASSES)]

    def days(self) -> Iterator[Day]:
        """Task 0, then one class at a time."""
        features, labels = load_digits(return_X_y=True)
        train, test, train_labels, test_labels = train_test_split(
            features, labels, test_size=TEST_SHARE, stratify=labels, random_state=self.seed
        )
        order = self.order
        for n_seen in range(FIRST_DAY, N_CLASSES + 1):
            new = order[:FIRST_DAY] if n_seen == FIRST_DAY else order[n_seen - 1 : n_seen]
            is_new, is_seen = np.isin(train_labels, new), np.isin(test_labels, order[:n_seen])
            yield Day(train[is_new], train_labels[is_new], test[is_seen], test_labels[is_seen], n_seen)


def accuracy(predicted: Array, labels: Array) -> float:
    """Share of right answers."""
    return float(np.mean(predicted == labels))
