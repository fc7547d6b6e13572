"""The rows of table 1 with a frozen network, over the number of tasks: the loss from T = 5 to T = 20 (sec. 4.2).

At cpu scale it uses CIFAR-100 on one network; at paper scale both data sets, with the runs of table 1. TinyImageNet
has tables of its own at smaller scales: on a network trained on its task 0, and on one pretrained on ImageNet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.experiments._difference import Difference, Floats, View, difference, difference_of
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Scale, Table
from bitreplay.experiments._networks import network_of
from bitreplay.experiments._published import EIGHT, ONE, published
from bitreplay.experiments._verdict import all_hold
from bitreplay.runs import Setting

CLOSED_FORM, RIVAL, SIMPLEST = "GBM", "FeTrIL", "NearestMean"
LEARNERS = (ONE, EIGHT, CLOSED_FORM, RIVAL, SIMPLEST)
DATASETS: dict[Scale, tuple[str, ...]] = {
    "cpu": ("cifar100",),
    "full": ("cifar100",),
    "paper": ("cifar100", "tiny_imagenet"),
}
Divisions = Mapping[int, Mapping[str, Any]]  # T, and the options of Setting that say so
# The paper's T = 20 is 40 + 20 x 3, which needs its own network. On one network, 50 classes come first for every T.
ONE_NETWORK: Divisions = {5: {"tasks": 5}, 10: {"tasks": 10}, 20: {"tasks": None, "sizes": [50, *[3, 2] * 10]}}
TWO_NETWORKS: Divisions = {5: {"tasks": 5}, 10: {"tasks": 10}, 20: {"tasks": 20}}  # sec. 4.1
LOST = {  # by table 1, what GBM with K = 8 loses from T = 5 to T = 20, as a share; sec. 4.2 says 1.6 % for TinyImageNet
    dataset: 1 - published(dataset, 20)[EIGHT] / published(dataset, 5)[EIGHT] for dataset in DATASETS["paper"]
}
SEEDS = [0, 1, 2]
SEEDS_REMARK = "Seeds are those of the learner; FeTrIL and NearestMean involve no randomness."
ONE_NETWORK_REMARK = (
    "T = 20 is 50 + 10 x (3 + 2) classes, on the same network as T = 5 and 10; the paper's is 40 + 20 x 3, whose "
    "network has seen ten fewer classes: part of its loss is due to the network."
)
PRETRAINED_REMARK = (
    "The encoder is pretrained on ImageNet, whose classes include those of TinyImageNet: it has seen all of them "
    "before task 0, and its figures cannot be compared with the published ones."
)
TINY_REMARK = (
    "If the data set here has fewer training images per class than the original's 500 (`bitreplay data` tells), the "
    "network is less accurate on task 0, and every figure starts lower."
)
CIFAR_REMARK = "The paper states the relative loss for TinyImageNet; here it is measured on CIFAR-100."


def tasks_table(
    request: Request, divisions: Divisions | None = None, dataset: str | None = None, encoder: str | None = None
) -> Outcome:
    """Run the table.

    Parameters
    ----------
    request : Request
        Scale, seeds and output folder.
    divisions : mapping of int to mapping, optional
        Numbers of tasks, and the options of the setting that produce them, instead of T = 5, 10, 20.
    dataset : str, optional
        Instead of the data sets of the scale.
    encoder : str, optional
        A pretrained one instead of the network of the scale. The paper claims nothing about those.
    """
    scale = request.scale
    one_network = dataset is None and (scale == "cpu" or request.network is not None)
    divisions = divisions or (ONE_NETWORK if one_network else TWO_NETWORKS)
    network = network_of(request) if encoder is None else {"encoder": encoder}
    tables, claims = [], []
    for name in DATASETS[scale] if dataset is None else (dataset,):
        own = {**network, "dataset": name, **request.setting}
        measured: dict[tuple[str, int], MethodRuns] = {}
        for tasks, division in divisions.items():
            found = request.methods(Setting(**{**own, **division}), LEARNERS, SEEDS)
            measured |= {(learner, tasks): method for learner, method in found.items()}
        tables.append(_table(name, measured, list(divisions)))
        claims += _claims(name, measured, min(divisions), max(divisions)) if encoder is None else []
    remarks = [
        *([PRETRAINED_REMARK] if encoder is not None else []),
        *([ONE_NETWORK_REMARK] if one_network else []),
        SEEDS_REMARK,
        *([CIFAR_REMARK] if dataset is None and scale != "paper" else []),
        *([TINY_REMARK] if dataset == "tiny_imagenet" else []),
    ]
    return Outcome(tables, claims=claims, remarks=remarks)


def _table(dataset: str, measured: Mapping[tuple[str, int], MethodRuns], tasks: Sequence[int]) -> Table:
    rows: list[list[Cell]] = []
    for learner in LEARNERS:
        row: list[Cell] = [learner]
        for t in tasks:
            value = measured[learner, t].measure(metrics.average)
            row += [
                value.mean,
                value.std,
                measured[learner, t].measure(metrics.final).mean,
                published(dataset, t).get(learner),
            ]
        rows.append([*row, _loss(measured, learner, tasks[0], tasks[-1]).mean])
    kinds = ("average", "± average", "final", "published")
    shares = [f"{kind}, T={t}" for t in tasks for kind in kinds]
    loss_column = f"relative loss T={tasks[0]} to {tasks[-1]}"
    title = f"{dataset}: average and final accuracy by number of tasks; published: average accuracy"
    columns = ["method", *shares, loss_column]
    return Table(f"tasks-{dataset}", title, columns, rows, percent=[*shares, loss_column])


def _loss(
    measured: Mapping[tuple[str, int], MethodRuns], learner: str, few: int, many: int, other: str | None = None
) -> Difference:
    """Relative loss of a learner's average accuracy from few tasks to many, minus that of another learner."""

    def losses(name: str, view: View) -> Floats:
        averages = [
            [metrics.average(view(history)) for history in measured[name, tasks].histories] for tasks in (few, many)
        ]
        return np.asarray(1 - np.divide(averages[1], averages[0]))

    def statistic(view: View) -> Floats:
        own = losses(learner, view)
        return own if other is None else own - losses(other, view)

    reached = measured[learner, few].measure(metrics.average).mean  # a loss is relative to that
    return difference_of(statistic, times=(1 if other is None else math.sqrt(2)) / reached)


def _claims(dataset: str, measured: Mapping[tuple[str, int], MethodRuns], few: int, many: int) -> list[Claim]:
    tasks = sorted({t for _, t in measured})
    over_rival = difference(measured[EIGHT, many], measured[RIVAL, many])
    closed = difference(measured[CLOSED_FORM, many], measured[RIVAL, many])
    more = {t: difference(measured[EIGHT, t], measured[ONE, t]) for t in tasks}
    ours, theirs = (_loss(measured, learner, few, many) for learner in (EIGHT, RIVAL))
    smaller = _loss(measured, RIVAL, few, many, EIGHT)
    return [
        Claim(
            f"GBM with K = 8 is better than FeTrIL at T = {many} (2.9 points on CIFAR-100, 1.5 on TinyImageNet)",
            f"{dataset}: {over_rival}; GBM in closed form: {closed}",
            over_rival.verdict,
        ),
        Claim(
            f"From T = {few} to T = {many} GBM loses little (relative: TinyImageNet 1.6 %, CIFAR-100 4.0 %)",
            f"{dataset}: {100 * ours.mean:.1f} % (± {100 * ours.margin:.1f})",
            ours.at_most(LOST[dataset]),
        ),
        Claim(
            f"From T = {few} to T = {many} GBM loses less than FeTrIL (relative on TinyImageNet: 1.6 % against 4.7 %)",
            f"{dataset}: {100 * ours.mean:.1f} % against {100 * theirs.mean:.1f} %, less by {smaller}",
            smaller.verdict,
        ),
        Claim(
            "K = 8 is better than K = 1 at every T (0.1 to 1.2 points)",
            f"{dataset}: " + ", ".join(f"T = {t}: {one}" for t, one in more.items()),
            all_hold(one.verdict for one in more.values()),
        ),
    ]


TITLE = "Table 1 over the number of tasks: the methods on a frozen network"
SHOWS = "How much accuracy is lost when the same classes come in more and smaller tasks?"
TASKS_TABLES = {
    "table-1-tasks": Experiment(
        title=TITLE,
        shows=SHOWS,
        duration={
            "cpu": "a quarter of an hour on two cores",
            "full": "an hour on one core, after two trainings",
            "paper": "hours on a GPU, after six trainings",
        },
        run=tasks_table,
        networks=({}, {"tasks": 20}),
    ),
    "table-1-tasks-tiny": Experiment(
        title=f"{TITLE}, TinyImageNet",
        shows=SHOWS,
        duration={
            "cpu": "an hour on one core, after the network's training",
            "full": "as at cpu scale, after the network's training",
            "paper": "a part of table-1-tasks",
        },
        run=partial(tasks_table, dataset="tiny_imagenet"),
        networks=({"dataset": "tiny_imagenet"},),
    ),
    "table-1-tasks-tiny-pretrained": Experiment(
        title=f"{TITLE}, TinyImageNet, pretrained encoder",
        shows=SHOWS,
        duration=dict.fromkeys(("cpu", "full", "paper"), "an hour on one core, after the features"),
        run=partial(tasks_table, dataset="tiny_imagenet", encoder="efficientnet_lite0"),
    ),
}
