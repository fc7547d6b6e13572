"""Figure 1: why a Bernoulli mixture: bits of a class are alike, can be drawn from a prototype, and have modes (sec. 1).

The t-SNE map of its part c) is that of figure 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from scipy.special import logsumexp

from bitreplay.bits import PackedBits
from bitreplay.experiments._class_bits import Bits, class_bits, draw, remember
from bitreplay.experiments._difference import Difference
from bitreplay.experiments._experiment import Cell, Claim, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._motivation_plots import draw_clusters, draw_frequencies, draw_prototype, mean_correlation
from bitreplay.experiments._networks import BINARY_NETWORKS, binary_network_of, network_of
from bitreplay.mixture import Mixture, joint_log_probability, linear_form
from bitreplay.runs import Prepared, Setting

Floats = npt.NDArray[np.float64]
PROTOTYPES = (1, 8)  # K
STEADY, EVEN = 0.1, 0.1  # ours: how near to 0 or 1 a steady bit's frequency is, and to 1/2 an even one's
ROWS = 200  # ours: samples of a clustered map; more would be thinner than a pixel
BINS = 20
RESNET_REMARK = (
    "The paper shows a fully binary VGG network here (figure-1-binary); these are the thermometer bits of the "
    "ResNet-18 of its main table, so that all figures of embeddings show the same network."
)
BINARY_REMARK = (
    "As in the paper, the bits of a fully binary VGG network, 1 where its feature is +1. Widths and training of the "
    "paper's network are not published; ours is a reconstruction (docs/binary.md)."
)
REMARKS = (
    "Log-likelihoods are those of test samples, in nats per sample; prototypes are fitted to training samples and "
    "smoothed by half a sample each way, because a bit that was never set in training may be set in a test sample.",
    "A flip rate is the probability that two samples of a class differ in a bit: 2 f (1 - f) for a frequency f.",
    "Intervals are over bits or classes; how much another training of the network changes these measures is not known.",
)


def motivation(request: Request, *, binary: bool = False) -> Outcome:
    """Measure all classes, and draw the first one learned after task 0; of ResNet-18, or of the binary network."""
    seed = request.seeds[0] if request.seeds else 0
    network = binary_network_of(request) if binary else network_of(request)
    prepared = Prepared(Setting(**{**network, **request.setting}))
    bits, test = class_bits(prepared), class_bits(prepared, "test")
    memories = [remember(bits, k, seed, effective_n_jobs(request.n_jobs)) for k in PROTOTYPES]
    frequencies = np.stack([rows.unpack(np.float64).mean(axis=0) for rows in bits.values()])
    likelihoods = np.array([[log_likelihoods(m.mixture(c), test[c]).mean() for m in memories] for c in bits])

    dataset, n_initial = prepared.scenario.dataset, len(prepared.scenario[0].classes)
    shown = [*bits][n_initial % len(bits)]  # the first of a later task, if there is one
    words = f"data: {dataset.name} · encoder: {prepared.encoder.name}"
    of_class = f"{words} · class: {dataset.class_names[shown]}"
    samples = bits[shown][:ROWS].unpack()
    drawn = [draw(memory, shown, len(samples), seed) for memory in memories]
    parts = {"samples": samples} | {
        f"pseudo-exemplars, K = {k}": rows for k, rows in zip(PROTOTYPES, drawn, strict=True)
    }
    drawings = [
        Drawing(
            draw_frequencies(frequencies, n_initial, words),
            "frequencies",
            "How often each bit is set in the samples of each class, and how often it differs between two samples.",
        ),
        Drawing(
            draw_prototype(samples, frequencies[[*bits].index(shown)], drawn[0], of_class),
            "prototype",
            "A prototype holds how often each bit is set; every pseudo-exemplar is drawn from it, bit by bit.",
        ),
        Drawing(
            draw_clusters(parts, of_class),
            "clusters",
            "Samples and pseudo-exemplars of a class, reordered by hierarchical clustering; the bits are in the order "
            "of the samples' clustering in all panels.",
        ),
    ]
    tables = [
        _by_class(frequencies, likelihoods, [dataset.class_names[label] for label in bits], n_initial),
        _histogram(frequencies),
        _correlations(parts, dataset.class_names[shown]),
    ]
    remarks = (BINARY_REMARK if binary else RESNET_REMARK, *REMARKS)
    return Outcome(tables, drawings, _claims(bits, frequencies, likelihoods), remarks)


def log_likelihoods(mixture: Mixture, bits: PackedBits) -> Floats:
    """Log-probability of every sample under a class's mixture, smoothed by half a sample each way."""
    resting = (mixture.weights * mixture.count)[:, None]
    smoothed = (np.asarray(mixture.prototypes, dtype=np.float64) * resting + 0.5) / (resting + 1)
    slopes, offsets = linear_form(smoothed, mixture.weights, clamp=0.0)
    return np.asarray(logsumexp(joint_log_probability(bits, slopes, offsets), axis=1))


def explained_by_class(frequencies: Floats) -> Floats:
    """Share of the variance of every bit explained by the class, for classes of equal size; varying bits only.

    Examples
    --------
    >>> explained_by_class(np.array([[0.0, 0.5, 0.0], [1.0, 0.5, 0.0]])).tolist()
    [1.0, 0.0]
    """
    mean = frequencies.mean(axis=0)
    within, total = (frequencies * (1 - frequencies)).mean(axis=0), mean * (1 - mean)
    varies = total > 0
    return np.asarray(1 - within[varies] / total[varies])


def _by_class(frequencies: Floats, likelihoods: Floats, names: Sequence[str], n_initial: int) -> Table:
    rows: list[list[Cell]] = []
    for position, (name, own, fits) in enumerate(zip(names, frequencies, likelihoods, strict=True)):
        steady, even = (np.minimum(own, 1 - own) <= STEADY).mean(), (np.abs(own - 0.5) <= EVEN).mean()
        flips = (2 * own * (1 - own)).mean()
        learned = "in task 0" if position < n_initial else "later"
        rows.append([name, learned, float(steady), float(even), float(flips), *map(float, fits)])
    columns = ["class", "learned", "steady bits", "even bits", "flip rate", "log-likelihood K=1", "log-likelihood K=8"]
    title = (
        f"Every class: bits (%) set in less than {STEADY:.0%} or more than {1 - STEADY:.0%} of the samples (steady), "
        f"in {0.5 - EVEN:.0%} to {0.5 + EVEN:.0%} (even); flip rate (%); log-likelihood of test samples"
    )
    return Table("classes", title, columns, rows, percent=["steady bits", "even bits", "flip rate"])


def _histogram(frequencies: Floats) -> Table:
    counts, edges = np.histogram(frequencies, BINS, (0, 1))
    rows: list[list[Cell]] = [
        [float(low), float(high), float(count / frequencies.size)]
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    title = "Share (%) of all bits of all classes by how often they are set"
    return Table("histogram", title, ["from", "to", "share"], rows, percent=["from", "to", "share"])


def _correlations(parts: Mapping[str, Bits], name: str) -> Table:
    bits = np.flatnonzero(np.ptp(parts["samples"], axis=0))
    rows: list[list[Cell]] = [[words, len(part), mean_correlation(part, bits)] for words, part in parts.items()]
    title = f"Class {name}: mean absolute correlation of the {len(bits)} bits that vary"
    return Table("correlations", title, ["of", "rows", "mean |correlation|"], rows)


def _claims(bits: Mapping[int, PackedBits], frequencies: Floats, likelihoods: Floats) -> list[Claim]:
    explained = explained_by_class(frequencies)
    chance = (len(bits) - 1) / (sum(map(len, bits.values())) - 1)  # what labels dealt at random explain on average
    flips = 2 * (frequencies * (1 - frequencies)).mean(axis=0)
    steady = (np.minimum(frequencies, 1 - frequencies) <= STEADY).mean()
    gain = Difference((likelihoods[:, 1] - likelihoods[:, 0]).tolist(), over="classes")
    over_chance = Difference((explained - chance).tolist(), over="bits")
    better = int((likelihoods[:, 1] > likelihoods[:, 0]).sum())
    return [
        Claim(
            "binary features cluster by class, with some features having higher flip rates",
            f"the class explains {100 * explained.mean():.0f} % of the variance of the bits ({100 * chance:.1f} % by "
            f"chance; above it by {over_chance}); {100 * steady:.0f} % of the bits of a class are steady; flip rates "
            f"range from {100 * flips.min():.0f} to {100 * flips.max():.0f} %",
            over_chance.verdict,
        ),
        Claim(
            "a class has modes, which a single prototype does not capture",
            f"K = 8 changes the log-likelihood of a test sample by {gain.text(' nats', 1)}; it is "
            f"better in {better} of {len(bits)} classes",
            gain.verdict,
        ),
    ]


TITLE = "Bits of a class: frequencies, a prototype and its pseudo-exemplars, modes (figure 1)"
SHOWS = "Are the bits of a class alike, so that their frequencies describe it, and is one prototype enough?"
FIGURE_1 = {
    "figure-1": Experiment(
        title=TITLE,
        shows=SHOWS,
        duration={"cpu": "a minute", "full": "a minute", "paper": "a few minutes"},
        run=motivation,
        networks=({},),
    ),
    "figure-1-binary": Experiment(
        title=f"{TITLE}, fully binary network",
        shows=SHOWS,
        duration={
            "cpu": "a minute, plus an hour to train the network",
            "full": "a minute, after the network's training",
            "paper": "a few minutes, after the network's training",
        },
        run=partial(motivation, binary=True),
        networks=BINARY_NETWORKS,
    ),
}
