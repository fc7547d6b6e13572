"""Table 1: GBM against replay, regularization and prototype methods (sec. 4.2, "Comparison with the State-of-the-art").

At cpu scale all methods learn 20 classes of CIFAR-100 with small networks, and only their ranking is compared. At paper
scale it covers the paper's six columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay._pages.numbers import points
from bitreplay.data import describe_sizes
from bitreplay.evaluation import RunResult
from bitreplay.experiments._difference import Difference, difference
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Scale, Table
from bitreplay.experiments._methods_table import methods_table
from bitreplay.experiments._networks import NETWORK
from bitreplay.experiments._published import COLUMNS, EIGHT, HEAVISIDE, ONE, published
from bitreplay.experiments._retraining import Networks
from bitreplay.experiments._stopped import STOPPED, stopped
from bitreplay.experiments._verdict import Verdict, all_hold
from bitreplay.learners import LEARNERS
from bitreplay.runs import Setting

METHODS = (  # the paper's rows, its GBM with one prototype and eight, and around them what this library has besides
    "FullFineTuning",
    "FullJoint",
    "iCaRL",
    "iCaRL:output=nme",
    "EEIL",
    "LUCIR",
    "LwF-MC",
    "EWC",
    "PASS",
    "IL2A",
    "FeTrIL",
    ONE,
    EIGHT,
    "GBM",
    "TrainableGBM",
    "FineTuning",
    "Joint",
    "NearestMean",
    "FeCAM",
    "StreamingLDA",
    "RandomRidge",
)
# Ours: real images, and all methods trained for as many epochs; sized for half an hour a seed on two cores.
SMALL_TASKS = {"classes": 20, "base": 10, "increment": 2, "image_size": 24, "encoder": "resnet18", "preset": "small"}
SETTING: Mapping[Scale, Mapping[str, Any]] = {**NETWORK, "cpu": {"dataset": "cifar100", **SMALL_TASKS}}
FINE_TUNED = "FullFineTuning"
SINGLE = ("PASS", "IL2A", "FeTrIL", ONE + HEAVISIDE)  # K = 1 in table 1, besides GBM^T_1
FAMILIES = {  # the categories of table 1; GBM with one prototype and with eight is one here
    "replay": ("iCaRL", "EEIL", "LUCIR"),
    "regularization": ("LwF-MC", "EWC"),
    "prototype": ("PASS", "IL2A", "FeTrIL"),
    "GBM": (ONE + HEAVISIDE, ONE, EIGHT + HEAVISIDE, EIGHT),
}
SETTINGS: dict[Scale, tuple[tuple[str, int], ...]] = {  # data set and T, the paper's columns next to ours
    "cpu": (("cifar100", 5),),  # five increments, but of 20 classes
    "full": (("cifar100", 10),),
    "paper": COLUMNS,
}
SEEDS = {"cpu": [0], "full": [0], "paper": [0, 1, 2]}
REMARKS: dict[Scale, tuple[str, ...]] = {
    "cpu": (
        "20 classes, small images and networks, few epochs: the ranking may be compared with the paper, the numbers "
        "may not. The paper's places are those of CIFAR-100 with T = 5.",
        "All methods that train the network use the same number of epochs here, not those of their authors.",
    ),
    "full": ("All methods that train the network do so for the epochs of preset full, not those of their authors.",),
    "paper": ("Every method trains as its authors did; the paper does not say how it trained the other methods.",),
}


@dataclass(frozen=True)
class _Column:
    """What was measured under one setting."""

    name: str
    results: Sequence[RunResult]
    published: Mapping[str, float]  # the paper's column

    @property
    def methods(self) -> dict[str, MethodRuns]:
        return {method.name: method for method in gather(self.results)}

    def best(self, names: Sequence[str]) -> MethodRuns:
        """The best of some methods."""
        return max((self.methods[name] for name in names if name in self.methods), key=_average)


def main_table(request: Request, learners: Sequence[str] | None = None) -> Outcome:
    """Run the table, or only `learners`, which must include those that the claims are about."""
    scale = request.scale
    columns = []
    for dataset, tasks in SETTINGS[scale]:
        varied = {"dataset": dataset, "tasks": tasks} if scale != "cpu" else {}  # sec. 4.1: T says how task 0 is cut
        own = {**SETTING[scale], **varied, **request.setting}
        runs = request.compare(Setting(**own), learners or METHODS, SEEDS[scale])
        results = [run.result() for run in runs]
        for run in request.compare(Setting(**{**own, "binarizer": "heaviside"}), [ONE, EIGHT], SEEDS[scale]):
            one = run.result()
            results.append(RunResult(one.name + HEAVISIDE, one.seed, one.history))
        name = f"{dataset}, T = {tasks}" if varied else f"{describe_sizes(results[0].history.task_sizes)} classes"
        columns.append(_Column(name, [*results, *_stopped(results)], published(dataset, tasks)))
    over = [_over_stopping(column) for column in columns]
    details = [
        methods_table(
            column.results,
            f"methods-{number}",
            f"{column.name}; init, past and new: accuracy in the end on classes of task 0, of later tasks, of the last",
            column.published if scale != "cpu" else None,
            gains,
        )
        for number, (column, gains) in enumerate(zip(columns, over, strict=True))
    ]
    tables = [_families(columns), *details]
    return Outcome(
        [_all_columns(columns), *tables] if scale != "cpu" else tables,
        claims=_claims(columns),
        remarks=(*map(_about_stopping, columns, over), *REMARKS[scale]),
    )


def _stopped(results: Sequence[RunResult]) -> list[RunResult]:
    """The network of fine-tuning, had it stopped after task 0."""
    return [RunResult(STOPPED, one.seed, stopped(one.history)) for one in results if one.name == FINE_TUNED]


def _over_stopping(column: _Column) -> dict[str, Difference]:
    """How much better every method is than stopping after task 0."""
    methods = column.methods
    still = methods[STOPPED]
    return {
        name: difference(method, still, networks=_networks(method, still))
        for name, method in methods.items()
        if name != STOPPED
    }


def _about_stopping(column: _Column, over: Mapping[str, Difference]) -> str:
    """Which methods are worse than that, and which may be."""
    worse = [name for name, gain in over.items() if gain.verdict.holds is False]
    unsure = [name for name, gain in over.items() if gain.verdict.holds is None]
    told = f"below it: {', '.join(worse) or 'none'}" + (f"; not certainly above: {', '.join(unsure)}" if unsure else "")
    reached = points(_average(column.methods[STOPPED]))
    return (
        f"{column.name}: a network that stops after task 0 and never answers with another class reaches {reached} % on "
        f"average ({told}; 95 %, each by itself)."
    )


def _networks(one: MethodRuns, other: MethodRuns) -> Networks:
    """Whether two methods stand on the same network: a frozen one, or one that they train with every seed."""
    frozen = LEARNERS.on_frozen_encoders()
    own = [method.histories[0].learner not in frozen for method in (one, other)]
    if not any(own) and one.name.endswith(HEAVISIDE) == other.name.endswith(HEAVISIDE):
        return "same"
    if not any(own) or len(one.seeds) == 1:
        return "different"
    return "by seed" if all(own) else "one side"


def _all_columns(columns: Sequence[_Column]) -> Table:
    """The paper's layout: methods by data set and number of tasks."""
    rows: list[list[Cell]] = []
    for name in columns[0].methods:
        row: list[Cell] = [name]
        for column in columns:
            row += [_average(column.methods[name]), column.published.get(name)]
        rows.append(row)
    shares = [text for column in columns for text in (column.name, f"published {column.name}")]
    return Table("table-1", "Average accuracy, and what the paper says", ["method", *shares], rows, percent=shares)


def _families(columns: Sequence[_Column]) -> Table:
    """The best method of every family, its place among families, and the place it has in the paper."""
    rows: list[list[Cell]] = []
    for column in columns:
        ours, theirs = _order(column), _published_order(column)
        for family in ours:
            best = column.best(FAMILIES[family])
            places = ours.index(family) + 1, theirs.index(family) + 1
            rows.append([family, column.name, best.name, _average(best), *places])
    names = ["family", "setting", "best method", "average", "place", "place in the paper"]
    return Table("families", "Families of methods, by their best member", names, rows, percent=["average"])


def _average(method: MethodRuns) -> float:
    return method.measure(metrics.average).mean


def _order(column: _Column) -> list[str]:
    return sorted(FAMILIES, key=lambda family: -_average(column.best(FAMILIES[family])))


def _published_order(column: _Column) -> list[str]:
    return sorted(FAMILIES, key=lambda family: -max(column.published[name] for name in FAMILIES[family]))


def _claims(columns: Sequence[_Column]) -> list[Claim]:
    return [
        _better("GBM with K = 8 is better than FeTrIL (in 5 of 6 columns)", columns, EIGHT, ["FeTrIL"]),
        _better("K = 8 is better than K = 1", columns, EIGHT, [ONE]),
        _better("The thermometer is better than Heaviside (K = 8)", columns, EIGHT, [EIGHT + HEAVISIDE]),
        _better("GBM with K = 1 is the best of all with one prototype (for T = 10 and 20)", columns, ONE, SINGLE),
        _families_claim(columns),
        _over_fine_tuning(columns),
    ]


def _better(paper: str, columns: Sequence[_Column], better: str, rivals: Sequence[str]) -> Claim:
    """A method against its best rival; only columns for which the paper makes the claim count."""
    said = [column for column in columns if column.published[better] > max(column.published[name] for name in rivals)]
    measured, verdicts = [], []
    for column in columns:
        rival = column.best(rivals)
        gain = difference(column.methods[better], rival, networks=_networks(column.methods[better], rival))
        measured.append(f"{column.name}: {gain}" + (f" against {rival.name}" if len(rivals) > 1 else ""))
        if column in said:
            verdicts.append(gain.verdict)
    return Claim(paper, "; ".join(measured), all_hold(verdicts) if said else Verdict.inconclusive())


def _families_claim(columns: Sequence[_Column]) -> Claim:
    """Neighbours must differ by more than noise, or the order is inconclusive."""
    measured, verdicts = [], []
    for column in columns:
        ours, theirs = _order(column), _published_order(column)
        best = [column.best(FAMILIES[family]) for family in theirs]
        gaps = [difference(one, other, networks=_networks(one, other)) for one, other in pairwise(best)]
        told = [f"{family} {points(_average(column.best(FAMILIES[family])))}" for family in ours]
        apart = [f"{one} over {other} {gap}" for (one, other), gap in zip(pairwise(theirs), gaps, strict=True)]
        measured.append(f"{column.name}: {' > '.join(told)}; {', '.join(apart)}")
        verdicts.append(all_hold(gap.verdict for gap in gaps))
    paper = "The best of each family: GBM, prototypes, replay, regularization (GBM second on TinyImageNet with T = 5)"
    return Claim(paper, "; ".join(measured), all_hold(verdicts))


def _over_fine_tuning(columns: Sequence[_Column]) -> Claim:
    """Against the matching lower bound: the whole network, or the last layer on a frozen one."""
    gains: dict[str, Difference] = {}
    for column in columns:
        for name, method in column.methods.items():
            if method.bound is None:
                bound = "FineTuning" if name.partition(":")[0] in LEARNERS.on_frozen_encoders() else FINE_TUNED
                lower = column.methods[bound]
                gains[f"{name} ({column.name})"] = difference(method, lower, networks=_networks(method, lower))
    least = min(gains, key=lambda name: gains[name].mean)
    paper = "Every method is better than fine-tuning, which does nothing against forgetting (implied by table 1)"
    return Claim(paper, f"least: {gains[least]}, {least}", all_hold(gain.verdict for gain in gains.values()))


TABLE_1 = Experiment(
    title="GBM against replay, regularization and prototype methods (table 1)",
    shows="Is a generative binary memory better than other remedies for forgetting?",
    duration={"cpu": "half an hour on two cores", "full": "weeks on two cores", "paper": "days on a GPU"},
    run=main_table,
)
