"""EM in integers beside EM in floats: held-out likelihood, and accuracy of Bayes from what it has learned.

Likelihoods are of the prototypes before they are rounded to q bits (q = 8 stands for them in integers), in nats per
held-out sample, with the clamp that EM itself uses. Accuracy is that of integer Bayes with q = 3.
"""

import time

import numpy as np
from scipy.special import logsumexp

from bitreplay import EMOptions, Mixture, fit_mixtures
from bitreplay.bits import PackedBits, concatenate
from bitreplay.device import DeviceMemory, Layout, _em
from bitreplay.device._records import Record
from bitreplay.mixture import joint_log_probability, linear_form
from problems import Problem, parser, problem_of

Mixtures = list[Mixture]


def in_floats(problem: Problem, k: int, seed: int) -> Mixtures:
    generators = [np.random.default_rng([seed, i]) for i in range(len(problem.train))]
    return fit_mixtures(list(problem.train.values()), EMOptions(n_components=k), generators=generators)


def in_integers(problem: Problem, layout: Layout, cards: int) -> Mixtures:
    _em.CARDS = cards
    found = []
    for bits in problem.train.values():
        weights, codes = _em.fit_prototypes(bits, layout)
        found.append(Mixture((codes / 255).astype(np.float32), weights / weights.sum(dtype=float), len(bits)))
    return found


def held_out(mixtures: Mixtures, tests: list[PackedBits]) -> float:
    values = []
    for mixture, bits in zip(mixtures, tests, strict=True):
        joint = joint_log_probability(bits, *linear_form(mixture.prototypes, mixture.weights, EMOptions().clamp))
        values.append(logsumexp(joint, axis=1).mean())
    return float(np.mean(values))


def accuracy(mixtures: Mixtures, tests: list[PackedBits]) -> float:
    memory = DeviceMemory(Layout(tests[0].n_features))
    for label, mixture in enumerate(mixtures):
        codes = np.floor(mixture.prototypes * 7.0 + 0.5).astype(np.uint8)
        weights = np.maximum(1, np.rint(mixture.weights / mixture.weights.max() * 65535)).astype(np.uint16)
        memory._records += (Record(label, mixture.count, weights, codes),)
    targets = np.repeat(np.arange(len(tests)), [len(bits) for bits in tests])
    return 100 * float((memory.predict(concatenate(tests)) == targets).mean())


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--samples", type=int, help="learn from so many samples of a class")
    given = arguments.parse_args()
    problem = problem_of(given)
    if given.samples:
        problem.train = {label: bits[: given.samples] for label, bits in problem.train.items()}
    tests = list(problem.test.values())
    d = tests[0].n_features
    sizes = f"{min(map(len, problem.train.values()))} to {max(map(len, problem.train.values()))}"
    print(f"{problem.name}: {len(tests)} classes of {sizes} samples, D = {d}")
    print(f"{'':40s}{'held out':>10s}{'right, %':>10s}{'prototypes':>12s}{'seconds':>9s}")

    def show(name: str, fit) -> None:
        begun = time.perf_counter()
        mixtures = fit()
        took = time.perf_counter() - begun
        size = np.mean([len(mixture.weights) for mixture in mixtures])
        values = f"{held_out(mixtures, tests):10.2f}{accuracy(mixtures, tests):10.2f}{size:12.2f}{took:9.1f}"
        print(f"{name:40s}{values}", flush=True)

    for seed in range(3):
        show(f"floats, K = 8, seed {seed}", lambda seed=seed: in_floats(problem, 8, seed))
    for starts, cards in ((3, 5), (1, 5), (2, 5), (5, 5), (3, 1), (3, 3)):
        layout = Layout(d, 8, 8, starts=starts)
        name = f"integers, K = 8, {starts} starts of {cards} samples"
        show(name, lambda layout=layout, cards=cards: in_integers(problem, layout, cards))
    for k in (1, 4, 16):
        show(f"floats, K = {k}", lambda k=k: in_floats(problem, k, 0))
        show(f"integers, K = {k}, 3 starts of 5 samples", lambda k=k: in_integers(problem, Layout(d, 8, k), 5))


if __name__ == "__main__":
    main()
