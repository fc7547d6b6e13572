"""Part b) of figure 4: how G is trained in every task, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from bitreplay.bits import PackedBits
from bitreplay.classifier._learning import seed_for
from bitreplay.data import Samples
from bitreplay.heads import Head, Replay
from bitreplay.learners import FrozenLearner
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.memory import BinaryMemory
from bitreplay.report._look import COLOURS, FAINT, GRID, LOOK, PAPER, figure, heading, quiet
from bitreplay.runs import Prepared

__all__ = ["Epoch", "draw_training", "watch_training"]


@dataclass(frozen=True)
class Epoch:
    """Share of right answers on the batches of an epoch, while it was trained on them, and on test samples after it."""

    task: int
    epoch: int
    train: float
    test: float


class WatchedGBM(GBM):
    """GBM with the replay head, which says how its training goes and learns the same as without."""

    test: Samples  # of all classes seen, the new ones included
    encode: Any  # from samples to bits
    seen: list[tuple[float, float]]

    def _updated(self, head: Head, memory: BinaryMemory, samples: Any) -> Head:
        assert isinstance(head, Replay)
        bits: PackedBits = self.encode(self.test, self.code)
        labels, names = self.test.labels, np.array(memory.labels)

        def watch(right: float, now: Replay) -> None:
            self.seen.append((right, float((names[now.scores(bits).argmax(axis=1)] == labels).mean())))

        seed = seed_for(self.seed, "head", len(self.classes))
        return head.update(memory, self._require_code(), samples, seed, on_epoch=watch)


def watch_training(prepared: Prepared, prototypes: int, seed: int, **options: Any) -> list[Epoch]:
    """Take GBM with the replay head through all tasks, and note every epoch."""
    method = WatchedGBM(prototypes=prototypes, bits=32, head="replay", objective="expected", seed=seed, **options)
    method.encode = prepared.encoder.bits
    learner, noted = FrozenLearner(method, prepared.encoder), []
    for number, task in enumerate(prepared.scenario):
        method.test, method.seen = prepared.scenario.test_seen(number), []
        learner.learn(task)
        noted += [Epoch(number, epoch, *rates) for epoch, rates in enumerate(method.seen, 1)]
    return noted


def draw_training(epochs: Sequence[Epoch], words: str) -> Figure:
    """Both curves over all epochs, one task beside the other."""
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
