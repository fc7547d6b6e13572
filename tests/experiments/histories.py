"""Histories with accuracies as they are wanted, for verdicts that must follow from numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from bitreplay.evaluation import History
from bitreplay.report._methods import Method

SAMPLES = 100_000  # of every class: accuracies are exact, and the test set adds no noise to speak of


def history(
    accuracies: Sequence[float],
    *,
    learner: str = "GBM",
    train: Sequence[float] | None = None,
    memory: int = 0,
    seconds: Sequence[float] | None = None,
    samples: int = SAMPLES,
) -> History:
    """A history of given accuracies, state by state: two classes first, then one more at a time."""
    made = History.empty(learner)
    for state, accuracy in enumerate(accuracies):
        made = made.append(
            (0, 1) if state == 0 else (state + 1,),
            _confusion(state + 2, accuracy, samples),
            memory_bits=memory,
            working_set_bits=0,
            seconds=seconds[state] if seconds else 0.0,
            train_confusion=None if train is None else _confusion(state + 2, train[state], samples),
        )
    return made


def method(
    name: str, *accuracies: float | Sequence[float], learner: str = "GBM", memory: int = 0, samples: int = SAMPLES
) -> Method:
    """A method with one run per accuracy (or accuracies by state)."""
    histories = tuple(
        history(one if isinstance(one, Sequence) else [one], learner=learner, memory=memory, samples=samples)
        for one in accuracies
    )
    return Method(name, tuple(range(len(histories))), histories)


def _confusion(n_classes: int, accuracy: float, samples: int) -> npt.NDArray[np.int64]:
    right = round(samples * accuracy)
    table = np.diag(np.full(n_classes, right))
    table[np.arange(n_classes), (np.arange(n_classes) + 1) % n_classes] += samples - right
    return table
