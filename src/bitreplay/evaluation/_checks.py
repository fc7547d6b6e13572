"""Consistency checks of a history, applied whenever one is made: by a run, by hand or from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError

if TYPE_CHECKING:
    from bitreplay.evaluation._history import History

Counts = npt.NDArray[np.int64]
Answers = npt.NDArray[np.bool_]

TRAIN_TABLES = ("train_right", "train_count")
PER_STATE = ("memory_bits", "working_set_bits", "seconds")


def check(history: History) -> None:
    """Refuse what no run could have counted."""
    order, states = history.learning_order, history.n_states
    if len(set(order)) != len(order) or not all(history.classes[:1]):
        raise InputError(f"a class is new in one task only, and the first one has some; got {history.classes}")
    if not isinstance(history.learner, str) or not history.learner:
        raise InputError(f"learner must be a name; got {history.learner!r}")
    if not all(isinstance(word, str) for note in history.notes.items() for word in note):
        raise InputError(f"notes must map text to text; got {history.notes}")
    for name in PER_STATE:
        if len(getattr(history, name)) != states:
            raise InputError(f"{name} needs {states} values, one per state; got {len(getattr(history, name))}")
    _check_counts(history, "right", "count", history.right, history.count)
    if history.train_right is not None and history.train_count is not None:
        _check_counts(history, *TRAIN_TABLES, history.train_right, history.train_count)
    elif history.train_right is not None or history.train_count is not None:
        raise InputError("train_right and train_count belong together; got only one of them")
    table_of("confusion", history.confusion, len(order))
    if (history.confusion < 0).any():
        raise InputError("confusion must hold numbers of samples; some are negative")
    _check_answers(history)
    if states and (
        (np.diagonal(history.confusion) != history.right[-1]).any()
        or (history.confusion.sum(axis=1) != history.count[-1]).any()
    ):
        raise InputError("confusion does not match the last rows of right (its diagonal) and count (its row sums)")


def _check_counts(history: History, right_name: str, count_name: str, right: Counts, count: Counts) -> None:
    shape = (history.n_states, len(history.learning_order))
    for name, table in ((right_name, right), (count_name, count)):
        if table.shape != shape:
            raise InputError(f"{name} must have shape (states, classes) = {shape}; got {table.shape}")
    if (right < 0).any() or (right > count).any():
        raise InputError(f"{right_name} must lie between 0 and {count_name} everywhere")
    task_of_column = np.repeat(np.arange(history.n_states), history.task_sizes)
    if count[np.arange(history.n_states)[:, None] < task_of_column].any():
        raise InputError(f"{count_name} must be 0 where a class is not yet known")
    for task in range(history.n_states):
        if history.classes[task] and not count[task:, task_of_column == task].any(axis=1).all():
            raise InputError(f"{count_name}: task {task} needs at least one sample in every state from {task} on")


def _check_answers(history: History) -> None:
    """Answers match the counts, class by class; states before a class is learned have none of it."""
    if not history.answers:
        return
    if len(history.answers) != history.n_states:
        raise InputError(f"answers need {history.n_states} states; got {len(history.answers)}")
    for answers, right, count in zip(history.answers, history.right, history.count, strict=True):
        if len(answers) != count.sum():
            raise InputError(f"answers must be one per test sample, {count.sum()}; got {len(answers)}")
        classes = np.repeat(np.arange(len(count)), count)
        if (np.bincount(classes, answers, minlength=len(count)) != right).any():
            raise InputError("answers do not match the numbers of correct answers per class")


def answers_of(values: npt.ArrayLike) -> Answers:
    """A read-only copy of a vector of booleans."""
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype != np.bool_:
        raise InputError(f"answers must be a vector of booleans; got {given.dtype} of shape {given.shape}")
    answers = np.array(given)
    answers.setflags(write=False)
    return answers


def table_of(name: str, values: npt.ArrayLike, n_classes: int | None = None) -> Counts:
    """A read-only copy of a table of integers; with `n_classes` it must have as many rows and columns."""
    given = np.asarray(values)
    if given.ndim != 2 or given.dtype.kind not in "iu":
        raise InputError(f"{name} must be a table of integers; got {given.dtype} of shape {given.shape}")
    if n_classes is not None and given.shape != (n_classes, n_classes):
        raise InputError(f"{name} must be {n_classes} x {n_classes}, all classes seen so far; got shape {given.shape}")
    table = np.array(given, dtype=np.int64)
    table.setflags(write=False)
    return table
