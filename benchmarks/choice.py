"""Is it worth choosing the closed form's blend and ridge on a fifth of the first call's samples, and from how many on?

For draws of some classes with some samples each: test accuracy with options chosen on held-out samples, less that with
the defaults, in points. A gain that is not below zero by more than its error says that choosing costs nothing there.

Usage: python benchmarks/choice.py --features cifar100.npz
"""

import numpy as np

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, PackedBits
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.gbm._choice import Open, judged
from bitreplay.gbm._held_out import split
from problems import parse

SHAPES = ((2, 10), (2, 50), (5, 10), (5, 25), (5, 100), (10, 10), (10, 30), (20, 10), (20, 50))  # classes, samples
DRAWS = 8


def accuracy(state: GBMState, test: dict[int, PackedBits]) -> float:
    labels = np.array(state.labels)
    return float(np.mean([(labels[state.scores(test[c]).argmax(1)] == c).mean() for c in state.labels]))


def main() -> None:
    problem, _ = parse(__doc__)
    n_features = next(iter(problem.train.values())).n_features
    print(f"{problem.name}: {DRAWS} draws each\nclasses  samples  held out  gain of choosing (points)")
    for n_classes, n_samples in SHAPES:
        if n_classes > len(problem.train) or n_samples > min(map(len, problem.train.values())):
            continue
        gains, held = [], 0
        for draw in range(DRAWS):
            rng = np.random.default_rng([draw, n_classes, n_samples])
            chosen = rng.choice(list(problem.train), n_classes, replace=False)
            bits = {int(c): problem.train[c] for c in chosen}
            samples = {c: rows[rng.choice(len(rows), n_samples, replace=False)] for c, rows in bits.items()}
            state = GBMState.empty(GBMOptions(calibrate=False), Identity(), Fingerprint(n_features), draw)
            parts = split(samples, draw)
            held = parts.n_held
            head = judged(state, parts, Open(options=True)).head
            decided = [GBMOptions(head=one, calibrate=False) for one in (head, head.decided(blend=0.8, ridge=0.05))]
            ends = [
                GBMState.empty(options, Identity(), Fingerprint(n_features), draw).learned(samples)
                for options in decided
            ]
            gains.append(100 * (accuracy(ends[0], problem.test) - accuracy(ends[1], problem.test)))
        error = np.std(gains, ddof=1) / DRAWS**0.5
        print(f"{n_classes:7}{n_samples:9}{held:10}{np.mean(gains):12.2f} ± {error:.2f}", flush=True)


if __name__ == "__main__":
    main()
