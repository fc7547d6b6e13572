"""Runs of the same name and different seeds are one method of the report; which methods lead, given the noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay import metrics
from bitreplay.data import describe_sizes
from bitreplay.errors import InputError
from bitreplay.evaluation import History, RunResult
from bitreplay.learners import LEARNERS

# What tables, files and plots say of a run: shares, bits in the end, and seconds of learning all tasks.
MEASURES: dict[str, Callable[[History], float]] = {
    "average": metrics.average,
    "final": metrics.final,
    "harmonic_mean": metrics.harmonic_mean,
    "forgetting": metrics.forgetting,
    "backward_transfer": metrics.backward_transfer,
    "memory_bits": lambda history: history.memory_bits[-1],
    "working_set_bits": lambda history: history.working_set_bits[-1],
    "seconds": lambda history: sum(history.seconds),
}

# How many standard errors two values must be apart to be called different: about 95 % of a normal distribution.
APART = 2.0


class MeanAndSpread(NamedTuple):
    """A value over seeds; a single seed has no spread."""

    mean: float
    std: float | None


@dataclass(frozen=True)
class MethodRuns:
    """All runs of one name."""

    name: str
    seeds: tuple[int, ...]
    histories: tuple[History, ...]

    def with_seeds(self, seeds: Sequence[int]) -> MethodRuns:
        """Only the runs with some seeds."""
        kept = [(seed, history) for seed, history in zip(self.seeds, self.histories, strict=True) if seed in seeds]
        return MethodRuns(self.name, tuple(seed for seed, _ in kept), tuple(history for _, history in kept))

    def measure(self, metric: Callable[[History], float]) -> MeanAndSpread:
        """Mean and standard deviation (of the sample: n - 1) of a metric over the seeds."""
        values = [float(metric(history)) for history in self.histories]
        return MeanAndSpread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)

    def curves(
        self, metric: Callable[[History], npt.NDArray[np.float64]]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The same for a metric that has many values; one seed has a spread of 0 here."""
        values = np.array([metric(history) for history in self.histories])
        return values.mean(axis=0), values.std(axis=0, ddof=1 if len(values) > 1 else 0)

    @property
    def memory(self) -> float:
        """Bits stored for old classes in the end, mean over the seeds."""
        return self.measure(MEASURES["memory_bits"]).mean

    @property
    def working_set(self) -> float:
        """Bits that a decision reads in the end, mean over the seeds."""
        return self.measure(MEASURES["working_set_bits"]).mean

    @property
    def seconds(self) -> float:
        """Time to learn all tasks, mean over the seeds."""
        return self.measure(MEASURES["seconds"]).mean

    @property
    def bound(self) -> str | None:
        """What kind of bound this is, if it is one."""
        name = self.histories[0].learner
        return (LEARNERS[name].bound or None) if name in LEARNERS else None

    @property
    def task_sizes(self) -> tuple[int, ...]:
        """Classes per task, the same in all runs."""
        return self.histories[0].task_sizes

    @property
    def notes(self) -> dict[str, str]:
        """Notes to show with the numbers; where runs differ, all their values."""
        names = dict.fromkeys(name for history in self.histories for name in history.notes)
        said = {name: dict.fromkeys(h.notes.get(name, "not said") for h in self.histories) for name in names}
        return {name: " / ".join(values) for name, values in said.items()}


def gather(runs: Sequence[RunResult]) -> tuple[MethodRuns, ...]:
    """The methods, in the order in which their names first appear, each with its runs by seed.

    Examples
    --------
    >>> history = History.empty("x").append([0], [[3]], memory_bits=0, working_set_bits=0, seconds=0)
    >>> [(m.name, m.seeds) for m in gather([RunResult("b", 1, history), RunResult("a", 0, history)])]
    [('b', (1,)), ('a', (0,))]
    """
    if not runs:
        raise InputError("a report needs at least one run")
    first = {name: index for index, name in reversed(list(enumerate(run.name for run in runs)))}
    methods = []
    for name, group in groupby(sorted(runs, key=lambda r: (first[r.name], r.seed)), key=lambda r: r.name):
        mine = list(group)
        method = MethodRuns(name, tuple(run.seed for run in mine), tuple(run.history for run in mine))
        if len(set(method.seeds)) < len(mine):
            raise InputError(f"{name!r} has two runs with the same seed; seeds are {list(method.seeds)}")
        sizes = {history.task_sizes for history in method.histories}
        if len(sizes) > 1:
            said = " and ".join(describe_sizes(one) for one in sorted(sizes))
            raise InputError(f"runs of {name!r} have different tasks: {said}. Is one of them unfinished?")
        methods.append(method)
    return tuple(methods)


def contenders(methods: Sequence[MethodRuns]) -> list[MethodRuns]:
    """All but the bounds."""
    return [method for method in methods if method.bound is None]


def leading(methods: Sequence[MethodRuns], what: Literal["average", "final"]) -> frozenset[str]:
    """Names of the best methods, as far as the noise allows.

    The best one and all that are not distinguishable from it: the difference is at most two standard errors, where the
    error comes from the seeds and from the finite test set. (Methods are tested on the same samples, so the true
    error of a difference is smaller: a lead by this rule is real.) No method leads if one has a single seed, if
    the tasks differ, or if all are alike.
    """
    compared = contenders(methods)
    if any(len(method.seeds) == 1 for method in compared) or len({m.task_sizes for m in compared}) != 1:
        return frozenset()
    near = within_noise(methods, what)
    return frozenset() if len(near) == len(compared) else frozenset(method.name for method in near)


def within_noise(methods: Sequence[MethodRuns], what: Literal["average", "final"] = "average") -> list[MethodRuns]:
    """The best method, and all within two standard errors of it; for a single seed, only the test set's error."""
    compared = contenders(methods)
    metric = metrics.average if what == "average" else metrics.final
    measured = [method.measure(metric).mean for method in compared]
    best = int(np.argmax(measured))
    return [
        method
        for method, value in zip(compared, measured, strict=True)
        if measured[best] - value <= APART * np.hypot(_error(method, what), _error(compared[best], what))
    ]


def _error(method: MethodRuns, what: Literal["average", "final"]) -> float:
    """Standard error of a method's mean: of the seeds and of the test set."""
    spread = method.measure(metrics.average if what == "average" else metrics.final).std
    seeds = 0.0 if spread is None else spread / np.sqrt(len(method.seeds))
    per_state, _ = method.curves(metrics.standard_error)
    # States share test samples: the error of their average is at most the average of their errors.
    test_set = per_state.mean() if what == "average" else per_state[-1]
    return float(np.hypot(seeds, test_set))


def common_notes(methods: Sequence[MethodRuns]) -> dict[str, str]:
    """Notes that all methods share."""
    return {
        name: text
        for name, text in methods[0].notes.items()
        if all(method.notes.get(name) == text for method in methods)
    }
