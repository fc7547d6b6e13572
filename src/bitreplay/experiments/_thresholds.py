"""Beyond the paper: thresholds calibrated behind a trained network, over p, K, q and heads, beside other methods.

A thermometer that is trained with the network has fixed thresholds, to which the network adapts on the classes of task
0. Here they are dropped, and quantiles of task 0's features taken instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.experiments._difference import Difference, difference, difference_of
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import check_thermometer, network_of
from bitreplay.experiments._verdict import Verdict, all_hold
from bitreplay.runs import PLAIN_FOLDER, Prepared, Setting, Specification
from bitreplay.training import TrainingChanges

Source = Literal["trained", "added", "calibrated", "calibrated, plain network", "random projection"]
Head = Literal["closed_form", "replay", "bayes"]
WORDS: Mapping[Head, str] = {"closed_form": "closed form", "replay": "replay", "bayes": "posterior"}
OWN: tuple[Source, ...] = ("trained", "added")  # thresholds that the network comes with, and with them its p


@dataclass(frozen=True)
class Bits:
    """A point of the table: whose thresholds, bits per feature, prototypes, bits per value, and the head."""

    source: Source
    p: int
    prototypes: int
    bits: int
    head: Head = "closed_form"

    @property
    def learner(self) -> str:
        """The learner; a trained network has its own p."""
        options = f"prototypes={self.prototypes},bits={self.bits}"
        if self.source == "random projection":
            options += f",binarizer=heaviside,f={self.p}"
        elif self.source not in OWN:
            options += f",p={self.p}"
        return f"GBM:{options}" + ("" if self.head == "closed_form" else f",head={self.head}")

    def __str__(self) -> str:
        return f"p = {self.p}, K = {self.prototypes}, q = {self.bits}"


PROTOTYPES, VALUES = (1, 8, 16), (3, 4, 8)  # K, q
SMALLEST, BEST, TRAINED = Bits("calibrated", 1, 8, 3), Bits("calibrated", 2, 16, 4), Bits("trained", 1, 8, 3)
PLAIN = replace(BEST, source="calibrated, plain network")
SIZES = ((8, 3), (16, 4))  # K and q where not all are shown
POINTS = (
    *(Bits("trained", 1, k, q) for k, q in product(PROTOTYPES, VALUES)),
    *(Bits("added", 1, k, q) for k, q in SIZES),
    *(Bits("calibrated", p, k, q) for p, k, q in product((1, 2), PROTOTYPES, VALUES)),
    *(Bits("calibrated", 4, k, q) for k, q in SIZES),
    *(Bits(PLAIN.source, p, k, q) for p, (k, q) in product((1, 2, 4), SIZES)),
    *(Bits("random projection", f, k, q) for f, (k, q) in zip((1, 2), SIZES, strict=True)),
    *(replace(bits, head=head) for bits in (TRAINED, SMALLEST, BEST, PLAIN) for head in ("replay", "bayes")),
)
RIVAL = "FeCAM"
RIVALS = (RIVAL, "StreamingLDA", "FeTrIL", "NearestMean")
NEAR, TIMES = 0.005, 100  # ours: half a point, and a hundredth of the memory
HELD_OUT = 5  # one in so many samples of task 0
SEEDS = [0, 1, 2]
REMARKS = (
    "Trained: the thermometer that the network was trained with, p = 1. Added: the same thermometer on the plain "
    "network, without the phase that trains with it. Calibrated: the network after that phase, whose features are "
    "compared with p quantiles of task 0's features; or the plain network, which was never trained with a "
    "thermometer. Random projection: Heaviside bits of an untrained projection to p times as many values, compared "
    "with their medians in task 0. No later task changes a threshold.",
    "Held out: accuracy on every fifth training sample of each class of task 0, when GBM has learned the others. The "
    "network has seen all of them, so that these are higher than on test images, most of all with the thresholds that "
    "it was trained with: they choose p, K, q and the head, but not the thresholds. Blend and ridge of the closed form "
    "and the posterior's clamp are always chosen on a fifth of task 0's training samples.",
    "The claims are ours. Their p = 2, K = 16, q = 4 comes from a prototype that was measured on the same test images "
    "with ResNet-18; the first claim is about what held-out samples of task 0 choose instead.",
    "Seeds are those of the learner; other methods involve no randomness, and use the features of the plain network, "
    "if there is one.",
)


def thresholds(request: Request, points: Sequence[Bits] = POINTS) -> Outcome:
    """Run the table; `points` must include those that the claims are about."""
    check_thermometer(request, TRAINED.p)
    settings = _settings(request)
    measured: dict[Bits, MethodRuns] = {}
    held_out: dict[Bits, float] = {}
    seed = (request.seeds or SEEDS)[0]
    for source, setting in settings.items():
        learners = {point.learner: point for point in points if point.source == source}
        for name, method in request.methods(setting, learners, SEEDS).items():
            measured[learners[name]] = method
        prepared = Prepared(setting)
        held_out |= {point: held_out_accuracy(prepared, name, seed) for name, point in learners.items()}
    rivals = request.methods(settings["trained"], RIVALS, SEEDS)
    chosen = choose(measured, held_out, rivals[RIVAL].memory / TIMES)
    title = "Accuracy and memory by thresholds, p, K, q and head, beside other methods on the same network"
    words = f"What held-out samples of task 0 choose for every kind of thresholds, in a hundredth of {RIVAL}'s memory"
    best = {point: measured[point] for point in chosen.values()}
    tables = [_table("thresholds", title, measured, held_out, rivals), _table("chosen", words, best, held_out, rivals)]
    return Outcome(tables, claims=_claims(measured, rivals, chosen.get(BEST.source)), remarks=REMARKS)


def _settings(request: Request) -> dict[Source, Setting]:
    """The network of the request with the thresholds of every source; the plain network if there is one."""
    own = Setting(**{**network_of(request), **request.setting})
    dropped = replace(own, binarizer="calibrated")
    found: dict[Source, Setting] = {"trained": own, "calibrated": dropped, "random projection": dropped}
    if own.trains:
        untrained: TrainingChanges = {**(own.training or {}), "ste_epochs": 0}
        found |= {"added": replace(own, training=untrained), PLAIN.source: replace(own, binarizer="none")}
    elif (plain := Path(own.encoder_name) / PLAIN_FOLDER).is_dir():
        found[PLAIN.source] = replace(own, encoder=str(plain))
    return found


def held_out_accuracy(prepared: Prepared, learner: str, seed: int) -> float:
    """Accuracy on a fifth of task 0's training samples, after learning the others: no test sample is used."""
    task = prepared.scenario[0]
    held = np.zeros(len(task.train), dtype=np.bool_)
    for label in task.classes:
        held[np.flatnonzero(task.train.labels == label)[::HELD_OUT]] = True
    made = Specification.parse(learner).learner(prepared, seed)
    made.learn(replace(task, train=task.train.subset(~held)))
    asked = task.train.subset(held)
    return float((np.asarray(made.predict(asked)) == asked.labels).mean())


def choose(measured: Mapping[Bits, MethodRuns], held_out: Mapping[Bits, float], budget: float) -> dict[Source, Bits]:
    """The point of every source that is best on held-out samples, of those that fit the budget of bits."""
    fitting = [point for point, method in measured.items() if method.memory <= budget]
    order = sorted(fitting, key=lambda point: (held_out[point], -measured[point].memory))
    return {point.source: point for point in order}


def _table(
    name: str,
    title: str,
    measured: Mapping[Bits, MethodRuns],
    held_out: Mapping[Bits, float],
    rivals: Mapping[str, MethodRuns],
) -> Table:
    rows: list[list[Cell]] = [
        [f"GBM, {at.source}", at.p, at.prototypes, at.bits, WORDS[at.head], held_out[at], *_numbers(method)]
        for at, method in measured.items()
    ]
    rows += [[name, *[None] * 5, *_numbers(method)] for name, method in rivals.items()]
    shares = ["held out", "average", "± average", "final", "± final"]
    columns = ["thresholds", "p", "K", "q", "head", *shares, "memory", "working set", "learning"]
    return Table(name, title, columns, rows, shares, ["memory", "working set"], ["learning"])


def _numbers(method: MethodRuns) -> list[Cell]:
    average, final = method.measure(metrics.average), method.measure(metrics.final)
    return [*average, *final, method.memory, method.working_set, method.seconds]


def _claims(measured: Mapping[Bits, MethodRuns], rivals: Mapping[str, MethodRuns], chosen: Bits | None) -> list[Claim]:
    gains = {
        name: difference(measured[SMALLEST], measured[TRAINED], metric)
        for name, metric in (("average", metrics.average), ("final", metrics.final))
    }
    more = difference(measured[BEST], measured[SMALLEST], metrics.final)
    near = [
        Claim(
            f"Ours: {words} end within 0.5 points of {RIVAL} with at most a hundredth of its memory",
            *_near(measured[point], rivals[RIVAL]),
        )
        for point, words in (
            (chosen, "calibrated thresholds with options chosen on task 0 alone"),
            (BEST, f"calibrated thresholds with {BEST}"),
        )
        if point is not None
    ]
    plain = [_over(measured[PLAIN], measured[BEST])] if PLAIN in measured else []
    return [
        *near,
        Claim(
            f"Ours: calibrated thresholds are better than trained ones at {SMALLEST}",
            ", ".join(f"{name}: {gain}" for name, gain in gains.items()),
            all_hold(gain.verdict for gain in gains.values()),
        ),
        Claim(f"Ours: calibrated, {BEST} ends better than {SMALLEST}", str(more), more.verdict),
        *(
            Claim(
                f"Ours: calibrated, {BEST} ends better on a network that was never trained with a thermometer",
                str(gain),
                gain.verdict,
            )
            for gain in plain
        ),
    ]


def _over(plain: MethodRuns, trained: MethodRuns) -> Difference:
    """How much better the end is on the network before its second phase, with what that phase may change."""
    pairs = list(zip(plain.histories, trained.histories, strict=True))
    return difference_of(lambda view: [metrics.final(view(a)) - metrics.final(view(b)) for a, b in pairs], kind="plain")


def _near(method: MethodRuns, rival: MethodRuns) -> tuple[str, Verdict]:
    behind, smaller = difference(rival, method, metrics.final), rival.memory / method.memory
    words = f"{RIVAL} is ahead by {behind} in the end, with {smaller:.0f} times the memory"
    return words, all_hold([behind.at_most(NEAR), Verdict.fact(smaller >= TIMES)])


THRESHOLDS = Experiment(
    title="Thresholds calibrated behind a trained network, over p, K, q and heads (not in the paper)",
    shows="Are thresholds from task 0's features better than those trained with the network, and how many bits pay?",
    duration={
        "cpu": "an hour on two cores",
        "full": "two hours on one core, after the network's training",
        "paper": "two hours after the network's training",
    },
    run=thresholds,
    networks=({},),
)
