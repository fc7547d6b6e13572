"""Part b) of figure 4: how G is trained in every task, epoch by epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from bitreplay._pages.look import COLOURS, FAINT, GRID, LOOK, PAPER, figure, heading, quiet
from bitreplay.heads import Replay
from bitreplay.learners import GBM, FrozenLearner
from bitreplay.runs import Prepared


@dataclass(frozen=True)
class Epoch:
    """Accuracy on the batches of an epoch during training, and on test samples after it."""

    task: int
    epoch: int
    train: float
    test: float


class WatchedGBM(GBM):
    """GBM with the replay head that reports its training, without changing what it learns."""

    on_epoch: Callable[[float, Replay], None] | None = None

    def _replay(self) -> Replay:
        return replace(super()._replay(), on_epoch=self.on_epoch)


def watch_training(prepared: Prepared, prototypes: int, seed: int, **options: Any) -> list[Epoch]:
    """Run GBM with the replay head through all tasks, and record every epoch."""
    method = WatchedGBM(prototypes=prototypes, bits=32, head="replay", objective="expected", seed=seed, **options)
    learner = FrozenLearner(method, prepared.encoder)
    noted: list[Epoch] = []
    state = 0

    def note(right: float, now: Replay) -> None:
        assert method.code is not None
        test = prepared.scenario.test_seen(state)  # of all classes seen, the new ones included
        answers = np.array(now.labels)[now.scores(prepared.encoder.bits(test, method.code)).argmax(axis=1)]
        epoch = 1 + sum(one.task == state for one in noted)
        noted.append(Epoch(state, epoch, right, float((answers == test.labels).mean())))

    method.on_epoch = note
    for state, task in enumerate(prepared.scenario):  # noqa: B007  # `note` reads it
        learner.learn(task)
    return noted


def draw_training(epochs: Sequence[Epoch], words: str) -> Figure:
    """Both curves over all epochs, task by task."""
    with matplotlib.rc_context(LOOK):
        made = figure(3.3)
        axes: Any = made.subplots()
        tasks = sorted({one.task for one in epochs})
        for task in tasks:
            own = [one for one in epochs if one.task == task]
            places = task + (np.arange(len(own)) + 0.5) / len(own)
            first = task == tasks[0]
            look = {"mec": PAPER, "mew": 0.5, "ms": 4, "linewidth": 1.3}
            train, test = [100 * one.train for one in own], [100 * one.test for one in own]
            label = "training batches: samples and pseudo-exemplars" if first else None
            axes.plot(places, train, color=COLOURS[1], marker="s", label=label, **look)
            axes.plot(places, test, color=COLOURS[0], marker="o", label="test samples" if first else None, **look)
            axes.axvline(task, color=GRID, linewidth=0.8, zorder=0)
        axes.set_xticks([task + 0.5 for task in tasks], map(str, tasks))
        axes.set_xlim(tasks[0], tasks[-1] + 1)
        axes.set_ylim(top=101)
        axes.set_xlabel("task, with its epochs", color=FAINT)
        axes.set_ylabel("accuracy (%)")
        quiet(axes)
        made.legend(loc="outside lower left", ncols=2, fontsize=8.5)
        heading(made, "Training of the classifier in every task", words)
    return made
