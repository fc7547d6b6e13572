"""Scenarios: a data set whose classes arrive task by task.

A scenario says which images are available when. The backbone is trained on task 0; later tasks are learned without the
images of earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay._words import printable
from bitreplay.data._dataset import ImageDataset, Samples, Split
from bitreplay.data._sizes import describe_sizes, task_sizes
from bitreplay.errors import InputError

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Task:
    """Classes that arrive together.

    Parameters
    ----------
    id : int
        0 for the task that the backbone is trained on, then 1, 2, ...
    classes : ndarray of int64
        Its classes in learning order.
    train, test : Samples
        Samples of these classes only; in a stream, training samples may be of any class that has come before.
    batch : int, optional
        In a stream: training samples come so many at a time, in their order.

    Examples
    --------
    >>> from bitreplay.data import load_dataset
    >>> make_scenario(load_dataset("digits"), tasks=5)[1]
    Task(1, 1 classes, 146 training and 37 test)
    """

    id: int
    classes: Integers
    train: Samples
    test: Samples
    batch: int | None = None

    def __repr__(self) -> str:
        return f"Task({self.id}, {len(self.classes)} classes, {len(self.train)} training and {len(self.test)} test)"


@dataclass(frozen=True, eq=False)
class Scenario:
    """Tasks in the order in which they are learned; :func:`make_scenario` builds one.

    Examples
    --------
    >>> from bitreplay.data import load_dataset
    >>> scenario = make_scenario(load_dataset("digits"), sizes=[5, 2, 1, 2], order=None)
    >>> len(scenario), scenario[1].classes.tolist()
    (4, [5, 6])
    >>> [len(scenario.test_seen(task.id)) for task in scenario]
    [180, 252, 288, 359]
    """

    dataset: ImageDataset
    tasks: tuple[Task, ...]

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, task: int) -> Task:
        return self.tasks[task]

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def classes_seen(self, task: int) -> Integers:
        """All classes of tasks 0 to `task`, in learning order."""
        return np.concatenate([past.classes for past in self._until(task)])

    def test_seen(self, task: int) -> Samples:
        """Test samples of all classes of tasks 0 to `task`, task by task."""
        return Samples.join([past.test for past in self._until(task)])

    def summary(self) -> str:
        """The tasks as a readable table: number of classes, of samples, and the classes' names."""
        header = ("task", "classes", "training", "test", "names")
        rows = [
            (
                str(task.id),
                str(len(task.classes)),
                str(len(task.train)),
                str(len(task.test)),
                _names(self.dataset, task.classes),
            )
            for task in self
        ]
        widths = [max(len(row[column]) for row in [header, *rows]) for column in range(4)]
        lines = [
            "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[4]])
            for row in [header, *rows]
        ]
        sizes = [len(task.classes) for task in self]
        name = printable(self.dataset.name, "")
        return "\n".join([f"{name}: {sum(sizes)} classes in {len(self)} tasks, {describe_sizes(sizes)}", *lines])

    def __repr__(self) -> str:
        return f"Scenario({self.dataset.name!r}, {describe_sizes([len(task.classes) for task in self])} classes)"

    def _until(self, task: int) -> tuple[Task, ...]:
        if not 0 <= task < len(self):
            raise InputError(f"task must lie in 0..{len(self) - 1}; got {task}")
        return self.tasks[: task + 1]


def make_scenario(
    dataset: ImageDataset,
    tasks: int | None = None,
    *,
    base: int | None = None,
    increment: int | None = None,
    sizes: Sequence[int] | None = None,
    order: int | Sequence[int] | None = 1993,  # the field's convention since iCaRL's code (Rebuffi et al. 2017)
    classes: int | None = None,
    samples_per_class: int | None = None,
    seed: int = 0,
) -> Scenario:
    """Divide a data set into tasks by class.

    Parameters
    ----------
    dataset : ImageDataset
        Every class needs training and test samples.
    tasks : int, optional
        T, the number of equal increments after task 0.
    base : int, optional
        Classes of task 0. With `tasks` alone it is the largest number, up to half of the classes, that leaves equal
        increments: this gives all splits of the paper (CIFAR-100: 50 + 5 x 10, 50 + 10 x 5, 40 + 20 x 3; CORe50: 2 + 8
        x 1).
    increment : int, optional
        Classes of every later task. With `increment` alone task 0 has as many.
    sizes : sequence of int, optional
        Classes of each task, including the first, instead of the three above; they may differ.
    order : int, sequence of int or None
        Order in which the classes are learned: a seed (as `numpy.random.RandomState(order).permutation`), the classes
        themselves, or None for their own order.
    classes : int, optional
        Use only this many classes, the first in that order.
    samples_per_class : int, optional
        Few-shot learning: the tasks after task 0 get only this many training samples of each class. Task 0 keeps all,
        as in the field's few-shot benchmarks (Tao et al. 2020).
    seed : int
        Determines these samples. They depend on the seed and the class, not on the order of the classes.

    Examples
    --------
    >>> from bitreplay.data import load_dataset
    >>> scenario = make_scenario(load_dataset("digits"), tasks=3, order=None, samples_per_class=20)
    >>> print(scenario.summary())
    digits: 10 classes in 4 tasks, 4 + 3 x 2
    task  classes  training  test  names
       0        4       576   144  0, 1, 2, 3
       1        2        40    72  4, 5
       2        2        40    72  6, 7
       3        2        40    71  8, 9
    """
    if classes is not None:
        integer("classes", classes, 1, dataset.n_classes)
    learned = _class_order(order, dataset.n_classes)[:classes]
    widths = task_sizes(len(learned), tasks, base, increment, sizes)
    if samples_per_class is not None:
        integer("samples_per_class", samples_per_class, 1)
    integer("seed", seed, 0)
    _check_samples(dataset, learned[widths[0] :], samples_per_class)
    built = []
    begin = 0
    for task, width in enumerate(widths):
        mine = learned[begin : begin + width]
        begin += width
        train = (
            _few(dataset, mine, samples_per_class, seed)
            if task and samples_per_class
            else of_classes(dataset.train, mine)
        )
        built.append(
            Task(task, mine, Samples(dataset, "train", train), Samples(dataset, "test", of_classes(dataset.test, mine)))
        )
    return Scenario(dataset, tuple(built))


def _class_order(order: int | Sequence[int] | None, n_classes: int) -> Integers:
    """All classes in learning order."""
    if order is None:
        return np.arange(n_classes)
    if isinstance(order, int | np.integer):
        integer("order", order, 0, 2**32 - 1)
        return np.random.RandomState(order).permutation(n_classes)
    classes = np.asarray(order)
    if classes.dtype.kind not in "iu" or classes.ndim != 1:
        raise InputError(f"order must be a seed, a list of classes as integers, or None; got {order!r}")
    if not np.array_equal(np.sort(classes), np.arange(n_classes)):
        distinct = set(classes.tolist())
        strangers = sorted(distinct - set(range(n_classes)))
        missing = sorted(set(range(n_classes)) - distinct)
        trouble = [
            f"{what} {', '.join(map(str, which[:10]))}{', ...' if len(which) > 10 else ''}"
            for what, which in (("unknown are", strangers), ("missing are", missing))
            if which
        ]
        raise InputError(
            f"order must hold each class from 0 to {n_classes - 1} once; "
            f"{'; '.join(trouble) if trouble else f'got {len(classes)} values, some of them repeated'}"
        )
    return classes.astype(np.int64)


def _check_samples(dataset: ImageDataset, later: Integers, samples_per_class: int | None) -> None:
    """Every class has training and test samples, and each class of `later` tasks as many as requested."""
    for what, split in (("training", dataset.train), ("test", dataset.test)):
        counts = np.bincount(split.labels, minlength=dataset.n_classes)
        if not counts.all():
            empty = np.flatnonzero(counts == 0)
            raise InputError(f"every class needs {what} samples; {dataset.name} has none of {_names(dataset, empty)}")
        few = later[counts[later] < samples_per_class] if samples_per_class and what == "training" else later[:0]
        if len(few):
            raise InputError(
                f"samples_per_class={samples_per_class} is more than {dataset.name} has: class "
                f"{dataset.class_names[few[0]]!r} has {counts[few[0]]} training samples"
            )


def of_classes(split: Split, classes: Integers) -> Integers:
    """Indices of all samples of some classes, ascending: memory-mapped images are then read front to back."""
    return np.flatnonzero(np.isin(split.labels, classes))


def _few(dataset: ImageDataset, classes: Integers, samples: int, seed: int) -> Integers:
    """Ascending indices of this many training samples of each class."""
    chosen = [
        np.random.default_rng([seed, label]).choice(
            of_classes(dataset.train, np.array([label])), samples, replace=False
        )
        for label in classes.tolist()
    ]
    return np.sort(np.concatenate(chosen))


def _names(dataset: ImageDataset, classes: Integers, most: int = 5) -> str:
    """Names of some classes, for people."""
    names = ", ".join(printable(dataset.class_names[label], "") for label in classes[:most])
    return f"{names}, ..." if len(classes) > most else names
