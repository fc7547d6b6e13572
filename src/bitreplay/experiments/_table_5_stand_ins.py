"""Stand-ins for table 5 (sec. 5.1): its methods on other data and a smaller QuickNet, whose tap gives bits.

CORe50 and QuickNetLarge's weights are not always at hand. ETH-80 is alike (things from all sides, a category at a
time), and CIFAR-100 is larger; QuickNet v0.2 is of the same family. The paper's claims, which are about CORe50, stay
inconclusive here: what is measured stands beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.backbones import missing_v02
from bitreplay.data import advice, local_folder
from bitreplay.errors import InputError
from bitreplay.evaluation import History
from bitreplay.experiments._difference import Difference, Floats, View, difference_of, thinned
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Scale, Table
from bitreplay.experiments._verdict import Verdict
from bitreplay.runs import Setting

Measured = Mapping[tuple[str, str], Sequence[MethodRuns]]  # by name of the part and row: one for every class order

EXEMPLARS, PROTOTYPES = (75, 100, 150), (1, 4, 8)  # table 5's E and K
LATENT = [f"{name}:exemplars={e}" for name in ("LatentReplay", "LatentReplayCWR") for e in EXEMPLARS]
GENERATIVE = [f"GBM:prototypes={k},bits=32,head=replay,objective=expected" for k in PROTOTYPES]  # q = 32 as in table 5
ONE, EIGHT = GENERATIVE[0], GENERATIVE[-1]
OBJECTS = 3  # of ETH-80's test split, in every category: samples of one are alike, and come one after another


@dataclass(frozen=True)
class Part:
    """One G: how it is called, the options of every learner that trains it, its rows and the learners' seeds."""

    words: str
    options: Sequence[str]
    seeds: Sequence[int]
    rows: Sequence[str] = (*LATENT, *GENERATIVE)


@dataclass(frozen=True)
class Plan:
    """A data set with its tasks and encoder, the orders of its classes, and what is trained.

    `objects` is how many things a class shows in its test samples, if these are sorted by thing; 0 if they are not.
    """

    words: str
    setting: Mapping[str, Any]
    orders: Sequence[int]
    parts: Sequence[Part]
    remarks: Sequence[str]
    objects: int = 0


def stand_in(plans: Mapping[Scale, Plan], request: Request, options: Sequence[str] = ()) -> Outcome:
    """Run a stand-in, with more options for every learner, such as "min_steps=5"."""
    plan = plans.get(request.scale, plans["cpu"])  # no network is trained: full is as cpu
    own = {**plan.setting, **request.setting}
    _require(Setting(**own))
    measured: dict[tuple[str, str], list[MethodRuns]] = {}
    for part in plan.parts:
        names = {",".join([row, *part.options, *options]): row for row in part.rows}
        for order in plan.orders:
            for name, method in request.methods(Setting(**{**own, "order": order}), names, part.seeds).items():
                measured.setdefault((part.words, names[name]), []).append(method)
    claims = [claim for part in plan.parts for claim in _claims(plan, part, measured)]
    return Outcome([_table(plan, measured)], claims=claims, remarks=plan.remarks)


def _table(plan: Plan, measured: Measured) -> Table:
    rows: list[list[Cell]] = []
    for (words, row), methods in measured.items():
        line: list[Cell] = [words, row, len(methods), len(methods[0].seeds)]
        for metric in (metrics.average, metrics.final):
            found = [method.measure(metric) for method in methods]
            over_orders = float(np.std([one.mean for one in found], ddof=1)) if len(found) > 1 else None
            over_seeds = (
                None if found[0].std is None else float(np.mean([one.std for one in found if one.std is not None]))
            )
            line += [float(np.mean([one.mean for one in found])), over_orders, over_seeds]
        rows.append([*line, methods[0].memory, float(np.mean([method.seconds for method in methods]))])
    shares = [f"{what}{name}" for name in ("average", "final") for what in ("", "± orders, ", "± seeds, ")]
    columns = ["G", "method", "orders", "seeds", *shares, "memory", "learning"]
    return Table("stand-in", plan.words, columns, rows, shares, ["memory"], ["learning"])


def _claims(plan: Plan, part: Part, measured: Measured) -> list[Claim]:
    """Table 5's two claims, which our numbers on other data cannot decide."""
    largest, one, eight = (measured[part.words, row] for row in (_largest(part.rows), ONE, EIGHT))
    less = largest[0].memory / one[0].memory
    against = _largest(part.rows).rpartition("=")[2]
    return [
        Claim(
            "CORe50: GBM with K = 1 is 3.1 points better than LR + CWR* with its largest buffer, with 4.7 times less "
            "memory",
            f"{plan.words}, G {part.words}: against E = {against} {_difference(plan, one, largest)}, with {less:.1f} "
            "times less memory",
            Verdict.inconclusive(),
        ),
        Claim(
            "CORe50: K = 8 adds half a point to K = 1",
            f"{plan.words}, G {part.words}: {_difference(plan, eight, one)}",
            Verdict.inconclusive(),
        ),
    ]


def _largest(rows: Sequence[str]) -> str:
    """LR + CWR* with the most exemplars."""
    return [row for row in rows if row.startswith("LatentReplayCWR")][-1]


def _difference(plan: Plan, one: Sequence[MethodRuns], other: Sequence[MethodRuns]) -> Difference:
    """How much higher the final accuracy is: a value for every class order, or for every seed if there is one order."""

    def finals(methods: Sequence[MethodRuns], view: View) -> Floats:
        values = np.array([[metrics.final(view(history)) for history in method.histories] for method in methods])
        return np.asarray(values.mean(1) if len(methods) > 1 else values[0], dtype=np.float64)

    def statistic(view: View) -> Floats:
        return finals(one, view) - finals(other, view)

    return _by_object(statistic, plan.objects) if plan.objects else difference_of(statistic, kind="final")


def _by_object(statistic: Callable[[View], Floats], objects: int) -> Difference:
    """As `difference_of`, but views of a thing are left out together: they are no independent samples."""
    left_out = []
    for thing in range(objects):
        without = thinned(thing, objects)
        left_out.append(float(statistic(lambda history: without(_dealt(history, objects))).mean()))  # noqa: B023
    values = [float(value) for value in statistic(lambda history: history)]
    error = float(np.std(left_out)) * math.sqrt(objects - 1)
    return Difference(values, error, objects, over="class orders", sampled="test objects")


def _dealt(history: History, objects: int) -> History:
    """The answers of every class in another order: the first of every thing, the second of every thing, and so on."""
    answers = []
    for counts, given in zip(history.count, history.answers, strict=True):
        classes = np.split(given, np.cumsum(counts)[:-1])
        answers.append(np.concatenate([one.reshape(objects, -1).T.ravel() for one in classes]))
    return replace(history, answers=tuple(answers))


def _require(setting: Setting) -> None:
    """Report everything that is missing at once, before any long computation starts."""
    missing = []
    if setting.dataset == "eth80" and local_folder("eth80") is None:
        missing.append(f"ETH-80: {advice('eth80')}")
    if setting.encoder_name == "quicknet_v02" and "weights" not in setting.backbone_options and (text := missing_v02()):
        missing.append(text)
    if missing:
        raise InputError("this stand-in for table 5 cannot run; the following is missing.\n- " + "\n- ".join(missing))


ORDERS = (1993, 0, 1)  # of classes: the field's, and two more
SEEDS = (0, 1, 2)
ENCODER = {  # ours: at 128 px a whole data set is encoded, and behind tap 3 one binary convolution is trained, on a CPU
    "cpu": {"encoder": "quicknet_v02:image_size=128,tap=3"},
    "paper": {"encoder": "quicknet_v02:image_size=224,tap=1"},
}
ETH = {"dataset": "eth80", "sizes": [2, 1, 1, 1, 1, 1, 1]}
CIFAR = {"dataset": "cifar100", "tasks": 10}
LINEAR, TAIL = ("linear", ["architecture=linear"]), ("rest of the network", ["architecture=quicknet_tail"])
STAND_IN = (
    "A stand-in for table 5: neither CORe50 nor QuickNetLarge, but {data} and larq-zoo's QuickNet v0.2, which is "
    "smaller; its weights have seen ImageNet. The paper's claims are about other data, so they are inconclusive here."
)
TAP = (
    "Bits are the signs that {tap} convolution of the last section sees, 512 x {side} x {side} of them. G linear is "
    "one layer on them; the rest of the network is {rest}, the average over the image and a new last layer. The file "
    "has only the signs of binary weights: their latent values start at ±0.1."
)
TAPS = {
    "cpu": TAP.format(tap="the third and last binary", side=4, rest="one binary convolution"),
    "paper": TAP.format(tap="the first binary", side=7, rest="three binary convolutions"),
}
OBJECT_ERRORS = (
    "Test samples are 41 views each of three objects per category that were never learned. Intervals come from the "
    "class orders and from leaving out one object of every category at a time: views of an object are not independent."
)
EPOCHS = (
    "Training is short: {words}. No option was chosen on these data; learning rates are the library's own for signs "
    "and for QuickNet's tail."
)

ETH_PLANS: dict[Scale, Plan] = {
    "cpu": Plan(
        "ETH-80, 2 + 6 x 1 categories",
        {**ETH, **ENCODER["cpu"]},
        ORDERS,
        [
            Part(LINEAR[0], [*LINEAR[1], "min_steps=100"], SEEDS),
            Part(
                TAIL[0],
                [*TAIL[1], "epochs=1", "min_steps=20", "batch_size=32"],
                SEEDS[:1],
                [*LATENT[2:], *GENERATIVE],
            ),
        ],
        [
            STAND_IN.format(data="ETH-80"),
            TAPS["cpu"],
            EPOCHS.format(
                words="at least 100 steps of 128 samples a task for the linear layer (five epochs), one epoch in "
                "batches of 32 for the rest of the network, which is run with one seed and, of latent replay without "
                "CWR*, with E = 150 only"
            ),
            OBJECT_ERRORS,
        ],
        OBJECTS,
    ),
    "paper": Plan(
        "ETH-80, 2 + 6 x 1 categories",
        {**ETH, **ENCODER["paper"]},
        ORDERS,
        [Part(*LINEAR, SEEDS), Part(*TAIL, SEEDS)],
        [STAND_IN.format(data="ETH-80"), TAPS["paper"], OBJECT_ERRORS],
        OBJECTS,
    ),
}
CIFAR_ROWS = [f"{name}:exemplars={e}" for name in ("LatentReplay", "LatentReplayCWR") for e in (20, 75)] + GENERATIVE
CIFAR_PLANS: dict[Scale, Plan] = {
    "cpu": Plan(
        "CIFAR-100 (1 training image in 5), 50 + 10 x 5 classes",
        {**CIFAR, **ENCODER["cpu"], "every": 5},
        ORDERS[:1],
        [Part(LINEAR[0], [*LINEAR[1], "min_steps=100"], SEEDS[:1], CIFAR_ROWS)],
        [
            STAND_IN.format(data="CIFAR-100"),
            TAPS["cpu"],
            "One training image in five, 100 of every class, all test images: encoding all of them at 128 px takes too "
            "long on two busy cores. So 100 exemplars would be the whole class, and E is 20 and 75.",
            "One class order and one seed: intervals come from the test set alone.",
        ],
    ),
    "paper": Plan(
        "CIFAR-100, 50 + 10 x 5 classes",
        {**CIFAR, **ENCODER["paper"]},
        ORDERS[:1],
        [Part(*LINEAR, SEEDS), Part(*TAIL, SEEDS)],
        [STAND_IN.format(data="CIFAR-100"), TAPS["paper"]],
    ),
}

HALF_AN_HOUR = "half an hour of one core"
TABLE_5_STAND_INS = {
    "table-5-eth80": Experiment(
        title="Stand-in for table 5: ETH-80 with QuickNet v0.2, GBM against LR and LR + CWR*",
        shows="Is a generative memory better than exemplars on a binary network, where objects are new in the test?",
        duration={"cpu": HALF_AN_HOUR, "full": HALF_AN_HOUR, "paper": "hours on a GPU, not measured"},
        run=partial(stand_in, ETH_PLANS),
    ),
    "table-5-cifar100": Experiment(
        title="Stand-in for table 5: CIFAR-100 with QuickNet v0.2, GBM against LR and LR + CWR*",
        shows="The same with ten times as many classes.",
        duration={"cpu": HALF_AN_HOUR, "full": HALF_AN_HOUR, "paper": "a day on a GPU, not measured"},
        run=partial(stand_in, CIFAR_PLANS),
    ),
}
