"""Table 2: thermometer against Heaviside, at three sizes of the embedding (sec. 4.2, "Sensitivity to quantization")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Literal

import numpy as np

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay.errors import InputError
from bitreplay.evaluation import History
from bitreplay.experiments._difference import Difference, Floats, View, difference, difference_of
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import SMALL, is_trained, network_of
from bitreplay.experiments._verdict import all_hold
from bitreplay.runs import Setting

BINARIZERS, FACTORS = {"thermometer": "p", "heaviside": "f"}, (1, 2, 4)
LEARNER = "GBM:prototypes=8,bits=32,head=replay,objective=expected"
PUBLISHED = {  # table 2: train and test of task 0, train and test of the final task, for p or f = 1, 2, 4
    "thermometer": ((1.0, 0.811, 0.761, 0.579), (1.0, 0.813, 0.751, 0.577), (1.0, 0.815, 0.745, 0.567)),
    "heaviside": ((1.0, 0.811, 0.735, 0.549), (1.0, 0.810, 0.736, 0.546), (1.0, 0.807, 0.736, 0.543)),
}
ALIKE = 0.01  # sec. 4.2: "with less than 1 % difference in the performance"
SEEDS = [0, 1, 2]
REMARKS = (
    "Seeds are those of the learner. There is one network per row: the intervals allow for what another training of "
    "both networks would have changed.",
    "Train accuracy is measured on the training samples of all classes seen, including those of old tasks, which the "
    "learner itself does not see again.",
)
OPTIONAL = [("heaviside", 1), ("heaviside", 4)]  # ours: at full scale hours of training each, for one claim
LEFT_OUT = (
    "Left out, as their networks have not been trained: {cases}. `bitreplay train --dataset cifar100 --tasks 10 "
    "--encoder resnet18 --preset full --binarizer heaviside --f 1` (or 4) does, and this experiment then includes them."
)
CPU_REMARK = "At cpu scale the network is slim and trained for few epochs; D is four times smaller than the paper's."

Case = tuple[str, int]  # binarizer, p or f
Part = Literal["train", "test"]


def binarizer_table(request: Request) -> Outcome:
    """Run the table."""
    if request.network is not None:
        raise InputError("table-2 compares six networks, trained with different binarizers: --network gives one")
    measured: dict[Case, MethodRuns] = {}
    sizes: dict[Case, int] = {}
    left_out = []
    for binarizer, factor in product(BINARIZERS, FACTORS):
        setting = Setting(**{**network_of(request, SMALL), **request.setting, **_varied(binarizer, factor)})
        if request.scale == "full" and (binarizer, factor) in OPTIONAL and not is_trained(setting):
            left_out.append(f"{binarizer}, {BINARIZERS[binarizer]} = {factor}")
            continue
        runs = request.compare(setting, [LEARNER], SEEDS, train_accuracy=True)
        [measured[binarizer, factor]] = gather([run.result() for run in runs])
        sizes[binarizer, factor] = runs[0].memory().n_features
    remarks = [*REMARKS, *([CPU_REMARK] if request.scale == "cpu" else [])]
    remarks += [LEFT_OUT.format(cases="; ".join(left_out))] if left_out else []
    return Outcome([_table(measured, sizes)], claims=_claims(measured), remarks=remarks)


def _varied(binarizer: str, factor: int) -> dict[str, Any]:
    """The network of a row, by what differs from the scale's."""
    return {"binarizer": binarizer, BINARIZERS[binarizer]: factor}


def _accuracy(history: History, state: int, part: Part) -> float:
    return float(metrics.per_state(history, part)[state])


def _table(measured: Mapping[Case, MethodRuns], sizes: Mapping[Case, int]) -> Table:
    columns: dict[str, tuple[int, Part]] = {
        "train initial": (0, "train"),
        "test initial": (0, "test"),
        "train final": (-1, "train"),
        "test final": (-1, "test"),
    }
    rows: list[list[Cell]] = []
    for rank, factor in enumerate(FACTORS):
        for binarizer, letter in BINARIZERS.items():
            if (method := measured.get((binarizer, factor))) is None:
                continue
            row: list[Cell] = [f"GBM^{binarizer[0].upper()}, {letter} = {factor}", sizes[binarizer, factor]]
            for (state, part), published in zip(columns.values(), PUBLISHED[binarizer][rank], strict=True):
                reached = [_accuracy(history, state, part) for history in method.histories]
                row += [sum(reached) / len(reached), published]
            rows.append(row)
    shares = [name for column in columns for name in (column, f"published {column}")]
    title = "Accuracy on all classes seen, after the initial and the final task; published: D = 512, 1024, 2048"
    return Table("binarizers", title, ["binarizer", "D", *shares], rows, percent=shares)


def _initial(history: History) -> float:
    return _accuracy(history, 0, "test")


def _claims(measured: Mapping[Case, MethodRuns]) -> list[Claim]:
    final = metrics.final
    least, most = min(FACTORS), max(FACTORS)
    thermometer, heaviside = ({n: measured[name, n] for n in FACTORS if (name, n) in measured} for name in BINARIZERS)
    over = {n: difference(thermometer[n], one, final, "different") for n, one in heaviside.items()}
    lost = difference(thermometer[least], thermometer[most], final, "different")
    gained = difference(thermometer[most], thermometer[least], _initial, "different")
    tasks = (("initial", _initial), ("final", final)) if len(heaviside) > 1 else ()
    ranges = {name: _range([*heaviside.values()], one) for name, one in tasks}
    return [
        Claim(
            "The thermometer always yields better performance than Heaviside (3 points in the final task)",
            ", ".join(f"p = f = {factor}: {one}" for factor, one in over.items()),
            all_hold(one.verdict for one in over.values()),
        ),
        Claim(
            "More thermometer bits cost accuracy in the final task (1.2 points from p = 1 to p = 4)",
            f"p = {least} against p = {most}: {lost}",
            lost.verdict,
        ),
        Claim(
            "More thermometer bits marginally improve the initial task (0.4 points from p = 1 to p = 4)",
            f"p = {most} against p = {least}: {gained}",
            gained.verdict,
        ),
        Claim(
            "Heaviside does not depend on the size of the embedding: less than 1 % difference",
            ", ".join(f"{name} task: {spread}" for name, spread in ranges.items()) or "of one size only",
            all_hold(spread.at_most(ALIKE) for spread in ranges.values()),
        ),
    ]


def _range(methods: list[MethodRuns], metric: Callable[[History], float]) -> Difference:
    """Difference between the best and the worst, per seed."""

    def statistic(view: View) -> Floats:
        return np.asarray(np.ptp([[metric(view(history)) for history in one.histories] for one in methods], axis=0))

    return difference_of(statistic, "different", "final" if metric is metrics.final else "state")


TABLE_2 = Experiment(
    title="Thermometer against Heaviside, at three sizes of the embedding (table 2)",
    shows="Which binarizer, and how many bits?",
    duration={
        "cpu": "a quarter of an hour on two cores, plus the same to train the networks",
        "full": "an hour, plus a first phase, three second ones and a training with Heaviside",
        "paper": "an hour, plus six trainings of the network on a GPU",
    },
    run=binarizer_table,
    networks=tuple(_varied(*case) for case in product(BINARIZERS, FACTORS) if case not in OPTIONAL),
    optional_networks=tuple(_varied(*case) for case in OPTIONAL),
)
