"""Figure 5: samples and pseudo-exemplars, as t-SNE maps and by the correlations between bits (sec. 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs

from bitreplay.bits import PackedBits
from bitreplay.experiments._class_bits import class_bits, remember
from bitreplay.experiments._difference import Difference
from bitreplay.experiments._experiment import Cell, Claim, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import SMALL, check_thermometer, fits, network_of
from bitreplay.experiments._samples_distances import PROTOTYPES, ClassDistances, distances, draw_maps
from bitreplay.experiments._samples_map import draw_samples
from bitreplay.experiments._verdict import all_hold
from bitreplay.memory import BinaryMemory
from bitreplay.runs import Prepared, Setting

Floats = npt.NDArray[np.float64]
CODES = (1, 4)  # p
SHOWN = 4  # classes in a map, as in the paper
POINTS = 150  # ours: of a class; more would hide each other
PUBLISHED = 0.33  # sec. 4.2: how far the Frobenius distance falls from K = 1 to K = 8
REMARKS = (
    "Frobenius distances are between the correlation matrices of a class's training samples and of as many "
    "pseudo-exemplars (drawn), or of the mixture itself, which has no sampling noise (exact). The floor approximates "
    "the distance to another set of samples: the distance between two halves, divided by the square root of 2.",
    "A bit that is constant in a class has no correlation: it counts as uncorrelated (0) with all others.",
    "Means and ± (standard deviations) are over classes; a fall is the mean over the classes' own falls. The paper "
    "does not say for which p and which classes it found 33 %.",
    "Samples and pseudo-exemplars of both K share one t-SNE, so that samples have the same positions in both panels.",
    "Intervals are over classes; how much another training of the network changes these measures is not known.",
)


@dataclass(frozen=True)
class Sampled:
    """All classes at one p, in learning order."""

    p: int
    prepared: Prepared
    bits: dict[int, PackedBits]
    memories: Sequence[BinaryMemory]  # one per K
    distances: dict[int, ClassDistances]

    @property
    def initial(self) -> list[int]:
        """Classes of task 0."""
        return [int(label) for label in self.prepared.scenario[0].classes]

    @property
    def incremental(self) -> list[int]:
        """Classes of the tasks after it."""
        return [label for label in self.bits if label not in self.initial]

    def values(self, column: str, labels: Sequence[int] | None = None) -> Floats:
        """One measure for some classes."""
        return np.array([getattr(self.distances[label], column) for label in labels or self.bits])

    def falls(self, what: str, labels: Sequence[int] | None = None) -> Floats:
        """Relative reduction of a measure from K = 1 to K = 8, for every class."""
        one, eight = (self.values(f"{what}_{k}", labels) for k in PROTOTYPES)
        return np.asarray(1 - eight / one)


def samples_figure(request: Request, points: int = POINTS) -> Outcome:
    """Measure all classes and draw four of task 0 and four of the later ones, with `points` samples of each."""
    check_thermometer(request, *CODES)
    seed = request.seeds[0] if request.seeds else 0
    measured = [_measure(request, p, seed) for p in CODES if fits(request, p=p)]
    dataset = measured[0].prepared.scenario.dataset
    names, data = dataset.class_names, dataset.name
    shown = measured[0].incremental[0]
    maps = draw_maps(
        {each.p: each.bits[shown] for each in measured},
        {each.p: each.memories for each in measured},
        shown,
        seed,
        f"data: {data} · class: {names[shown]}",
    )
    tsne = draw_samples(
        {
            (group, each.p): {label: (each.bits[label], each.memories) for label in labels[:SHOWN]}
            for each in measured
            for group, labels in (("initial classes", each.initial), ("incremental classes", each.incremental))
        },
        names,
        points,
        seed,
        data,
    )
    words = f"Absolute difference between the correlations of samples and pseudo-exemplars, class {names[shown]}."
    return Outcome(
        [_summary(measured), _by_class(measured, names)],
        [
            Drawing(tsne, "tsne", "t-SNE of samples (light) and pseudo-exemplars (dark) of four classes each."),
            Drawing(maps, "correlations", words),
        ],
        [*map(_claim_fall, measured), _claim_nearest(measured), _claim_apart(measured)],
        REMARKS,
    )


def _measure(request: Request, p: int, seed: int) -> Sampled:
    prepared = Prepared(Setting(**{**network_of(request, SMALL), **request.setting, "p": p}))
    bits = class_bits(prepared)
    memories = [remember(bits, k, seed, effective_n_jobs(request.n_jobs)) for k in PROTOTYPES]
    found = {label: distances(bits[label], label, memories, seed) for label in bits}
    return Sampled(p, prepared, bits, memories, found)


def _summary(measured: Sequence[Sampled]) -> Table:
    columns = ["p", "bits", "classes", "drawn K=1", "± K=1", "drawn K=8", "± K=8", "fall", "± fall"]
    columns += ["exact K=1", "exact K=8", "exact fall", "floor"]
    rows: list[list[Cell]] = []
    for each in measured:
        for group, labels in (("initial", each.initial), ("incremental", each.incremental), ("all", [*each.bits])):
            row: list[Cell] = [each.p, each.bits[labels[0]].n_features, f"{group} ({len(labels)})"]
            for values in (each.values("drawn_1", labels), each.values("drawn_8", labels), each.falls("drawn", labels)):
                row += [float(values.mean()), float(values.std(ddof=1))]
            for values in (each.values("exact_1", labels), each.values("exact_8", labels), each.falls("exact", labels)):
                row.append(float(values.mean()))
            rows.append([*row, float(each.values("floor", labels).mean())])
    title = "Frobenius distance between the correlations of samples and pseudo-exemplars"
    return Table("frobenius", title, columns, rows, percent=["fall", "± fall", "exact fall"])


def _by_class(measured: Sequence[Sampled], names: Sequence[str]) -> Table:
    columns = ["class", "p", "learned", "drawn K=1", "drawn K=8", "exact K=1", "exact K=8", "floor"]
    columns += ["nearest K=1", "nearest K=8", "nearest sample", "constant bits"]
    rows = [
        [names[label], each.p, "in task 0" if label in each.initial else "later", *astuple(found)]
        for each in measured
        for label, found in each.distances.items()
    ]
    title = "Every class: Frobenius distances; bits (%) in which a sample differs from the nearest pseudo-exemplar"
    return Table("classes", title, columns, rows, percent=["nearest K=1", "nearest K=8", "nearest sample"])


def _claim_fall(measured: Sampled) -> Claim:
    fall = Difference(measured.falls("drawn").tolist(), over="classes")
    return Claim(
        f"the Frobenius distance falls by a third (33 %) from K = 1 to K = 8 (p = {measured.p})",
        f"by {fall.text(' %').removeprefix('+')} in {len(measured.bits)} classes, without sampling noise by "
        f"{100 * measured.falls('exact').mean():.0f} %",
        fall.reaches(PUBLISHED),
    )


def _claim_nearest(measured: Sequence[Sampled]) -> Claim:
    """What t-SNE shows visually: whether pseudo-exemplars lie where the samples are."""
    fewer = [
        Difference((each.values("nearest_1") - each.values("nearest_8")).tolist(), over="classes") for each in measured
    ]
    words = (
        f"{100 * each.values('nearest_1').mean():.2f} % with K = 1, {100 * each.values('nearest_8').mean():.2f} % with "
        f"K = 8 (p = {each.p}: {less})"
        for each, less in zip(measured, fewer, strict=True)
    )
    return Claim(
        "pseudo-exemplars cover the samples better with K = 8 than with K = 1, even when p = 4",
        f"a sample differs from the nearest pseudo-exemplar in {' and '.join(words)} of its bits",
        all_hold(less.verdict for less in fewer),
    )


def _claim_apart(measured: Sequence[Sampled]) -> Claim:
    words, verdicts = [], []
    for each in measured:
        initial, incremental = (
            Difference(_between(each.bits, own), over="classes") for own in (each.initial, each.incremental)
        )
        farther = initial.minus(incremental)
        words.append(f"{initial.mean:.2f} and {incremental.mean:.2f} (p = {each.p}: {farther.text('', 1)})")
        verdicts.append(farther.verdict)
    return Claim(
        "incremental classes are closer to each other than initial ones",
        f"distance from a class's mean to those of the others, initial and incremental: {'; '.join(words)}",
        all_hold(verdicts),
    )


def _between(bits: dict[int, PackedBits], labels: Sequence[int]) -> list[float]:
    """For every class, the mean Euclidean distance of its mean from those of the others."""
    means = np.stack([bits[label].unpack(np.float64).mean(axis=0) for label in labels])
    return [float(np.linalg.norm(means - mean, axis=1).sum()) / max(1, len(means) - 1) for mean in means]


FIGURE_5 = Experiment(
    title="Samples and pseudo-exemplars: t-SNE maps and correlations (figure 5)",
    shows="Do pseudo-exemplars lie where the samples are, and are their bits correlated in the same way?",
    duration={
        "cpu": "2 minutes, plus 5 for each of two networks",
        "full": "5 minutes, plus the training of two networks",
        "paper": "a few minutes, plus the training of two networks",
    },
    run=samples_figure,
    networks=tuple({"p": p} for p in CODES),
)
