"""Many classes with all samples, then sessions of classes with a handful each: what becomes of both kinds?

The protocol of few-shot class-incremental learning: 60 classes of CIFAR-100 with all samples, then 8 sessions of 5
classes with 5 samples each (other numbers by --base, --sessions and --shots; several of --shots give a table each).
Accuracy on the test split after the last session, over all classes, the first ones and the new ones, and the harmonic
mean of the latter two; draws are draws of the new classes' samples. GBM is compared with itself as it was before
classes of few samples got help (strength 0) and with methods on float features.

--constants shows where the defaults of strength and offset in heads/_few.py come from, on training samples alone: a
fifth of them is set aside, the first classes are learned from the rest, the others from a few. --others does so for the
other constants there, each with the rest at their defaults, and for the limit below which a memory's summary warns.
--choices shows which offset the first call chooses with ten seeds.

--rules shows by which rule the first call should choose, on training samples of the first classes alone: three fifths
of them are the first of a protocol in miniature, the others its new ones; a fifth of the samples is set aside and
judges the offsets that are chosen as if the classes in miniature were all there are. --replay does so for what replay
lends to classes of 1 to 38 samples.

Usage: python benchmarks/few_shot.py --features cifar100.npz [--draws 10] [--shots 5] [--constants|--others|--choices|
--rules|--replay]
"""

import argparse
import copy
import datetime
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bitreplay.binarizers import Thermometer
from bitreplay.bits import Fingerprint, PackedBits
from bitreplay.gbm import GBMOptions, GBMState, _choice
from bitreplay.heads import Bayes, ClosedForm, Head, Replay, _few, fit_temperature, held_out_loss
from bitreplay.learners.frozen._nearest_mean import NearestMean
from bitreplay.learners.frozen._streaming_lda import StreamingLDA
from bitreplay.memory import BinaryMemory

STRENGTHS, OFFSETS = (1.0, 2.0, 4.0, 8.0), (0.0, 0.5, 0.75, 1.0, 1.25)
SAMPLES = (1, 2, 5, 10, 20, 50, 100)
FLOORS, FADINGS = (0.003, 0.01, 0.02, 0.05, 0.1), (10.0, 25.0, 50.0, 100.0)
SHARES, VARIETIES = (0.7, 0.8, 0.9, 0.95, 1.0), (0.0, 5.0, 10.0, 20.0)
BETAS, BETA_OFFSETS = (0.0, 1.0, 2.0, 4.0, 8.0), (0.0, 0.5, 1.0, 1.25, 1.5)


class Data:
    """Features and bits of both splits, classes numbered in the order of the field's convention (seed 1993)."""

    def __init__(self, path: Path, n_base: int) -> None:
        arrays = np.load(path)
        order = np.random.RandomState(1993).permutation(int(arrays["y_train"].max()) + 1)
        place = np.argsort(order)
        self.y, self.y_test = place[arrays["y_train"]], place[arrays["y_test"]]
        self.x, self.x_test = arrays["x_train"].astype(np.float32), arrays["x_test"].astype(np.float32)
        self.binarizer = Thermometer(1, calibrated=True)
        self.binarizer.calibrate(self.x[self.y < n_base])
        self.bits, self.bits_test = self.binarizer.pack(self.x), self.binarizer.pack(self.x_test)
        self.n_base, self.n_classes = n_base, len(order)

    def empty(self, head: object, seed: int = 0) -> GBMState:
        """A state that has learned nothing."""
        return GBMState.empty(GBMOptions(head=head), self.binarizer, Fingerprint(self.bits.n_features), seed)

    def by_class(self, rows: np.ndarray) -> dict[int, PackedBits]:
        """Bits of rows of the training split, by class."""
        return {int(c): self.bits[rows[self.y[rows] == c]] for c in np.unique(self.y[rows])}


class Cosine(NearestMean):
    """Cosine of features and means about the mean of the first classes."""

    centre: np.ndarray | None = None

    def _scores(self, X: np.ndarray) -> np.ndarray:
        means = self.learned["means"] - self.centre
        return (X - self.centre) @ (means / np.linalg.norm(means, axis=1, keepdims=True)).T


def sessions(data: Data, n_sessions: int, shots: int, draw: int) -> list[np.ndarray]:
    """Rows of the training split that each session brings."""
    rng = np.random.default_rng([draw, shots])
    classes = np.array_split(np.arange(data.n_base, data.n_classes), n_sessions)
    return [
        np.concatenate([rng.choice(np.flatnonzero(data.y == c), shots, replace=False) for c in some])
        for some in classes
    ]


def rates(data: Data, answers: np.ndarray) -> list[float]:
    """Accuracy over all classes, the first and the new ones, and the harmonic mean of these two, in percent."""
    right = answers == data.y_test
    old, new = (100 * float(right[rows].mean()) for rows in (data.y_test < data.n_base, data.y_test >= data.n_base))
    return [100 * float(right.mean()), old, new, 2 * old * new / max(old + new, 1e-9)]


def show(name: str, figures: Sequence[list[float]]) -> None:
    means, errors = np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1) / len(figures) ** 0.5
    print(f"{name:<34}" + "".join(f"{m:8.2f} ± {e:4.2f}" for m, e in zip(means, errors, strict=True)), flush=True)


def compare(data: Data, n_sessions: int, shots: int, draws: int, states: dict[str, GBMState]) -> None:
    print(f"\n{data.n_base} classes, then {n_sessions} sessions of classes with {shots} samples; {draws} draws")
    print(f"{'':<34}{'all':>8}{'first':>15}{'new':>15}{'harmonic':>15}")
    parts = [sessions(data, n_sessions, shots, draw) for draw in range(draws)]
    for name, first in states.items():
        figures, before = [], []
        for rows_of in parts:
            state = first
            for rows in rows_of:
                state = state.learned(data.by_class(rows))
            figures.append(rates(data, np.array(state.labels)[state.scores(data.bits_test).argmax(1)]))
            head = state.head.decided(strength=0.0).fit(state.memory, data.binarizer, 0)
            before.append(rates(data, np.array(state.labels)[head.scores(data.bits_test).argmax(1)]))
        show(name, figures)
        show(f"{name}, strength 0 (before)", before)
    methods = {
        "streaming LDA": StreamingLDA(),
        "nearest mean": NearestMean(metric="euclidean"),
        "nearest mean, cosine": NearestMean(),
        "nearest mean, centred cosine": Cosine(),
    }
    base = data.y < data.n_base
    for name, method in methods.items():
        if isinstance(method, Cosine):
            method.centre = data.x[base].mean(0)
        method.partial_fit(data.x[base], data.y[base])
        figures = []
        for rows_of in parts:
            learner = copy.deepcopy(method)
            for rows in rows_of:
                learner.partial_fit(data.x[rows], data.y[rows])
            figures.append(rates(data, learner.predict(data.x_test)))
        show(name, figures)


class OnTrainingSamples:
    """The first classes learned from four fifths of their training samples, the others from n; 25 of each judge."""

    def __init__(self, data: Data) -> None:
        self.data, self.rng = data, np.random.default_rng(0)
        rows = [self.rng.permutation(np.flatnonzero(data.y == c)) for c in range(data.n_classes)]
        self.held = np.concatenate([some[:25] for some in rows])
        self.kept = [some[len(some) // 5 :] for some in rows]
        base = np.concatenate(self.kept[: data.n_base])
        self.first = data.empty(ClosedForm(0.8, 0.05, 0.0, 0.0)).learned(data.by_class(base))

    def memory(self, n: int) -> BinaryMemory:
        """A memory whose new classes had n samples each."""
        few = [self.rng.choice(some, n, replace=False) for some in self.kept[self.data.n_base :]]
        return self.first._remembered(self.data.by_class(np.concatenate(few)))[0]

    def judged(self, memory: BinaryMemory, head: Head) -> tuple[list[float], float]:
        """Accuracy on all, first and new classes, and the loss."""
        targets = self.data.y[self.held]
        places = np.argsort(np.array(memory.labels))
        scores = head.fit(memory, self.data.binarizer, 0).scores(self.data.bits[self.held])[:, places]
        right, first = scores.argmax(1) == targets, targets < self.data.n_base
        rates = [100 * float(some.mean()) for some in (right, right[first], right[~first])]
        return rates, held_out_loss(scores, targets, fit_temperature(scores, targets))


def constants(data: Data) -> None:
    """Held-out training samples judge strength and offset, for numbers of samples from 1 to 100."""
    judges = OnTrainingSamples(data)
    head = ClosedForm(0.8, 0.05, 0.0, 0.0)
    print("accuracy (loss) on held-out training samples\nsamples  strength" + "".join(f"{o:>16}" for o in OFFSETS))
    for n in SAMPLES:
        memory = judges.memory(n)
        for strength in STRENGTHS:
            cells = []
            for offset in OFFSETS:
                rates, loss = judges.judged(memory, replace(head, strength=strength, offset=offset))
                cells.append(f"{rates[0]:8.2f} ({loss:.3f})")
            print(f"{n:7}{strength:10}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def others(data: Data) -> None:
    """The same of the other constants, each with the rest at their defaults."""
    judges = OnTrainingSamples(data)
    memories = {n: judges.memory(n) for n in SAMPLES}
    closed, bayes = ClosedForm(0.8, 0.05, _few.STRENGTH, _few.OFFSET), Bayes(0.08, _few.BETA, _few.BETA_OFFSET)

    def table(title: str, heads: dict[object, tuple[Head, dict[str, float]]]) -> None:
        print(f"\n{title}: accuracy (loss) on held-out training samples\nsamples" + "".join(f"{v:>16}" for v in heads))
        for n, memory in memories.items():
            cells = []
            for head, changed in heads.values():
                before = {name: getattr(_few, name) for name in changed}
                for name, value in changed.items():
                    setattr(_few, name, value)
                rates, loss = judges.judged(memory, head)
                for name, value in before.items():
                    setattr(_few, name, value)
                cells.append(f"{rates[0]:8.2f} ({loss:.3f})")
            print(f"{n:7}" + "".join(f"{cell:>16}" for cell in cells), flush=True)

    table("FLOOR", {value: (closed, {"FLOOR": value}) for value in FLOORS})
    table("FADING", {value: (closed, {"FADING": value}) for value in FADINGS})
    table("BETA", {value: (replace(bayes, strength=value or 1e-9), {}) for value in BETAS})
    table("BETA_OFFSET", {value: (replace(bayes, offset=value), {}) for value in BETA_OFFSETS})
    print("\nRecall of the first classes and of those of n samples\nsamples   first     new")
    for n, memory in memories.items():
        (_, first, new), _ = judges.judged(memory, closed)
        print(f"{n:7}{first:8.1f}{new:8.1f}", flush=True)


def choices(data: Data) -> None:
    """The offset that the first call chooses, with ten seeds, and the accuracies that it chooses by."""
    samples = data.by_class(np.flatnonzero(data.y < data.n_base))
    for head in (ClosedForm(), Bayes()):
        offsets = [_choice.decided(data.empty(head, seed), samples).head.offset for seed in range(10)]
        print(f"{head.name}: {data.n_base} classes, seeds 0 to 9: offsets {offsets}", flush=True)


class Miniature:
    """The protocol within the first classes, on their training samples: a fifth of them is set aside."""

    def __init__(self, data: Data, draw: int) -> None:
        self.data, self.rng = data, np.random.default_rng([draw, 7])
        classes = self.rng.permutation(data.n_base)
        rows = {c: self.rng.permutation(np.flatnonzero(data.y == c)) for c in classes}
        self.held = np.concatenate([some[: len(some) // 5] for some in rows.values()])
        self.kept = {c: some[len(some) // 5 :] for c, some in rows.items()}
        self.new, self.old = np.split(classes, [2 * data.n_base // 5])

    def samples(self) -> dict[int, PackedBits]:
        """All that is kept of the old classes."""
        return self.data.by_class(np.concatenate([self.kept[c] for c in self.old]))

    def few(self, n: int) -> dict[int, PackedBits]:
        """As many samples of each of the new ones."""
        return self.data.by_class(np.concatenate([self.rng.choice(self.kept[c], n, replace=False) for c in self.new]))

    def judged(self, memory: BinaryMemory, head: Head) -> list[float]:
        """Accuracy over all classes, the old and the new ones, and the harmonic mean of these two, in percent."""
        answers = np.array(memory.labels)[head.scores(self.data.bits[self.held]).argmax(1)]
        right, new = answers == self.data.y[self.held], np.isin(self.data.y[self.held], self.new)
        first, later = 100 * float(right[~new].mean()), 100 * float(right[new].mean())
        return [100 * float(right.mean()), first, later, 2 * first * later / max(first + later, 1e-9)]


def rules(data: Data, draws: int = 6) -> None:
    """Offsets that gain different shares of what the best gains, judged by classes that did not choose them."""
    curves: list[tuple[np.ndarray, np.ndarray]] = []
    least_help = _choice.least_help

    def noted(values: np.ndarray, rates: np.ndarray) -> float:
        curves.append((values, rates))
        return least_help(values, rates)

    _choice.least_help, _choice.MANY, _choice.JUDGES = noted, 50, 100  # a fifth of the samples is not there
    figures: dict[object, list[list[float]]] = {share: [] for share in SHARES}
    for draw in range(draws):
        small = Miniature(data, draw)
        first = data.empty(ClosedForm(), draw)
        samples = small.samples()
        head = _choice.decided(first, samples).head
        memory, _ = first._remembered(samples)
        memory.add_all(first._enrolment().fitted(small.few(5)))
        for share in SHARES:
            _choice.MOST = share
            offset = least_help(*curves[-1])
            made = head.decided(offset=offset).fit(memory, data.binarizer, 0)
            figures[share].append([100 * offset, *small.judged(memory, made)])
    print(f"{'share of the gain':<34}{'offset/100':>10}{'all':>13}{'first':>15}{'new':>15}{'harmonic':>15}")
    for share, found in figures.items():
        show(str(share), found)


def replay(data: Data, draws: int = 2) -> None:
    """What replay makes of classes of few samples, by the strength of what it lends them."""
    print(f"{'samples, strength':<34}{'all':>8}{'first':>15}{'new':>15}{'harmonic':>15}")
    for n in (1, 5, 20, 38):
        figures: dict[float, list[list[float]]] = {strength: [] for strength in VARIETIES}
        for draw in range(draws):
            small = Miniature(data, draw)
            first = data.empty(Replay(), draw).learned(small.samples())
            few = small.few(n)
            for strength, found in figures.items():
                state = replace(first, head=first.head.decided(strength=strength))
                for part in np.array_split(small.new, 4):
                    state = state.learned({c: few[c] for c in part.tolist()})
                found.append(small.judged(state.memory, state.head))
        for strength, found in figures.items():
            show(f"{n}, {strength}", found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    parser.add_argument("--base", type=int, default=60)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--shots", type=int, nargs="+", default=[5])
    parser.add_argument("--draws", type=int, default=10)
    for kind in (constants, others, choices, rules, replay):
        parser.add_argument(f"--{kind.__name__}", action="store_const", const=kind, dest="on_training_samples")
    arguments = parser.parse_args()
    print(f"{datetime.date.today()}: python benchmarks/few_shot.py {' '.join(sys.argv[1:])}", flush=True)
    data = Data(arguments.features, arguments.base)
    if arguments.on_training_samples:
        arguments.on_training_samples(data)
        return
    samples = data.by_class(np.flatnonzero(data.y < data.n_base))
    states = {
        name: data.empty(head).learned(samples) for name, head in (("GBM", ClosedForm()), ("GBM, Bayes", Bayes()))
    }
    for name, state in states.items():
        print(f"{name}: chosen on the first classes' training samples: {state.head.describe()[0]}", flush=True)
    for shots in arguments.shots:
        compare(data, arguments.sessions, shots, arguments.draws, states)


if __name__ == "__main__":
    main()
