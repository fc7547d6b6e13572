"""Samples that come one at a time, of known and of new classes: what becomes of accuracy, and what does a call cost?

Known: 20 classes of CIFAR-100 with 50 or 200 samples each, then 1,000 single samples of them, in any order. Always
against all samples at once, on the test split; draws are draws of classes and samples. The lowest accuracy on the way
is that of 20 equally spaced moments.

Growing: 20 classes of 5, 20 or 50 samples, or 20 classes of 50 and then 20 new ones from their first sample. They grow
one sample at a time, all classes in turns, and are compared with all at once at several sizes on the way.

Forms: `online` is GBMClassifier's default, whose statistics have 16 bits; others have them in float32, 8 or q bits
(always rounded without bias); `refit` passes every sample through pseudo-exemplars, as 0.1.0 did; a buffer gathers so
many samples of a class before it does.

Learners: GBM and other methods along the streams of `bitreplay run --stream`, 50 classes first.

--only times measures calls of partial_fit along a stream, and draws them. (Where the rules' constants come from is in
stream_choices.py.)

Usage: python benchmarks/stream.py --features cifar100.npz [--draws 5] [--output stream.txt] [--plot stream.png]
"""

import argparse
import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import numpy as np

from bitreplay.binarizers import Thermometer
from bitreplay.bits import Fingerprint, PackedBits, concatenate
from bitreplay.data import Stream
from bitreplay.evaluation import Provenance
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import Mixture, online_steps
from stream_learners import LEARNERS_SHOWN, learners
from stream_times import times

N_CLASSES, MOMENTS = 20, 20
Curve = tuple[float, float, float, float]  # start, lowest, end, settled


class Problem:
    """Bits of a draw: a first call, a stream of single samples, and the samples that judge."""

    def __init__(self, data: dict[str, np.ndarray], draw: int, n_first: int, n_more: int, *, new: bool, judge: str):
        rng = np.random.default_rng(draw)
        classes = rng.permutation(int(data["y_train"].max()) + 1)[: (2 if new else 1) * N_CLASSES]
        rows = {int(c): rng.permutation(np.flatnonzero(data["y_train"] == c)) for c in classes}
        coming = classes[N_CLASSES:] if new else classes
        skip = 0 if new else n_first
        first = np.concatenate([rows[int(c)][:n_first] for c in classes[:N_CLASSES]])
        stream = rng.permutation(np.concatenate([rows[int(c)][skip : skip + n_more] for c in coming]))
        self.binarizer = Thermometer(1, calibrated=True)
        self.binarizer.calibrate(data["x_train"][first])
        self.first, self.y_first = self._bits(data["x_train"][first]), data["y_train"][first]
        self.stream, self.y = self._bits(data["x_train"][stream]), data["y_train"][stream]
        judges = np.flatnonzero(np.isin(data["y_test"], classes))
        if judge == "train":
            judges = np.concatenate([own[n_first + n_more :] for own in rows.values()])  # what nothing has seen
        self.judges, self.right = self._bits(data[f"x_{judge}"][judges]), data[f"y_{judge}"][judges]
        self.draw, self.new, self.n_first = draw, new, n_first
        self._once: dict[tuple[int, int], float] = {}

    def _bits(self, features: np.ndarray) -> PackedBits:
        return self.binarizer.pack(features.astype(np.float32))

    def start(self, q: int, update: str = "online") -> GBMState:
        """After the first call."""
        return self._empty(GBMOptions(bits=q, update=update)).learned(by_class(self.first, self.y_first))

    def _empty(self, options: GBMOptions) -> GBMState:
        return GBMState.empty(options, self.binarizer, Fingerprint(self.first.n_features), self.draw)

    def at_once(self, q: int, n: int | None = None) -> float:
        """Accuracy with all samples at once, or `n` of each class: of new classes, in one call after the first."""
        more = {c: bits[: len(bits) if n is None else n - self.skip] for c, bits in self.more.items()}
        if (q, n) not in self._once:
            if self.new:
                state = self.start(q).learned(more)
            else:
                first = by_class(self.first, self.y_first)
                state = self._empty(GBMOptions(bits=q)).learned({c: concatenate([first[c], more[c]]) for c in more})
            self._once[q, n] = self.accuracy(state)
        return self._once[q, n]

    @property
    def more(self) -> dict[int, PackedBits]:
        """The stream, class by class."""
        return by_class(self.stream, self.y)

    @property
    def skip(self) -> int:
        """Samples that the classes of the stream had in the first call."""
        return 0 if self.new else self.n_first

    def grown(self, sizes: tuple[int, ...], q: int = 3) -> list[float]:
        """Accuracy when all classes of the stream have grown to these sizes, one sample at a time and in turns."""
        state, more, curve = self.start(q), self.more, []
        for n in range(self.skip + 1, sizes[-1] + 1):
            for c, bits in more.items():
                state = state.learned({c: bits[n - self.skip - 1]})
            if n in sizes:
                curve.append(self.accuracy(state))
        return curve

    def accuracy(self, state: GBMState) -> float:
        """In percent."""
        given = np.array(state.labels)[state.scores(self.judges).argmax(1)]
        return 100 * float((given == self.right).mean())

    def moments(self) -> Iterator[range]:
        """The stream in parts, after each of which accuracy is measured."""
        ends = np.linspace(0, len(self.y), MOMENTS + 1).astype(int)
        return (range(begin, end) for begin, end in itertools.pairwise(ends))


def by_class(bits: PackedBits, y: np.ndarray) -> dict[int, PackedBits]:
    return {int(c): bits[np.flatnonzero(y == c)] for c in np.unique(y)}


def singly(problem: Problem, q: int, update: str = "online", gather: int = 1) -> Curve:
    """Learn sample by sample, or whenever so many of a class have been gathered."""
    state = problem.start(q, update)
    curve, waiting = [problem.accuracy(state)], {int(c): [] for c in np.unique(problem.y)}
    for part in problem.moments():
        for i in part:
            own = waiting[int(problem.y[i])]
            own.append(i)
            if len(own) == gather:
                state = state.learned({int(problem.y[i]): problem.stream[own]})
                own.clear()
        curve.append(problem.accuracy(state))
    return curve[0], min(curve), curve[-1], problem.accuracy(state.settled())


def in_bits(problem: Problem, q: int, precision: int) -> Curve:
    """Online EM with statistics of another precision than 16 bits."""
    start, rng = problem.start(q), np.random.default_rng(problem.draw)
    now = {c: (m.prototypes, m.weights * m.count) for c in start.labels for m in [start.memory.mixture(c)]}
    levels = 2**precision - 1

    def accuracy(bits: int) -> float:
        memory = BinaryMemory(bits, Fingerprint(problem.stream.n_features))
        memory.add_all({c: Mixture(mu.astype(np.float32), n / n.sum(), round(n.sum())) for c, (mu, n) in now.items()})
        return problem.accuracy(start.with_memory(memory))

    curve = [problem.accuracy(start)]
    for part in problem.moments():
        for i in part:
            c = int(problem.y[i])
            mu, n = online_steps(*now[c], problem.stream[i], clamp=0.02)
            now[c] = (
                mu if precision == 32 else np.floor(mu * levels + rng.random(mu.shape)).clip(0, levels) / levels,
                n,
            )
        curve.append(accuracy(32))
    return curve[0], min(curve), curve[-1], accuracy(q)


FORMS: dict[str, Callable[[Problem, int], Curve]] = {
    "online (16 bits)": singly,
    "online, float32": lambda problem, q: in_bits(problem, q, 32),
    "online, 8 bits": lambda problem, q: in_bits(problem, q, 8),
    "online, q bits": lambda problem, q: in_bits(problem, q, q),
    "buffer of 10, refit": lambda problem, q: singly(problem, q, "refit", 10),
    "buffer of 25, refit": lambda problem, q: singly(problem, q, "refit", 25),
    "refit": lambda problem, q: singly(problem, q, "refit"),
}
FORMS_SHOWN = ("online (16 bits)",)  # other than with 50 samples and q = 3
PARTS = ("known", "growing", "learners", "times")
GROWING = (  # samples at first, sizes, new classes
    (5, (10, 20, 40, 60, 80, 100), False),
    (20, (25, 30, 40, 60, 80, 100), False),
    (50, (60, 75, 100, 150, 250, 500), False),
    (50, (5, 10, 20, 50, 100), True),
)


def table(title: str, problems: list[Problem], q: int, forms: tuple[str, ...], write: Callable[[str], None]) -> None:
    """Means over draws; behind them the worst draw's distance of the lowest from the start, and of the end from all."""
    write(f"\n{title}; q = {q}, {len(problems)} draws")
    once = [problem.at_once(q) for problem in problems]
    heads = f"{'':<22}{'start':>8}{'lowest':>8}{'end':>8}{'settled':>9}{'at once':>9}"
    write(f"{heads}   worst draw: lowest - start, end - at once")
    for form in forms:
        curves = np.array([FORMS[form](problem, q) for problem in problems])
        start, lowest, end, settled = curves.mean(axis=0)
        worst = f"{(curves[:, 1] - curves[:, 0]).min():+.2f}, {(curves[:, 2] - once).min():+.2f}"
        write(f"{form:<22}{start:8.2f}{lowest:8.2f}{end:8.2f}{settled:9.2f}{np.mean(once):9.2f}   {worst}")


def growing(
    problems: list[Problem], sizes: tuple[int, ...], write: Callable[[str], None], title: str = "", name: str = "online"
) -> None:
    """One sample at a time against all at once, at several sizes; behind it the end of the worst draw."""
    once = np.array([[problem.at_once(3, n) for n in sizes] for problem in problems])
    if title:
        write(f"\n{title}; q = 3, {len(problems)} draws: at once, and what one at a time adds (standard error)")
        write(f"{'':<22}" + "".join(f"{n:>14}" for n in sizes))
        write(f"{'at once':<22}" + "".join(f"{rate:14.2f}" for rate in once.mean(axis=0)))
    added = np.array([problem.grown(sizes) for problem in problems]) - once
    errors = added.std(axis=0) / np.sqrt(max(1, len(problems) - 1))
    cells = "".join(f"{mean:+7.2f} ({error:.2f})" for mean, error in zip(added.mean(axis=0), errors, strict=True))
    write(f"{name:<22}{cells}   worst {added[:, -1].min():+.2f}")


@contextlib.contextmanager
def recording(output: Path | None) -> Iterator[Callable[[str], None]]:
    """A function that prints a line, also to the end of a file; the first says what was run, when and where."""
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(output.open("a")) if output else None

        def write(line: str) -> None:
            print(line, flush=True)
            if file is not None:
                print(line, file=file, flush=True)

        words = " ".join(Path(word).name if "/" in word else word for word in sys.argv)
        made = Provenance.now()
        write(
            f"# python benchmarks/{words}   ({made.date}, {made.machine}; features of a pretrained EfficientNet-Lite0)"
        )
        yield write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, required=True, help="x_train, y_train, x_test and y_test in an .npz")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--calls", type=int, default=10_000, help="of partial_fit that are timed")
    parser.add_argument("--only", nargs="*", default=PARTS)
    parser.add_argument("--every", type=int, default=5, help="learners: of training samples, use every n-th")
    parser.add_argument("--streams", nargs="*", default=list(get_args(Stream)), help="of the learners")
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS_SHOWN))
    parser.add_argument("--forms", nargs="*", default=list(FORMS), help="of known")
    parser.add_argument("--output", type=Path, help="append what is shown to this file")
    parser.add_argument("--plot", type=Path, help="where to draw the time per call")
    asked = parser.parse_args()
    with np.load(asked.features) as arrays:
        data = dict(arrays)

    with recording(asked.output) as write:

        def problems(n_first: int, n_more: int, *, new: bool = False) -> list[Problem]:
            return [Problem(data, draw, n_first, n_more, new=new, judge="test") for draw in range(asked.draws)]

        if "known" in asked.only:
            for n, q in ((50, 3), (50, 8), (200, 3)):
                title = f"known: 20 x {n} samples, then 1,000 single ones"
                table(title, problems(n, 50), q, tuple(asked.forms if (n, q) == (50, 3) else FORMS_SHOWN), write)
        if "growing" in asked.only:
            for n_first, sizes, new in GROWING:
                title = f"growing: 20 x {n_first} samples, then {'20 new classes, ' if new else ''}one at a time"
                growing(problems(n_first, sizes[-1] - (0 if new else n_first), new=new), sizes, write, title)
        if "learners" in asked.only:
            learners(data, asked.every, asked.streams, asked.learners, write)
        if "times" in asked.only:
            times(data, asked.calls, asked.plot, write)


if __name__ == "__main__":
    main()
