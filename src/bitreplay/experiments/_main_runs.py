"""The runs behind table 1: which methods, in which setting, at every scale.

At cpu scale all methods learn 20 classes of CIFAR-100 with small networks for a few epochs. At full scale they learn 50
classes, with a budget that rewards learning: every seed then trains all networks anew, those of frozen methods too. At
paper scale they are the paper's six columns, and each method trains as its authors did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns, gather
from bitreplay.data import describe_sizes
from bitreplay.evaluation import RunResult
from bitreplay.experiments._difference import Difference, difference
from bitreplay.experiments._experiment import Request, Scale
from bitreplay.experiments._loss_weights import CHOSEN
from bitreplay.experiments._networks import PAPER
from bitreplay.experiments._published import COLUMNS, EIGHT, HEAVISIDE, ONE, published
from bitreplay.experiments._retraining import Networks
from bitreplay.experiments._stopped import STOPPED, stopped
from bitreplay.learners import LEARNERS
from bitreplay.runs import Prepared, Setting, Specification, find_run

FINE_TUNED, JOINT, BEGUN = "FullFineTuning", "FullJoint", "TrainableGBM"
METHODS = (  # the paper's rows, its GBM with one prototype and eight, and around them what this library has besides
    FINE_TUNED,
    JOINT,
    "iCaRL",
    "iCaRL:output=nme",
    "EEIL",
    "LUCIR",
    "LwF-MC",
    "EWC",
    "EWC:outputs=all",
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
REAL = {"dataset": "cifar100", "image_size": 24, "encoder": "resnet18"}  # ours: real images, of three quarters the size
SETTING: Mapping[Scale, Mapping[str, Any]] = {
    # Ours: all methods trained for as many epochs; sized for half an hour a seed on two cores.
    "cpu": {**REAL, "classes": 20, "base": 10, "increment": 2, "preset": "small"},
    # Ours: half of the classes, in five increments as in the paper; sized for half a day a seed on one core.
    "full": {**REAL, "classes": 50, "base": 25, "increment": 5, "preset": "medium"},
    "paper": PAPER,
}
SETTINGS: dict[Scale, tuple[tuple[str, int], ...]] = {  # data set and T, the paper's columns next to ours
    "cpu": (("cifar100", 5),),  # five increments, but of 20 classes
    "full": (("cifar100", 5),),  # and of 50
    "paper": COLUMNS,
}
SEEDS = {"cpu": [0], "full": [0, 1], "paper": [0, 1, 2]}


@dataclass(frozen=True)
class Column:
    """What was measured under one setting."""

    name: str
    results: Sequence[RunResult]
    published: Mapping[str, float]  # the paper's column
    by_seed: bool = False  # whether every seed trained the networks of frozen methods, too

    @property
    def methods(self) -> dict[str, MethodRuns]:
        """By the names of the rows."""
        return {method.name: method for method in gather(self.results)}

    def method(self, name: str) -> MethodRuns:
        """A method of the paper: with the loss weights that were chosen, if it was run with them."""
        methods = self.methods
        return methods.get(CHOSEN.get(name, name)) or methods[name]

    def best(self, names: Sequence[str]) -> MethodRuns:
        """The best of some methods."""
        return max((self.method(name) for name in names if self.has(name)), key=average)

    def has(self, name: str) -> bool:
        """Whether a method of the paper was run."""
        return not {name, CHOSEN.get(name, name)}.isdisjoint(self.methods)

    def difference(self, one: MethodRuns, other: MethodRuns) -> Difference:
        """How much better one is than another, with the noise of the networks that they stand on.

        Over the seeds that both were run with: with `--finished`, one may have more of them than the other.
        """
        one, other = one.with_seeds(other.seeds), other.with_seeds(one.seeds)
        networks, by_seed = self.networks(one, other)
        return difference(one, other, networks=networks, by_seed=by_seed)

    def networks(self, one: MethodRuns, other: MethodRuns) -> tuple[Networks, bool]:
        """Whether two methods stand on the same network, and whether the seeds show the noise of training it again.

        Whoever trains the whole network does so with every seed, but TrainableGBM begins with the frozen one.
        """
        several, learners = len(one.seeds) > 1, [method.histories[0].learner for method in (one, other)]
        n_own = len([name for name in trained(learners) if name != BEGUN])
        if {one.name, other.name} == {STOPPED, FINE_TUNED}:  # one network until the end of task 0
            return "same", several
        if n_own == 0 and BEGUN in learners:
            return "one side", self.by_seed and several
        if n_own == 0 and one.name.endswith(HEAVISIDE) == other.name.endswith(HEAVISIDE):
            return "same", self.by_seed and several
        if self.by_seed or not several:
            return ("different", "mixed", "trained")[n_own], several
        return ("different", "one side", "trained")[n_own], n_own == 2


def average(method: MethodRuns) -> float:
    """Average accuracy, mean over the seeds."""
    return method.measure(metrics.average).mean


def run_columns(request: Request, learners: Sequence[str] | None = None) -> list[Column]:
    """Run all columns of a scale, or only `learners` in them."""
    scale, columns = request.scale, []
    chosen = learners or rows_of(request)
    for dataset, tasks in SETTINGS[scale]:
        varied = {"dataset": dataset, "tasks": tasks} if scale == "paper" else {}  # sec. 4.1: T says how task 0 is cut
        own = {**SETTING[scale], **varied, **request.setting}
        seeds, rows = request.seeds or SEEDS[scale], list(chosen)
        results: list[RunResult] = []
        for part in [[seed] for seed in seeds] if scale == "full" or request.finished else [seeds]:
            asked = replace(request, seeds=part)
            setting = Setting(**{**own, "training_seed": part[0]} if scale == "full" else own)  # networks of its own
            if request.finished:  # who lacks a seed gets none of the next ones: any two methods have seeds in common
                if results and not _is_finished(asked, setting, FINE_TUNED):
                    break  # not even its networks may be there
                rows = _finished(asked, setting, rows)
            results += _rows(asked, setting, rows)
        name = f"{dataset}, T = {tasks}" if varied else f"{describe_sizes(results[0].history.task_sizes)} classes"
        columns.append(Column(name, [*results, *stopping(results)], published(dataset, tasks), by_seed=scale == "full"))
    return columns


def trained(methods: Iterable[str]) -> list[str]:
    """Those among some methods that train the whole network."""
    frozen = LEARNERS.on_frozen_encoders()
    return [method for method in methods if Specification.parse(method).name not in frozen]


def rows_of(request: Request) -> list[str]:
    """All rows or, of the methods that train the whole network, fine-tuning and those asked for."""
    if request.learners is None:
        return [*METHODS, *(CHOSEN.values() if request.scale == "full" else ())]
    left_out = trained(METHODS)
    return list(dict.fromkeys([FINE_TUNED, *request.learners, *(name for name in METHODS if name not in left_out)]))


def _finished(request: Request, setting: Setting, learners: Sequence[str]) -> list[str]:
    """Methods on frozen networks, fine-tuning, and what else has been run."""
    missed = [name for name in trained(learners) if name != FINE_TUNED and not _is_finished(request, setting, name)]
    return [name for name in learners if name not in missed]


def _is_finished(request: Request, setting: Setting, name: str) -> bool:
    """Whether a method has been run with the one seed of a request."""
    [seed] = request.seeds or []
    prepared = Prepared(_at_once(setting) if name == JOINT and request.scale == "full" else setting)
    return find_run(prepared, Specification.parse(name), seed, request.output) is not None


def _rows(request: Request, setting: Setting, learners: Sequence[str]) -> list[RunResult]:
    """All learners, and GBM on a network trained with Heaviside; at full scale joint training of all at once."""
    once = [name for name in learners if name == JOINT and request.scale == "full"]
    seeds = request.seeds or []
    results = [run.result() for run in request.compare(setting, [name for name in learners if name not in once], seeds)]
    for run in request.compare(replace(setting, binarizer="heaviside"), [ONE, EIGHT], seeds):
        one = run.result()
        results.append(RunResult(one.name + HEAVISIDE, one.seed, one.history))
    if once:
        results += [run.result() for run in request.compare(_at_once(setting), once, seeds)]
    return results


def _at_once(setting: Setting) -> Setting:
    """The same classes in a single task."""
    n_classes = sum(len(task.classes) for task in setting.scenario())
    return replace(setting, tasks=None, base=None, increment=None, sizes=[n_classes])


def stopping(results: Sequence[RunResult]) -> list[RunResult]:
    """The network of fine-tuning, had it stopped after task 0."""
    return [RunResult(STOPPED, one.seed, stopped(one.history)) for one in results if one.name == FINE_TUNED]
