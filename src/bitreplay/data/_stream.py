"""Streams: after task 0, samples come a few at a time, and classes may come back.

A stream is a scenario whose later tasks are stretches of it, after each of which a learner is tested: its accuracy is
known at any time, and the average over the states is the field's anytime accuracy (Koh et al., "Online continual
learning on class incremental blurry task configuration with anytime inference", ICLR 2022). The classes of such a task
are those that come for the first time; there may be none. What is tested is all classes that have come so far.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from bitreplay._floor.arguments import integer, one_of
from bitreplay.data._dataset import Samples
from bitreplay.data._scenario import Integers, Scenario, Task, of_classes
from bitreplay.errors import InputError

Stream = Literal["online", "blurry", "longtail"]

MOMENTS = 20  # ours: times at which accuracy is measured, about; every one takes a test of all classes
BLUR = 0.1  # Koh et al. 2022, M = 10: the share of every class's samples that comes at any other time
IMBALANCE = 100  # Cao et al., "LDAM" 2019, and the field since: the largest class has 100 times the smallest's samples


def as_stream(scenario: Scenario, stream: Stream, batch: int = 10, seed: int = 0) -> Scenario:
    """Make a stream of the tasks after task 0, which is learned at once as before.

    Parameters
    ----------
    scenario : Scenario
        Tasks, at least two.
    stream : {"online", "blurry", "longtail"}
        `online`: task after task, the samples of each in random order. `blurry`: the same, but a tenth of the samples
        of every class, also of task 0's, comes at any time of the stream, so that classes come back, and come early.
        `longtail`: as `online`, with class sizes by an exponential law, the largest 100 times the smallest.
    batch : int
        Samples that come together.
    seed : int
        Determines the order and the choice of samples.

    Examples
    --------
    >>> from bitreplay.data import load_dataset, make_scenario
    >>> tasks = make_scenario(load_dataset("digits"), sizes=[6, 2, 2], order=None)
    >>> stream = as_stream(tasks, "blurry", batch=5)
    >>> len(stream), [len(task.classes) for task in stream][:4], stream[0].batch, stream[1].batch
    (21, [6, 3, 1, 0], None, 5)
    >>> bool(set(stream[9].train.labels) & set(stream[0].classes))  # classes of task 0 come back
    True
    """
    one_of("stream", stream, Stream)
    integer("batch", batch, 1)
    integer("seed", seed, 0)
    if len(scenario) < 2:
        raise InputError("a stream comes after task 0: there must be at least one more task")
    rng = np.random.default_rng([seed, 7])
    train = [rng.permutation(task.train.indices) for task in scenario]
    labels = scenario.dataset.train.labels
    if stream == "longtail":
        later = np.concatenate([task.classes for task in scenario.tasks[1:]])
        sizes = dict(zip(rng.permutation(later).tolist(), _exponential(train[1:], labels, len(later)), strict=True))
        train[1:] = [np.concatenate([own[labels[own] == c][: sizes[c]] for c in set(labels[own])]) for own in train[1:]]
        train[1:] = [rng.permutation(own) for own in train[1:]]
    elif stream == "blurry":
        train = _blurred(train, labels, rng)
    first = Task(0, scenario[0].classes, _samples(scenario, np.sort(train[0])), scenario[0].test)
    return Scenario(scenario.dataset, (first, *_stretches(scenario, train[1:], batch)))


def _samples(scenario: Scenario, indices: Integers) -> Samples:
    return Samples(scenario.dataset, "train", indices)


def _exponential(train: list[Integers], labels: Integers, n_classes: int) -> list[int]:
    """Class sizes from the largest that all classes have, down to a hundredth of it."""
    counts = np.bincount(labels[np.concatenate(train)])
    largest = int(counts[counts > 0].min())
    steps = np.arange(n_classes) / max(1, n_classes - 1)
    return [max(1, int(n)) for n in np.round(largest * float(IMBALANCE) ** -steps)]


def _blurred(train: list[Integers], labels: Integers, rng: np.random.Generator) -> list[Integers]:
    """A tenth of every class is taken out and mixed into the stream at random."""
    taken, kept = [], []
    for own in train:
        out = np.zeros(len(own), dtype=np.bool_)
        for c in np.unique(labels[own]):
            members = np.flatnonzero(labels[own] == c)
            out[rng.permutation(members)[: int(BLUR * len(members))]] = True
        taken.append(own[out])
        kept.append(own[~out])
    mixed = rng.permutation(np.concatenate(taken))
    shares = np.cumsum([len(own) for own in kept[1:]]) / max(1, sum(len(own) for own in kept[1:]))
    parts = np.split(mixed, np.round(shares[:-1] * len(mixed)).astype(int))
    return [kept[0], *(rng.permutation(np.concatenate(both)) for both in zip(kept[1:], parts, strict=True))]


def _stretches(scenario: Scenario, train: list[Integers], batch: int) -> list[Task]:
    """The stream in stretches of whole batches, each within one task."""
    labels, seen = scenario.dataset.train.labels, set(scenario[0].classes.tolist())
    stretches: list[Task] = []
    for task, own in zip(scenario.tasks[1:], train, strict=True):
        n_batches = -(-len(own) // batch)
        n_parts = max(1, min(n_batches, round(MOMENTS / max(1, len(train)))))
        ends = np.round(np.linspace(0, n_batches, n_parts + 1)).astype(int) * batch
        for begin, end in pairwise(ends):
            part = own[begin:end]
            there = set(labels[part].tolist()) - seen
            first = [c for c in task.classes.tolist() if c in there]
            new = np.array([*first, *sorted(there - set(first))], dtype=np.int64)
            seen |= there
            test = Samples(scenario.dataset, "test", of_classes(scenario.dataset.test, new))
            stretches.append(Task(len(stretches) + 1, new, _samples(scenario, part), test, batch))
    return stretches
