"""Runs a learner through a scenario: learn a task, test all classes seen so far, count, repeat."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bitreplay.errors import InputError
from bitreplay.evaluation._history import History
from bitreplay.evaluation._provenance import Provenance

if TYPE_CHECKING:
    from bitreplay.data import Samples, Scenario
    from bitreplay.learners import Learner


def evaluate(
    learner: Learner,
    scenario: Scenario,
    *,
    start: History | None = None,
    train_accuracy: bool = False,
    on_state: Callable[[int, History], None] | None = None,
) -> History:
    """Run a learner through the tasks of a scenario and count its correct answers after each.

    Parameters
    ----------
    learner : Learner
        In the state in which `start` left it; a fresh one if there is no `start`.
    scenario : Scenario
        The tasks.
    start : History, optional
        The history of an earlier, interrupted run: its tasks are not learned again. Use `History.empty(name, notes)` to
        start with notes.
    train_accuracy : bool
        Also count correct answers on the training samples of all classes seen so far. This tests the learner on
        samples that it could not have kept, to show overfitting; the learner does not learn from it.
    on_state : callable, optional
        Called as ``on_state(state, history)`` after every state, so that the caller can write files.

    Returns
    -------
    History
        One state per task of the scenario.

    Examples
    --------
    >>> from bitreplay import metrics
    >>> from bitreplay.backbones import Preprocessing
    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.encoder import Encoder
    >>> from bitreplay.learners import LEARNERS, FrozenLearner
    >>> pixels = Encoder(lambda images: images.flatten(1), Preprocessing((0.5,), (0.5,)), name="pixels")
    >>> learner = FrozenLearner(LEARNERS["StreamingLDA"](), pixels)
    >>> scenario = make_scenario(load_dataset("digits"), sizes=[5, 3, 2])
    >>> history = evaluate(learner, scenario, on_state=lambda state, history: print(state, history.memory_bits[-1]))
    0 141312
    1 147456
    2 151552
    >>> bool(metrics.final(history) > 0.9)
    True
    """
    history = History.empty(learner.name) if start is None else start
    _check(history, learner, scenario, train_accuracy)
    for state in range(history.n_states, len(scenario)):
        task = scenario[state]
        began = time.perf_counter()
        learner.learn(task)
        learner.ready()
        began -= learner.earlier_seconds  # a task that was interrupted took as long as both parts
        seconds = time.perf_counter() - began

        new = [int(c) for c in task.classes]
        order = [*history.learning_order, *new]
        past_and_new = [scenario[t].train for t in range(state + 1)] if train_accuracy else []
        confusion, answers = _ask(learner, [scenario.test_seen(state)], order)
        history = history.append(
            new,
            confusion,
            memory_bits=learner.memory_bits(),
            working_set_bits=learner.working_set_bits(),
            seconds=seconds,
            train_confusion=_ask(learner, past_and_new, order)[0] if train_accuracy else None,
            answers=answers if history.answers or not history.n_states else None,  # a start of 0.1.0 has none
        )
        made = Provenance.now() if history.made is None else replace(Provenance.now(), seconds=history.made.seconds)
        history = replace(history, made=made.longer(time.perf_counter() - began))
        if on_state is not None:
            on_state(state, history)
    return history


def _ask(
    learner: Learner, parts: Iterable[Samples], order: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Samples by true and predicted class, in learning order; and which were classified correctly, class by class."""
    table = np.zeros((len(order), len(order)), dtype=np.int64)
    classes, right = [], []
    for samples in parts:
        labels, predicted = samples.labels, np.asarray(learner.predict(samples))
        if predicted.shape != labels.shape or predicted.dtype.kind not in "iu":
            raise InputError(
                f"{learner.name} must predict one integer label per sample, shape {labels.shape}; "
                f"got {predicted.dtype} of shape {predicted.shape}"
            )
        true, answered = _positions(labels, order, "the data"), _positions(predicted, order, learner.name)
        np.add.at(table, (true, answered), 1)
        classes.append(true)
        right.append(true == answered)
    by_class = np.argsort(np.concatenate(classes), kind="stable")
    return table, np.concatenate(right)[by_class]


def _positions(labels: npt.NDArray[np.int64], order: Sequence[int], who: str) -> npt.NDArray[np.int64]:
    """Position of each label in the learning order."""
    classes = np.asarray(order)
    ascending = np.argsort(classes)
    found = np.searchsorted(classes, labels, sorter=ascending)
    positions = ascending[np.minimum(found, len(classes) - 1)]
    unknown = np.unique(labels[classes[positions] != labels])
    if len(unknown):
        raise InputError(f"{who} names classes that were not learned yet: {unknown[:10].tolist()}")
    return positions


def _check(history: History, learner: Learner, scenario: Scenario, train_accuracy: bool) -> None:
    """Refuse what would fail or mislead later, before anything is learned."""
    tasks = tuple(tuple(int(c) for c in task.classes) for task in scenario)
    if history.classes != tasks[: history.n_states]:
        raise InputError(
            f"start does not belong to this scenario: its tasks are {history.classes}, the scenario's are {tasks}"
        )
    if history.learner != learner.name:
        raise InputError(f"start is a history of {history.learner!r}, but the learner is {learner.name!r}")
    if history.n_states and train_accuracy != (history.train_right is not None):
        asked, has = ("is", "has none") if train_accuracy else ("is not", "has it")
        raise InputError(f"train_accuracy {asked} asked for, but start {has}: it must be the same in all states")
    if any(task.batch is not None for task in scenario) and not learner.streams:
        raise InputError(f"{learner.name} needs all samples of a class at once: it cannot learn from a stream")
    for number, task in enumerate(scenario):
        if not len(task.test) and (len(task.classes) or not number):
            raise InputError(f"task {number} has no test samples: its accuracy would be undefined")
