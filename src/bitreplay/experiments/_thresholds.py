"""Beyond the paper: thresholds calibrated behind a trained network, over p, K, q and heads, beside other methods.

A thermometer that is trained with the network has fixed thresholds, to which the network adapts on the classes of task
0. Here they are dropped, and quantiles of task 0's features taken instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.experiments._difference import difference
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import network_of
from bitreplay.experiments._verdict import Verdict, all_hold
from bitreplay.runs import Setting

Source = Literal["trained", "calibrated", "random projection"]
Head = Literal["closed_form", "replay", "bayes"]
WORDS: Mapping[Head, str] = {"closed_form": "closed form", "replay": "replay", "bayes": "posterior"}


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
        code = {
            "trained": "",
            "calibrated": f",p={self.p}",
            "random projection": f",binarizer=heaviside,f={self.p}",
        }[self.source]
        return f"GBM:{options}{code}" + ("" if self.head == "closed_form" else f",head={self.head}")


PROTOTYPES, VALUES = (1, 8, 16), (3, 4, 8)  # K, q
SMALLEST, BEST, TRAINED = Bits("calibrated", 1, 8, 3), Bits("calibrated", 2, 16, 4), Bits("trained", 1, 8, 3)
SIZES = ((8, 3), (16, 4))  # K and q where not all are shown
POINTS = (
    *(Bits("trained", 1, k, q) for k, q in product(PROTOTYPES, VALUES)),
    *(Bits("calibrated", p, k, q) for p, k, q in product((1, 2), PROTOTYPES, VALUES)),
    *(Bits("calibrated", 4, k, q) for k, q in SIZES),
    *(Bits("random projection", f, k, q) for f, (k, q) in zip((1, 2), SIZES, strict=True)),
    *(replace(bits, head=head) for bits in (TRAINED, SMALLEST) for head in ("replay", "bayes")),
)
RIVAL = "FeCAM"
RIVALS = (RIVAL, "StreamingLDA", "FeTrIL", "NearestMean")
NEAR, TIMES = 0.005, 100  # ours: half a point, and a hundredth of the memory
SEEDS = [0, 1, 2]
REMARKS = (
    "Trained: the thermometer that the network was trained with, p = 1. Calibrated: the same network, whose features "
    "are compared with p quantiles of task 0's features. Random projection: Heaviside bits of an untrained projection "
    "to p times as many values, compared with their medians in task 0. No later task changes a threshold.",
    "Blend and ridge of the closed form and the posterior's clamp are chosen on a fifth of task 0's training samples; "
    "p, K and q are all shown. The claims are ours. Their p = 2, K = 16, q = 4 comes from a prototype that was "
    "measured on the same test images with ResNet-18: neighbouring rows show how much depends on that choice.",
    "Seeds are those of the learner; other methods involve no randomness, and use the features of the same network.",
)


def thresholds(request: Request, points: Sequence[Bits] = POINTS) -> Outcome:
    """Run the table; `points` must include those that the claims are about."""
    own = Setting(**{**network_of(request), **request.setting})
    measured: dict[Bits, MethodRuns] = {}
    for is_trained, setting in ((True, own), (False, replace(own, binarizer="calibrated"))):
        learners = {point.learner: point for point in points if (point.source == "trained") is is_trained}
        for name, method in request.methods(setting, learners, SEEDS).items():
            measured[learners[name]] = method
    rivals = request.methods(own, RIVALS, SEEDS)
    return Outcome([_table(measured, rivals)], claims=_claims(measured, rivals), remarks=REMARKS)


def _table(measured: Mapping[Bits, MethodRuns], rivals: Mapping[str, MethodRuns]) -> Table:
    rows: list[list[Cell]] = [
        [f"GBM, {at.source}", at.p, at.prototypes, at.bits, WORDS[at.head], *_numbers(method)]
        for at, method in measured.items()
    ]
    rows += [[name, None, None, None, None, *_numbers(method)] for name, method in rivals.items()]
    shares = ["average", "± average", "final", "± final"]
    columns = ["thresholds", "p", "K", "q", "head", *shares, "memory", "working set", "learning"]
    title = "Accuracy and memory by thresholds, p, K, q and head, beside other methods on the same network"
    return Table("thresholds", title, columns, rows, shares, ["memory", "working set"], ["learning"])


def _numbers(method: MethodRuns) -> list[Cell]:
    average, final = method.measure(metrics.average), method.measure(metrics.final)
    return [*average, *final, method.memory, method.working_set, method.seconds]


def _claims(measured: Mapping[Bits, MethodRuns], rivals: Mapping[str, MethodRuns]) -> list[Claim]:
    best, rival = measured[BEST], rivals[RIVAL]
    behind = difference(rival, best, metrics.final)
    smaller = rival.memory / best.memory
    gains = {
        name: difference(measured[SMALLEST], measured[TRAINED], metric)
        for name, metric in (("average", metrics.average), ("final", metrics.final))
    }
    more = difference(measured[BEST], measured[SMALLEST], metrics.final)
    return [
        Claim(
            f"Ours: calibrated thresholds with {_named(BEST)} end within 0.5 points of {RIVAL} with at most a "
            "hundredth of its memory",
            f"{RIVAL} is ahead by {behind} in the end, with {smaller:.0f} times the memory",
            all_hold([behind.at_most(NEAR), Verdict.fact(smaller >= TIMES)]),
        ),
        Claim(
            f"Ours: calibrated thresholds are better than trained ones at {_named(SMALLEST)}",
            ", ".join(f"{name}: {gain}" for name, gain in gains.items()),
            all_hold(gain.verdict for gain in gains.values()),
        ),
        Claim(
            f"Ours: calibrated, {_named(BEST)} ends better than {_named(SMALLEST)}",
            str(more),
            more.verdict,
        ),
    ]


def _named(at: Bits) -> str:
    return f"p = {at.p}, K = {at.prototypes}, q = {at.bits}"


THRESHOLDS = Experiment(
    title="Thresholds calibrated behind a trained network, over p, K, q and heads (not in the paper)",
    shows="Are thresholds from task 0's features better than those trained with the network, and how many bits pay?",
    duration={
        "cpu": "half an hour on two cores",
        "full": "half an hour on one core, after the network's training",
        "paper": "an hour after the network's training",
    },
    run=thresholds,
    networks=({},),
)
