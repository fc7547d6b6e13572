"""Table 4: how EM starts and whether it learns the mixing weights (sec. 4.2, "Influence of BMM initialization")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.experiments._difference import Difference, Floats, View, difference_of, mean_difference
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import network_of
from bitreplay.experiments._verdict import all_hold
from bitreplay.runs import Setting

INITS, WEIGHTS, PROTOTYPES = ("random", "centroid"), ("fixed", "learned"), (1, 2, 4)
PUBLISHED = {  # average accuracy in table 4, for K = 1, 2, 4
    ("random", "fixed"): (0.657, 0.660, 0.669),
    ("random", "learned"): (0.662, 0.671, 0.673),
    ("centroid", "fixed"): (0.661, 0.667, 0.670),
    ("centroid", "learned"): (0.660, 0.674, 0.675),
}
TASKS = 5  # caption of table 4
SEEDS = [0, 1, 2]
ALIKE = 0.015  # sec. 4.2: "the relative difference among all cases never exceeds 1.5 %"
REMARKS = (
    "With K = 1 there is nothing to initialise and nothing to weight: the prototype is the mean of the class, in "
    "closed form, and all four rows are the same runs. In the paper that column varies by half a point, which "
    "indicates the size of its random variation.",
    "Seeds are those of the learner (starts, draws, order of the samples); all share one network.",
)

Case = tuple[str, str, int]  # init, weights, K


def initialisation_table(request: Request) -> Outcome:
    """Run the table."""
    setting = Setting(**{**network_of(request), "tasks": TASKS, **request.setting})
    names = {case: learner_of(case) for case in product(INITS, WEIGHTS, PROTOTYPES)}
    methods = request.methods(setting, dict.fromkeys(names.values()), SEEDS)
    measured = {case: methods[name] for case, name in names.items()}
    return Outcome([_table(measured)], claims=_claims(measured), remarks=REMARKS)


def learner_of(case: Case) -> str:
    """The learner of a cell; with K = 1, one for all cells."""
    init, weights, prototypes = case
    options = "" if prototypes == 1 else f",init={init},weights={weights}"
    return f"GBM:prototypes={prototypes},bits=32,head=replay,objective=expected{options}"


def _table(measured: Mapping[Case, MethodRuns]) -> Table:
    rows: list[list[Cell]] = []
    for init, weights in product(INITS, WEIGHTS):
        row: list[Cell] = [init, weights]
        for prototypes, published in zip(PROTOTYPES, PUBLISHED[init, weights], strict=True):
            value = measured[init, weights, prototypes].measure(metrics.average)
            row += [value.mean, value.std, published]
        rows.append(row)
    shares = [column for k in PROTOTYPES for column in (f"K={k}", f"± K={k}", f"published K={k}")]
    title = f"Average accuracy by initialisation and mixing weights of EM; published: CIFAR-100, T = {TASKS}"
    return Table("initialisation", title, ["init", "weights", *shares], rows, percent=shares)


def _claims(measured: Mapping[Case, MethodRuns]) -> list[Claim]:

    def gain(better: list[Case], worse: list[Case]) -> Difference:
        """Over all pairs of runs that differ in one option."""
        return mean_difference([(measured[one], measured[other]) for one, other in zip(better, worse, strict=True)])

    several = [k for k in PROTOTYPES if k > 1]
    centroid, random = ([(init, w, max(several)) for w in WEIGHTS] for init in ("centroid", "random"))
    learned, fixed = ([(init, w, k) for init, k in product(INITS, several)] for w in ("learned", "fixed"))
    by_start, by_weights = gain(centroid, random), gain(learned, fixed)
    spreads = {k: _spread([measured[i, w, k] for i, w in PUBLISHED]) for k in several}
    return [
        Claim(
            "With more prototypes, starting at the centroid is preferable to a random start",
            f"{by_start} for K = {max(several)}",
            by_start.verdict,
        ),
        Claim("Learning the mixing weights is better than fixing them", f"{by_weights} over K > 1", by_weights.verdict),
        Claim(
            "For each K, all four cases lie within 1.5 % of each other",
            ", ".join(f"K = {k}: {100 * one.mean:.1f} % (± {100 * one.margin:.1f})" for k, one in spreads.items()),
            all_hold(one.at_most(ALIKE) for one in spreads.values()),
        ),
    ]


def _spread(methods: Sequence[MethodRuns]) -> Difference:
    """Relative difference between the best and the worst, per seed."""

    def statistic(view: View) -> Floats:
        averages = np.array([[metrics.average(view(history)) for history in one.histories] for one in methods])
        return np.asarray(np.ptp(averages, axis=0) / averages.max(axis=0))

    reached = float(np.mean([one.measure(metrics.average).mean for one in methods]))  # spreads are relative to that
    return difference_of(statistic, times=1 / reached)


TABLE_4 = Experiment(
    title="How EM is initialised, and whether it learns the mixing weights (table 4)",
    shows="Does accuracy depend on how the mixtures are fitted?",
    duration={
        "cpu": "a quarter of an hour on two cores",
        "full": "half an hour on one core, after the network's training",
        "paper": "half an hour after the network's training",
    },
    run=initialisation_table,
    networks=({},),
)
