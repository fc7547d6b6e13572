"""Histories with accuracies as they are wanted, for verdicts that must follow from numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._pages.methods import MethodRuns
from bitreplay.evaluation import History

SAMPLES = 100_000  # of every class: accuracies are exact, and the test set adds no noise to speak of


def history(
    accuracies: Sequence[float],
    *,
    learner: str = "GBM",
    train: Sequence[float] | None = None,
    memory: int = 0,
    seconds: Sequence[float] | None = None,
    samples: int = SAMPLES,
    paired: bool = False,
    first: int = 2,
) -> History:
    """A history of given accuracies, state by state: two classes (or more) first, then one more at a time.

    With `paired` it has answers: whoever answers more samples right, answers those right that others do, and some more.
    """
    made = History.empty(learner)
    for state, accuracy in enumerate(accuracies):
        seen = state + first
        made = made.append(
            tuple(range(first)) if state == 0 else (seen - 1,),
            _confusion(seen, accuracy, samples),
            answers=_answers(seen, accuracy, samples) if paired else None,
            memory_bits=memory,
            working_set_bits=0,
            seconds=seconds[state] if seconds else 0.0,
            train_confusion=None if train is None else _confusion(seen, train[state], samples),
        )
    return made


def method(name: str, *accuracies: float | Sequence[float], **options: Any) -> MethodRuns:
    """A method with one run per accuracy (or accuracies by state), and options of :func:`history`."""
    histories = tuple(history(one if isinstance(one, Sequence) else [one], **options) for one in accuracies)
    return MethodRuns(name, tuple(range(len(histories))), histories)


def margin(*accuracies: float) -> float:
    """How far a difference of methods may be off that have one run of one state each, and no answers.

    By the textbook: Student's t of 19 degrees of freedom, and twice the variance of the accuracy nearest to one half.
    """
    return 2.0930 * math.sqrt(2 * max(a * (1 - a) for a in accuracies) / (2 * SAMPLES))


def interval(mean: float, margin: float) -> str:
    """A difference as it is written, from shares."""
    words, low, high = (f"{round(100 * value, 1) + 0.0:+.1f}" for value in (mean, mean - margin, mean + margin))
    return f"{words} points (95 %: {low} to {high})"


def _confusion(n_classes: int, accuracy: float, samples: int) -> npt.NDArray[np.int64]:
    right = round(samples * accuracy)
    table = np.diag(np.full(n_classes, right))
    table[np.arange(n_classes), (np.arange(n_classes) + 1) % n_classes] += samples - right
    return table


def _answers(n_classes: int, accuracy: float, samples: int) -> npt.NDArray[np.bool_]:
    """The easiest samples of every class; which these are is drawn, and the same for all."""
    right = round(samples * accuracy)
    return np.concatenate([np.random.default_rng(label).permutation(samples) < right for label in range(n_classes)])
