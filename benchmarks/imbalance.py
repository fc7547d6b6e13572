"""Five samples beside hundreds: what share of either kind of class is recognised, with balanced and empirical priors?

Half of the classes have all their samples and half have five, learned in one call or the small ones later. Recall of
both kinds on test samples, as many of every class, for each head and prior; and accuracy where test samples are as
frequent as training samples were, which is what the empirical prior is for.

`--pool 10` makes every large class of ten: CIFAR-100 has 500 samples per class, and ten classes that are called one
have 5,000. Such a class has more to it than most have, and eight prototypes for all of it.

Usage: python benchmarks/imbalance.py --features cifar100.npz
       python benchmarks/imbalance.py --features cifar100.npz --pool 10
"""

import argparse
from typing import Any

import numpy as np

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, PackedBits, concatenate
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.heads import Bayes, ClosedForm, Head, Replay
from problems import Problem, parser, problem_of

FEW = 5
DRAWS = 3
HEADS: dict[str, type[Any]] = {"closed_form": ClosedForm, "bayes": Bayes, "replay": Replay}


def pooled(samples: dict[int, PackedBits], classes: list[int], pool: int) -> dict[int, PackedBits]:
    """Classes of which every `pool` in a row are called by the name of the first."""
    return {
        classes[i]: concatenate([samples[c] for c in classes[i : i + pool]])
        for i in range(0, len(classes) // pool * pool, pool)
    }


def recalls(problem: Problem, head: Head, draw: int, together: bool, pool: int) -> tuple[float, float, float]:
    """Recall of large and of small classes, and accuracy where they are as frequent as in training."""
    rng = np.random.default_rng(draw)
    classes = rng.permutation(sorted(problem.train)).tolist()
    small = set(classes[len(classes) // 2 :])
    samples = pooled(problem.train, classes[: len(classes) // 2], pool)
    test = pooled(problem.test, classes[: len(classes) // 2], pool) | {c: problem.test[c] for c in small}
    for c in classes[len(classes) // 2 :]:
        samples[c] = problem.train[c][rng.choice(len(problem.train[c]), FEW, replace=False)]
    width = next(iter(samples.values())).n_features
    state = GBMState.empty(GBMOptions(head=head), Identity(), Fingerprint(width), draw)
    calls = (
        [samples] if together else [{c: s for c, s in samples.items() if (c in small) is few} for few in (False, True)]
    )
    for call in calls:
        state = state.learned(call)
    labels = np.array(state.labels)
    right = {c: float((labels[state.scores(test[c]).argmax(1)] == c).mean()) for c in samples}
    large, few = (np.mean([r for c, r in right.items() if (c in small) is kind]) for kind in (False, True))
    sizes = np.array([len(samples[c]) for c in right], float)
    return 100 * float(large), 100 * float(few), 100 * float(np.average(list(right.values()), weights=sizes))


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--heads", nargs="+", choices=HEADS, default=list(HEADS))
    made.add_argument("--pool", type=int, default=1, help="classes that a large one is made of")
    made.add_argument("--draws", type=int, default=DRAWS)
    arguments: argparse.Namespace = made.parse_args()
    problem = problem_of(arguments)
    half = len(problem.train) // 2
    n_large, n_samples = half // arguments.pool, arguments.pool * max(map(len, problem.train.values()))
    print(
        f"{problem.name}: {n_large} classes with {n_samples:,} samples, {len(problem.train) - half} with {FEW}; "
        f"{arguments.draws} draws"
    )
    print("head         prior      learned      recall of large  of small   accuracy as frequent")
    for name in arguments.heads:
        for prior in ("balanced", "empirical"):
            for together in (True, False):
                figures = [
                    recalls(problem, HEADS[name](prior=prior), draw, together, arguments.pool)
                    for draw in range(arguments.draws)
                ]
                large, small, frequent = np.mean(figures, axis=0)
                how = "together" if together else "small later"
                print(f"{name:13}{prior:11}{how:12}{large:16.1f}{small:10.1f}{frequent:23.1f}", flush=True)


if __name__ == "__main__":
    main()
