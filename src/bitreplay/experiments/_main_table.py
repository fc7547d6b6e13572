"""Table 1: GBM against replay, regularization and prototype methods (sec. 4.2, "Comparison with the State-of-the-art").

Only at paper scale can its numbers be compared with the paper's; elsewhere, the ranking can. Its curves over the tasks
are those of figure 4a with the methods that train the whole network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.numbers import points
from bitreplay.experiments._difference import Difference
from bitreplay.experiments._experiment import Cell, Claim, Drawing, Experiment, Outcome, Request, Scale, Table
from bitreplay.experiments._loss_weights import CHOSEN
from bitreplay.experiments._main_runs import FINE_TUNED, JOINT, METHODS, Column, average, rows_of, run_columns, trained
from bitreplay.experiments._methods_table import curves_table, methods_table
from bitreplay.experiments._published import EIGHT, HEAVISIDE, ONE, PUBLISHED
from bitreplay.experiments._stopped import STOPPED
from bitreplay.experiments._verdict import Verdict, all_hold
from bitreplay.report import draw_curves

SINGLE = ("PASS", "IL2A", "FeTrIL", ONE + HEAVISIDE)  # K = 1 in table 1, besides GBM^T_1
FAMILIES = {  # the categories of table 1; GBM with one prototype and with eight is one here
    "replay": ("iCaRL", "EEIL", "LUCIR"),
    "regularization": ("LwF-MC", "EWC"),
    "prototype": ("PASS", "IL2A", "FeTrIL"),
    "GBM": (ONE + HEAVISIDE, ONE, EIGHT + HEAVISIDE, EIGHT),
}
CURVES = {  # figure 4a: what a curve is called, and what it is
    "GBM K=8": EIGHT,
    "GBM K=1": ONE,
    **{name: name for name in ("FeTrIL", "PASS", "IL2A", "LUCIR", "EEIL", "iCaRL", "EWC", "LwF-MC", "TrainableGBM")},
    STOPPED: STOPPED,
}
# How remarks begin on rows that are missing, and on those that are there in part.
NOT_RUN, FEWER_SEEDS = "Not run", "With fewer seeds than the others"
REMARKS: dict[Scale, tuple[str, ...]] = {
    "cpu": (
        "20 classes, small images and networks, few epochs: the ranking may be compared with the paper, the numbers "
        "may not. The paper's places are those of CIFAR-100 with T = 5.",
        "All methods that train the network use the same number of epochs here, not those of their authors.",
    ),
    "full": (
        "50 classes, images of 24 pixels, a ResNet-18 of a quarter of the weights: the ranking may be compared with "
        "the paper, the numbers may not. The paper's places are those of CIFAR-100 with T = 5.",
        "All methods that train the network do so for 30 epochs in every task, not those of their authors (EEIL for "
        "three quarters as many again, on balanced samples). Every seed trains all networks anew, also those of "
        "frozen methods.",
    ),
    "paper": ("Every method trains as its authors did; the paper does not say how it trained the other methods.",),
}


def main_table(request: Request, learners: Sequence[str] | None = None) -> Outcome:
    """Run the table, or only `learners`, which must include those that the claims are about."""
    columns = run_columns(request, learners)
    over = [_over_stopping(column) for column in columns]
    details = [
        methods_table(
            column.results,
            f"methods-{number}",
            f"{column.name}; init, past and new: accuracy in the end on classes of task 0, of later tasks, of the last",
            column.published if request.scale == "paper" else None,
            gains,
        )
        for number, (column, gains) in enumerate(zip(columns, over, strict=True))
    ]
    curves = [_curves(column) for column in columns]
    numbers = [replace(curves_table(shown), name=f"curves-{number}") for number, shown in enumerate(curves)]
    tables = [_families(columns), *details, *numbers]
    return Outcome(
        [_all_columns(columns), *tables] if request.scale == "paper" else tables,
        [
            Drawing(draw_curves(shown), f"curves-{number}", f"{column.name}: accuracy on all seen so far, by task")
            for number, (column, shown) in enumerate(zip(columns, curves, strict=True))
        ],
        claims=_claims(columns),
        remarks=(*map(_about_stopping, columns, over), *_about_rows(request, columns), *REMARKS[request.scale]),
    )


def _about_rows(request: Request, columns: Sequence[Column]) -> list[str]:
    """What must be known of the rows that there are, and which were not asked for."""
    told, asked = [], METHODS if request.learners is None else rows_of(request)
    for column in columns:
        where = f"{column.name}: " if len(columns) > 1 else ""
        missing = [name for name in trained(METHODS) if name not in column.methods]
        unnamed, unfinished = ([name for name in missing if (name in asked) is named] for named in (False, True))
        if unnamed:
            told.append(f"{NOT_RUN}, as --learners does not name them: {where}{', '.join(unnamed)}.")
        if unfinished and request.finished:
            told.append(f"{NOT_RUN} yet with the first seed: {where}{', '.join(unfinished)}.")
        if fewer := _fewer_seeds(column.methods.values()):
            told.append(
                f"{FEWER_SEEDS}: {where}{', '.join(fewer)}. Differences are over the seeds that two methods share; "
                "averages are over those that a method has."
            )
    rows = {name for column in columns for name in column.methods}
    if weighted := [name for name in CHOSEN.values() if name in rows]:
        told.append(
            f"{', '.join(weighted)}: with the loss weights that were chosen on held-out training samples of task 0 "
            "(results/choices/loss_weights.txt). They stand for their method in families, claims and curves; rows "
            "without options have their authors' weights."
        )
    if request.scale == "full" and JOINT in rows:
        told.append(f"{JOINT} is trained once, on all classes: it has a final accuracy only.")
    return told


def _fewer_seeds(methods: Iterable[MethodRuns]) -> list[str]:
    """Methods that have not been run with all seeds yet, and those that they have been run with."""
    methods = list(methods)
    most = max(len(method.seeds) for method in methods)
    return [f"{method.name} ({', '.join(map(str, method.seeds))})" for method in methods if len(method.seeds) < most]


def _over_stopping(column: Column) -> dict[str, Difference]:
    """How much better every method is than stopping after task 0."""
    methods = column.methods
    still = methods[STOPPED]
    return {
        name: column.difference(method, still)
        for name, method in methods.items()
        if name != STOPPED and method.task_sizes == still.task_sizes
    }


def _about_stopping(column: Column, over: Mapping[str, Difference]) -> str:
    """Which methods are worse than that, and which may be."""
    worse = [name for name, gain in over.items() if gain.verdict.holds is False]
    unsure = [name for name, gain in over.items() if gain.verdict.holds is None]
    told = f"below it: {', '.join(worse) or 'none'}" + (f"; not certainly above: {', '.join(unsure)}" if unsure else "")
    reached = points(average(column.methods[STOPPED]))
    return (
        f"{column.name}: a network that stops after task 0 and never answers with another class reaches {reached} % on "
        f"average ({told}; 95 %, each by itself)."
    )


def _curves(column: Column) -> list[MethodRuns]:
    """The methods of figure 4a that were run."""
    return [replace(column.method(row), name=name) for name, row in CURVES.items() if column.has(row)]


def _all_columns(columns: Sequence[Column]) -> Table:
    """The paper's layout: methods by data set and number of tasks."""
    rows: list[list[Cell]] = []
    for name in dict.fromkeys(name for column in columns for name in column.methods):
        row: list[Cell] = [name]
        for column in columns:
            found = column.methods.get(name)  # with --finished it may not have been run in every column
            row += [None if found is None else average(found), column.published.get(name)]
        rows.append(row)
    shares = [text for column in columns for text in (column.name, f"published {column.name}")]
    return Table("table-1", "Average accuracy, and what the paper says", ["method", *shares], rows, percent=shares)


def _families(columns: Sequence[Column]) -> Table:
    """The best method of every family, its place among families, and the place it has in the paper."""
    rows: list[list[Cell]] = []
    for column in columns:
        ours, theirs = _order(column), _published_order(column, FAMILIES)
        for family in ours:
            best = column.best(FAMILIES[family])
            places = ours.index(family) + 1, theirs.index(family) + 1
            rows.append([family, column.name, best.name, average(best), *places])
    names = ["family", "setting", "best method", "average", "place", "place in the paper"]
    return Table("families", "Families of methods, by their best member", names, rows, percent=["average"])


def _order(column: Column) -> list[str]:
    return sorted(_run(column), key=lambda family: -average(column.best(FAMILIES[family])))


def _published_order(column: Column, families: Iterable[str]) -> list[str]:
    return sorted(families, key=lambda family: -max(column.published[name] for name in FAMILIES[family]))


def _run(column: Column) -> list[str]:
    """Families of which a member was run."""
    return [family for family, names in FAMILIES.items() if any(map(column.has, names))]


def _of_all(verdict: Verdict, columns: Sequence[Column], methods: Iterable[str]) -> Verdict:
    """A claim about several methods: with some that were not run it may fail, but not hold."""
    whole = all(column.has(name) for column in columns for name in methods)
    return verdict if whole or not verdict.positive else Verdict.inconclusive()


def _claims(columns: Sequence[Column]) -> list[Claim]:
    return [
        _better("GBM with K = 8 is better than FeTrIL (in 5 of 6 columns)", columns, EIGHT, ["FeTrIL"]),
        _better("K = 8 is better than K = 1", columns, EIGHT, [ONE]),
        _better("The thermometer is better than Heaviside (K = 8)", columns, EIGHT, [EIGHT + HEAVISIDE]),
        _better("GBM with K = 1 is the best of all with one prototype (for T = 10 and 20)", columns, ONE, SINGLE),
        _families_claim(columns),
        _over_fine_tuning(columns),
    ]


def _better(paper: str, columns: Sequence[Column], better: str, rivals: Sequence[str]) -> Claim:
    """A method against all rivals: shown are the best of them and the one that may most easily be better.

    Only columns for which the paper says so count.
    """
    said = [column for column in columns if column.published[better] > max(column.published[name] for name in rivals)]
    measured, verdicts = [], []
    for column in columns:
        others = [column.method(name) for name in rivals if column.has(name)]
        gains = {one.name: column.difference(column.methods[better], one) for one in others}
        best = min(gains, key=lambda name: gains[name].mean)
        unsure = max(gains, key=lambda name: gains[name].verdict.p)
        shown = dict.fromkeys((best, unsure))
        told = [f"{gains[best]}"] if len(rivals) == 1 else [f"{gains[name]} against {name}" for name in shown]
        measured.append(f"{column.name}: {', '.join(told)}")
        if column in said:
            verdicts.append(_ahead(column, [better], rivals))
    verdict = _of_all(all_hold(verdicts), said, rivals) if said else Verdict.inconclusive()
    return Claim(paper, "; ".join(measured), verdict)


def _ahead(column: Column, better: Sequence[str], worse: Sequence[str]) -> Verdict:
    """Whether one of some methods is better than every one of others: it fails if one of the others is than each.

    The best one is known only after a look at all, each of which may have been the best by chance.
    """
    ours, theirs = ([column.method(name) for name in names if column.has(name)] for names in (better, worse))
    positive = max(map(average, ours)) > max(map(average, theirs))
    leading, behind = (ours, theirs) if positive else (theirs, ours)
    verdict = all_hold(column.difference(max(leading, key=average), other).verdict for other in behind)
    if not verdict.positive:  # with other seeds, an average may be ahead where the seeds that two share are not
        return Verdict.inconclusive()
    return replace(verdict, positive=positive, p=min(1.0, len(leading) * verdict.p))


def _families_claim(columns: Sequence[Column]) -> Claim:
    """Neighbours must differ by more than noise, or the order is inconclusive."""
    measured, verdicts = [], []
    for column in columns:
        ours, theirs = _order(column), _published_order(column, _run(column))
        best = [column.best(FAMILIES[family]) for family in theirs]
        gaps = [column.difference(one, other) for one, other in pairwise(best)]
        told = [f"{family} {points(average(column.best(FAMILIES[family])))}" for family in ours]
        apart = [f"{one} over {other} {gap}" for (one, other), gap in zip(pairwise(theirs), gaps, strict=True)]
        measured.append(f"{column.name}: {' > '.join(told)}; {', '.join(apart)}")
        verdicts += [_ahead(column, FAMILIES[one], FAMILIES[other]) for one, other in pairwise(theirs)]
    paper = "The best of each family: GBM, prototypes, replay, regularization (GBM second on TinyImageNet with T = 5)"
    whole = all(column.has(name) for column in columns for names in FAMILIES.values() for name in names)
    return Claim(paper, "; ".join(measured), all_hold(verdicts) if whole else Verdict.inconclusive())


def _over_fine_tuning(columns: Sequence[Column]) -> Claim:
    """The paper's methods against the matching lower bound: the whole network, or the last layer on a frozen one."""
    gains: dict[str, Difference] = {}
    for column in columns:
        for method in (column.method(name) for name in PUBLISHED if column.has(name)):
            bound = FINE_TUNED if trained([method.histories[0].learner]) else "FineTuning"
            gains[f"{method.name} ({column.name})"] = column.difference(method, column.methods[bound])
    least = min(gains, key=lambda name: gains[name].mean)
    paper = "Every method is better than fine-tuning, which does nothing against forgetting (implied by table 1)"
    verdict = _of_all(all_hold(gain.verdict for gain in gains.values()), columns, PUBLISHED)
    return Claim(paper, f"least: {gains[least]}, {least}", verdict)


TABLE_1 = Experiment(
    title="GBM against replay, regularization and prototype methods (table 1)",
    shows="Is a generative binary memory better than other remedies for forgetting?",
    duration={"cpu": "half an hour on two cores", "full": "twelve hours a seed on one core", "paper": "days on a GPU"},
    run=main_table,
    takes_learners=True,
)
