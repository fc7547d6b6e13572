"""What a history says: every number in a table or a plot is one of these functions of a :class:`History`.

Accuracies are shares in [0, 1]. The accuracy on several classes or tasks together weights every test sample equally, so
that unequal tasks and classes are handled correctly; forgetting and backward transfer are means over tasks, as their
authors define them. If there is nothing to measure, the value is nan.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError
from bitreplay.evaluation import History

__all__ = [
    "accuracy_matrix",
    "average",
    "backward_transfer",
    "confusion",
    "final",
    "forgetting",
    "harmonic_mean",
    "init_past_new",
    "later",
    "per_class",
    "per_state",
    "summary",
]

Rates = npt.NDArray[np.float64]


class Groups(NamedTuple):
    """Accuracy in every state on the classes of task 0, of the tasks in between, of the newest task, and on all.

    Examples
    --------
    One line of a plot each; nan is where a group has no classes yet:

    >>> for name, rates in init_past_new(_example())._asdict().items():
    ...     print(name, rates)
    init [0.85 0.7 ]
    past [nan nan]
    new [nan  1.]
    all [0.85 0.76]
    """

    init: Rates
    past: Rates
    new: Rates
    all: Rates


def per_state(history: History, part: Literal["test", "train"] = "test") -> Rates:
    """Accuracy after every state on all classes seen so far.

    Parameters
    ----------
    history : History
        The counts.
    part : {"test", "train"}
        Which samples; for training samples the history must have been made with `train_accuracy`.

    Examples
    --------
    The second state asks about 10 + 10 + 5 samples and gets 6 + 8 + 5 right answers:

    >>> per_state(_example())
    array([0.85, 0.76])
    """
    right, count = _counts(history, part)
    return np.asarray(right.sum(axis=1) / count.sum(axis=1))


def average(history: History) -> float:
    """Average incremental accuracy: the mean of :func:`per_state` over all states, including task 0.

    Examples
    --------
    >>> round(average(_example()), 3)
    0.805
    """
    return float(per_state(history).mean())


def final(history: History) -> float:
    """Accuracy on all classes in the end.

    Examples
    --------
    >>> final(_example())
    0.76
    """
    return float(per_state(history)[-1])


def later(history: History) -> float:
    """Accuracy in the end on the classes of all tasks after task 0: the *new* classes of few-shot learning.

    Examples
    --------
    >>> later(_example())
    1.0
    """
    return float(_base_and_later(history)[1])


def harmonic_mean(history: History) -> float:
    """Harmonic mean of the accuracies in the end on the classes of task 0 and on those of all later tasks.

    A measure of few-shot learning: who never recognises a new class may have a high final accuracy, but a mean of 0.

    Examples
    --------
    >>> round(harmonic_mean(_example()), 4)
    0.8235
    """
    base, new = _base_and_later(history)
    return 0.0 if base == new == 0 else float(2 * base * new / (base + new))


def accuracy_matrix(history: History) -> Rates:
    """Accuracy after each state (row) on each task that has new classes (column); nan where it is not yet learned.

    Examples
    --------
    >>> accuracy_matrix(_example())
    array([[0.85,  nan],
           [0.7 , 1.  ]])
    """
    right, count = _counts(history)
    starts = np.cumsum((0, *history.task_sizes[:-1]))[np.array(history.task_sizes) > 0]
    return _rates(np.add.reduceat(right, starts, axis=1), np.add.reduceat(count, starts, axis=1))


def forgetting(history: History) -> float:
    """How much worse a task is in the end than it once was: the mean over all tasks except the last.

    For a task it is its best accuracy in any state before the last, minus that in the last (Chaudhry et al. 2018,
    "Riemannian walk for incremental learning", eq. 5 and 6). Negative if tasks became better. nan after one task.

    Examples
    --------
    >>> round(forgetting(_example()), 3)
    0.15
    """
    if history.n_states == 1:
        return math.nan
    matrix = accuracy_matrix(history)
    earlier = ~np.isnan(matrix[-2])  # all tasks but the last
    return float((np.nanmax(matrix[:-1, earlier], axis=0) - matrix[-1, earlier]).mean())


def backward_transfer(history: History) -> float:
    """What later tasks did to earlier ones: accuracy in the end minus that when just learned, mean of all but the last.

    Lopez-Paz and Ranzato 2017, "Gradient episodic memory". Negative where tasks are forgotten. nan after one task.

    Examples
    --------
    >>> round(backward_transfer(_example()), 3)
    -0.15
    """
    if history.n_states == 1:
        return math.nan
    matrix = accuracy_matrix(history)
    learned, earlier = np.flatnonzero(history.task_sizes), ~np.isnan(matrix[-2])
    return float((matrix[-1] - matrix[learned, np.arange(len(learned))])[earlier].mean())


def init_past_new(history: History) -> Groups:
    """Stability and plasticity: accuracy in every state on the classes of task 0 (Init), of the tasks since then but
    before the newest (Past), of the newest task (New), and on all classes seen.

    Every class belongs to one: task 0 is Init also in state 0, where New is nan; Past is nan in states 0 and 1.

    Examples
    --------
    >>> groups = init_past_new(_example())
    >>> groups.init, groups.past, groups.new
    (array([0.85, 0.7 ]), array([nan, nan]), array([nan,  1.]))
    """
    right, count = _counts(history)
    task = np.repeat(np.arange(history.n_states), history.task_sizes)
    state = np.arange(history.n_states)[:, None]
    init = np.broadcast_to(task == 0, right.shape)
    new = (task == state) & ~init
    past = (task < state) & ~init
    rates = [_rates((right * rows).sum(axis=1), (count * rows).sum(axis=1)) for rows in (init, past, new)]
    return Groups(rates[0], rates[1], rates[2], per_state(history))


def per_class(history: History, state: int = -1) -> Rates:
    """Accuracy on every class, in learning order; nan for classes without test samples in that state.

    Examples
    --------
    >>> per_class(_example())
    array([0.6, 0.8, 1. ])
    """
    right, count = _counts(history)
    if not -history.n_states <= state < history.n_states:
        raise InputError(f"state must be one of the {history.n_states} states; got {state}")
    return _rates(right[state], count[state])


def confusion(history: History) -> Rates:
    """Final share of every true class (row) predicted as each class (column); rows add up to 1.

    Examples
    --------
    >>> confusion(_example())
    array([[0.6, 0.1, 0.3],
           [0.1, 0.8, 0.1],
           [0. , 0. , 1. ]])
    """
    _counts(history)
    return _rates(history.confusion, np.broadcast_to(history.count[-1][:, None], history.confusion.shape))


def standard_error(history: History) -> Rates:
    """Standard error of the accuracy in every state due to the finite test set: sqrt(a (1 - a) / N).

    Where all answers are right, or none, it is that of half an answer less or more.

    Examples
    --------
    >>> standard_error(_example()).round(3)
    array([0.08 , 0.085])
    """
    _, count = _counts(history)
    share = np.clip(per_state(history), 0.5 / (n := count.sum(axis=1)), 1 - 0.5 / n)
    return np.asarray(np.sqrt(share * (1 - share) / n))


def summary(history: History) -> dict[str, Any]:
    """The numbers that a table needs, ready for JSON: None where a value is undefined.

    Examples
    --------
    >>> summary(_example())["final"], summary(_example())["past"]
    (0.76, None)
    """
    groups = init_past_new(history)
    rates = {
        "initial": per_state(history)[0],
        "average": average(history),
        "final": final(history),
        "forgetting": forgetting(history),
        "backward_transfer": backward_transfer(history),
        "init": groups.init[-1],
        "past": groups.past[-1],
        "new": groups.new[-1],
        "later": later(history),
        "harmonic_mean": harmonic_mean(history),
    }
    return {
        "learner": history.learner,
        "notes": dict(history.notes),
        "task_sizes": list(history.task_sizes),
        **{name: None if math.isnan(rate) else float(rate) for name, rate in rates.items()},
        "per_state": per_state(history).tolist(),
        "memory_bits": history.memory_bits[-1],
        "working_set_bits": history.working_set_bits[-1],
        "seconds": sum(history.seconds),
    }


def _counts(history: History, part: str = "test") -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    if not history.n_states:
        raise InputError("the history is empty: no task has been learned yet")
    if part == "test":
        return history.right, history.count
    if part != "train":
        raise InputError(f"part must be 'test' or 'train'; got {part!r}")
    if history.train_right is None or history.train_count is None:
        raise InputError("the history has no train accuracy: evaluate with train_accuracy=True")
    return history.train_right, history.train_count


def _base_and_later(history: History) -> Rates:
    """Accuracy in the end on task 0 and on all later tasks."""
    return _rates(*(np.add.reduceat(np.r_[some[-1], 0], [0, history.task_sizes[0]]) for some in _counts(history)))


def _rates(right: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> Rates:
    rates = np.full(right.shape, np.nan)
    np.divide(right, count, out=rates, where=count > 0)
    return rates


def _example() -> History:
    """Two tasks, of two classes and of one, for the examples above."""
    one, two = [[8, 2], [1, 9]], [[6, 1, 3], [1, 8, 1], [0, 0, 5]]
    history = History.empty("example").append((7, 3), one, memory_bits=128, working_set_bits=0, seconds=0.1)
    return history.append((5,), two, memory_bits=192, working_set_bits=0, seconds=0.1)
