"""Beyond the paper: average accuracy against memory for all methods on a frozen encoder, and which are on the front."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from bitreplay import metrics
from bitreplay._pages.look import BOUND, COLOURS, FAINT, INK, LOOK, MARKERS, PAPER, bits_scale, figure, heading, quiet
from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.words import setting_in_words
from bitreplay.experiments._difference import difference
from bitreplay.experiments._experiment import Cell, Claim, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import network_of
from bitreplay.experiments._published import ONE
from bitreplay.experiments._verdict import Verdict
from bitreplay.runs import Setting

# A linear G trained by SGD: 0.1 costs latent replay a point, 0.003 costs GBM three
# (results/choices/replay_rates_resnet18.txt, held-out samples of task 0).
RATE = "learning_rate=0.03"
LARGEST = f"LatentReplayCWR:exemplars=150,{RATE}"  # the buffer that table 5 compares with GBM of one prototype

# Every method on a frozen encoder, in the sizes that it can have: one list, for the order of the legend too.
FAMILIES: dict[str, tuple[str, ...]] = {
    "GBM, closed form": tuple(f"GBM:prototypes={k},bits={q}" for k, q in product((1, 2, 4, 8, 16), (1, 2, 3, 4, 8))),
    "GBM, replay": (
        *(f"GBM:prototypes={k},bits={q},head=replay,{RATE}" for k, q in ((1, 3), (1, 8), (8, 3), (8, 8))),
        ONE,
    ),
    "GBM, posterior": tuple(f"GBM:prototypes={k},bits={q},head=bayes" for k, q in ((1, 3), (1, 8), (8, 3), (8, 8))),
    "LatentReplay": tuple(f"LatentReplay:exemplars={e},{RATE}" for e in (1, 5, 20, 50, 100)),
    "LatentReplayCWR": (*(f"LatentReplayCWR:exemplars={e},{RATE}" for e in (5, 20, 100)), LARGEST),
    "NearestMean": ("NearestMean",),
    "FeTrIL": ("FeTrIL",),
    "GaussianReplay": tuple(f"GaussianReplay:covariance={c}" for c in ("diagonal", "full")),
    "StreamingLDA": ("StreamingLDA",),
    "FeCAM": ("FeCAM",),
    "RandomRidge": tuple(f"RandomRidge:width={w}" for w in (512, 1024, 4096)),
    "FineTuning": ("FineTuning",),  # the bounds
    "Joint": ("Joint",),
}
# With thresholds calibrated on task 0 instead of those trained with the network: K, q and bits per feature.
CALIBRATED = tuple(
    f"GBM:prototypes={k},bits={q},p={p}" for k, q, p in ((1, 3, 1), (8, 3, 1), (8, 3, 2), (16, 4, 2), (16, 4, 4))
)
CALIBRATED_FAMILY, CALIBRATED_NAME = "GBM, calibrated", " (calibrated)"
SEEDS = [0]
APART = 1.6  # times the memory of the last point with a name, for another name
FRONT = {True: "yes", False: "", None: "bound"}
REMARKS = (
    "On the front: no other method is as accurate with as few bits. Bounds are excluded. With one seed, neighbours "
    "on the front that differ by a few tenths of a point may swap places.",
    "Memory is what is stored for old classes, as the paper counts it; the weights and factors of the classifier that "
    "are read for a decision are the working set.",
)


@dataclass(frozen=True)
class Point:
    """A method at one size."""

    family: str
    method: MethodRuns

    @property
    def accuracy(self) -> float:
        """Average over the states, mean over the seeds."""
        return self.method.measure(metrics.average).mean

    @property
    def memory(self) -> float:
        """Bits in the end."""
        return self.method.memory


def front(costs: Sequence[float], gains: Sequence[float]) -> list[bool]:
    """Points that no other point dominates: at most the same cost and at least the same gain, one of them better.

    Examples
    --------
    >>> front([1, 2, 2, 3], [0.5, 0.7, 0.6, 0.7])
    [True, True, False, False]
    """
    points = list(zip(costs, gains, strict=True))
    return [not any(c <= cost and g >= gain and (c, g) != (cost, gain) for c, g in points) for cost, gain in points]


def pareto(
    request: Request, families: Mapping[str, Sequence[str]] = FAMILIES, calibrated: Sequence[str] = CALIBRATED
) -> Outcome:
    """Run all methods in all sizes; `families` must include the two learners that the claim is about."""
    setting = Setting(**{**network_of(request), **request.setting})
    family_of = {learner: family for family, learners in families.items() for learner in learners}
    points = [Point(family_of[name], method) for name, method in request.methods(setting, family_of, SEEDS).items()]
    for name, method in request.methods(replace(setting, binarizer="calibrated"), calibrated, SEEDS).items():
        points.append(Point(CALIBRATED_FAMILY, replace(method, name=name + CALIBRATED_NAME)))
    competing = [point for point in points if point.method.bound is None]
    best = front([point.memory for point in competing], [point.accuracy for point in competing])
    on_front = [point for point, is_best in zip(competing, best, strict=True) if is_best]
    words = (
        "Average accuracy against bits stored for old classes, for all methods on one frozen network; the front is best"
    )
    drawing = Drawing(_draw(points, on_front), "pareto", words)
    methods = {point.method.name: point.method for point in points}
    return Outcome([_table(points, on_front)], [drawing], _claims(methods), [_finding(on_front), *REMARKS])


def _table(points: Sequence[Point], on_front: Sequence[Point]) -> Table:
    rows: list[list[Cell]] = []
    for point in sorted(points, key=lambda point: (point.memory, -point.accuracy)):
        place = None if point.method.bound else point in on_front
        final = point.method.measure(metrics.final).mean
        rows.append([point.method.name, point.memory, point.accuracy, final, point.method.working_set, FRONT[place]])
    columns = ["method", "memory", "average", "final", "working set", "on the front"]
    title = "All methods on a frozen encoder, by memory"
    return Table("pareto", title, columns, rows, columns[2:4], ["memory", "working set"])


def _claims(methods: Mapping[str, MethodRuns]) -> list[Claim]:
    """The claim of table 5, on this network: CORe50 and QuickNet's weights are not always available."""
    one, largest = methods[ONE], methods[LARGEST]
    better = difference(one, largest, metrics.final)
    return [
        Claim(
            "GBM with K = 1 ends up better than LR + CWR* with E = 150, with 4.7 times less memory (table 5, on "
            "CORe50)",
            f"{better}, with {largest.memory / one.memory:.1f} times less memory",
            Verdict.inconclusive(),  # the paper's claim is about CORe50, with E = 150 of 2,400 samples a class
        )
    ]


def _finding(on_front: Sequence[Point]) -> str:
    counts = Counter(point.family for point in on_front)
    listed = ", ".join(f"{family}: {count}" for family, count in counts.most_common())
    return f"Of {len(on_front)} points on the front, by method: {listed}."


def _draw(points: Sequence[Point], on_front: Sequence[Point]) -> Figure:
    """Methods that store nothing cannot be shown on a logarithmic scale: they are named below it."""
    drawn = [point for point in points if point.memory > 0]
    nothing = [f"{point.method.name} {100 * point.accuracy:.1f} %" for point in points if point.memory == 0]
    ordered = sorted((point for point in on_front if point.memory > 0), key=lambda point: point.memory)
    memories = [point.memory for point in drawn]
    with matplotlib.rc_context(LOOK):
        made = figure(4.6)
        axes = made.subplots()
        axes.set_xscale("log")
        steps = [(point.memory, 100 * point.accuracy) for point in ordered]
        across = [*steps, (max(memories), steps[-1][1])]  # no method beyond is better
        axes.plot(
            *zip(*across, strict=True), color=INK, linewidth=1, drawstyle="steps-post", zorder=1, label="the front"
        )
        for index, family in enumerate(dict.fromkeys(point.family for point in drawn)):
            mine = [point for point in drawn if point.family == family]
            bound = mine[0].method.bound is not None
            colour = BOUND if bound else COLOURS[index % len(COLOURS)]
            hollow = index >= len(COLOURS) and not bound  # the colours' second turn
            axes.scatter(
                [point.memory for point in mine],
                [100 * point.accuracy for point in mine],
                s=34,
                color=PAPER if hollow else colour,
                edgecolors=colour if hollow else PAPER,
                linewidths=1.3 if hollow else 0.6,
                marker=MARKERS[index % len(MARKERS)],
                label=f"{family} (upper bound)" if bound else family,
                zorder=2,
            )
        _name_sizes(axes, ordered)
        bits_scale(axes, min(memories), max(memories))
        axes.set_xlim(left=min(memories) / 2.5)  # room for the first name
        quiet(axes)
        axes.set_xlabel("memory of old classes, bits" + (f"\nkeeps nothing: {', '.join(nothing)}" if nothing else ""))
        axes.set_ylabel("average accuracy (%)")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8.5, handletextpad=0.4, labelspacing=0.55)
        setting = setting_in_words([points[0].method])
        heading(made, "Accuracy against memory", f"{setting} · numbers at the front: K, q and p (or E)")
    return made


def _name_sizes(axes: Any, ordered: Sequence[Point]) -> None:
    """Sizes next to the points of the front, as many as fit; the table has all of them."""
    last = 0.0
    for point in ordered:
        if point.memory >= APART * last:
            place = (point.memory, 100 * point.accuracy)
            words = {"fontsize": 7, "color": FAINT, "ha": "right"}
            axes.annotate(_size(point.method.name), place, (-3, 4), textcoords="offset points", zorder=3, **words)
            last = point.memory


def _size(learner: str) -> str:
    """The numbers among a learner's options: K and q, or E."""
    options = learner.removesuffix(CALIBRATED_NAME).partition(":")[2]
    values = (part.partition("=")[2] for part in options.split(","))
    return ", ".join(value for value in values if value.isdigit())


PARETO = Experiment(
    title="Accuracy against memory for all methods on a frozen encoder (not in the paper)",
    shows="Which method is best for a given number of bits?",
    duration={
        "cpu": "a quarter of an hour on two cores",
        "full": "half an hour on one core, after the network's training",
        "paper": "two hours after the network's training",
    },
    run=pareto,
    networks=({},),
)
