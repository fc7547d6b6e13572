"""Many classes with all samples, then sessions of classes with a handful each: what becomes of both kinds?

The protocol of few-shot class-incremental learning: 60 classes of CIFAR-100 with all samples, then 8 sessions of 5
classes with 5 samples each (other numbers by --base, --sessions and --shots; several of --shots give a table each).
Accuracy on the test split after the last session, over all classes, the first ones and the new ones, and the harmonic
mean of the latter two; draws are draws of the new classes' samples. GBM is compared with itself as it was before
classes of few samples got help (strength 0) and with methods on float features.

--constants shows where the defaults in heads/_few.py come from, on training samples alone: a fifth of them is set
aside, the first classes are learned from the rest, the others from a few.

Usage: python benchmarks/few_shot.py --features cifar100.npz [--draws 10] [--shots 5] [--constants]
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
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.heads import Bayes, ClosedForm, fit_temperature, held_out_loss
from bitreplay.learners.frozen._nearest_mean import NearestMean
from bitreplay.learners.frozen._streaming_lda import StreamingLDA

STRENGTHS, OFFSETS = (1.0, 2.0, 4.0, 8.0), (0.0, 0.5, 0.75, 1.0, 1.25)
SAMPLES = (1, 2, 5, 10, 20, 50, 100)


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


def constants(data: Data) -> None:
    """Held-out training samples judge strength and offset, for numbers of samples from 1 to 100."""
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.flatnonzero(data.y == c)) for c in range(data.n_classes)]
    held = np.concatenate([some[:25] for some in rows])
    kept = [some[len(some) // 5 :] for some in rows]
    head = ClosedForm(0.8, 0.05, 0.0, 0.0)
    first = data.empty(head).learned(data.by_class(np.concatenate(kept[: data.n_base])))
    print("accuracy (loss) on held-out training samples\nsamples  strength" + "".join(f"{o:>16}" for o in OFFSETS))
    for n in SAMPLES:
        few = np.concatenate([rng.choice(some, n, replace=False) for some in kept[data.n_base :]])
        memory = first._remembered(data.by_class(few))[0]
        places = np.argsort(np.array(memory.labels))
        for strength in STRENGTHS:
            cells = []
            for offset in OFFSETS:
                fitted = replace(head, strength=strength, offset=offset).fit(memory, data.binarizer, 0)
                scores = fitted.scores(data.bits[held])[:, places]
                loss = held_out_loss(scores, data.y[held], fit_temperature(scores, data.y[held]))
                cells.append(f"{100 * (scores.argmax(1) == data.y[held]).mean():8.2f} ({loss:.3f})")
            print(f"{n:7}{strength:10}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help=".npz of embeddings.py")
    parser.add_argument("--base", type=int, default=60)
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--shots", type=int, nargs="+", default=[5])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--constants", action="store_true")
    arguments = parser.parse_args()
    print(f"{datetime.date.today()}: python benchmarks/few_shot.py {' '.join(sys.argv[1:])}", flush=True)
    data = Data(arguments.features, arguments.base)
    if arguments.constants:
        constants(data)
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
