"""EM in integers beside EM in floats: held-out likelihood, and accuracy of Bayes from what it has learned.

Likelihoods are of the prototypes before they are rounded to q = 3 bits (in integers, with q = 8), in nats per held-out
sample, with the clamp that EM itself uses. Accuracy is that of integer Bayes with q = 3.
"""

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from bitreplay import BinaryMemory, EMOptions, Mixture, fit_mixtures
from bitreplay.bits import PackedBits, concatenate
from bitreplay.device import DeviceMemory, Layout, _em
from bitreplay.mixture import joint_log_probability, linear_form
from problems import Problem, parser, problem_of

Mixtures = list[Mixture]


def in_floats(problem: Problem, k: int, seed: int) -> tuple[Mixtures, DeviceMemory]:
    generators = [np.random.default_rng([seed, i]) for i in range(len(problem.train))]
    mixtures = fit_mixtures(list(problem.train.values()), EMOptions(n_components=k), generators=generators)
    memory = BinaryMemory(bits=3)
    memory.add_all(dict(enumerate(mixtures)))
    return mixtures, DeviceMemory.from_memory(memory)


def in_integers(problem: Problem, layout: Layout, cards: int) -> tuple[Mixtures, DeviceMemory]:
    _em.CARDS = cards
    fine, memory = DeviceMemory(replace(layout, bits=8)), DeviceMemory(layout)
    for label, bits in enumerate(problem.train.values()):
        fine.enrol(label, bits)
        memory.enrol(label, bits)
    mixtures = [
        Mixture((record.codes / 255).astype(np.float32), record.weights / record.weights.sum(dtype=float), record.count)
        for record in fine.records
    ]
    return mixtures, memory


def held_out(mixtures: Mixtures, tests: list[PackedBits]) -> float:
    values = []
    for mixture, bits in zip(mixtures, tests, strict=True):
        joint = joint_log_probability(bits, *linear_form(mixture.prototypes, mixture.weights, EMOptions().clamp))
        values.append(logsumexp(joint, axis=1).mean())
    return float(np.mean(values))


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
    print(f"{'':40s}{'held out':>10s}{'right, %':>10s}{'prototypes':>12s}")

    targets = np.repeat(np.arange(len(tests)), [len(bits) for bits in tests])

    def show(name: str, fit) -> None:
        mixtures, memory = fit()
        right = 100 * float((memory.predict(concatenate(tests)) == targets).mean())
        size = np.mean([len(mixture.weights) for mixture in mixtures])
        print(f"{name:40s}{held_out(mixtures, tests):10.2f}{right:10.2f}{size:12.2f}", flush=True)

    for seed in range(3):
        show(f"floats, K = 8, seed {seed}", lambda seed=seed: in_floats(problem, 8, seed))
    for starts, cards in ((3, 5), (1, 5), (2, 5), (5, 5), (3, 1), (3, 3)):
        layout = Layout(d, 3, 8, starts=starts)
        name = f"integers, K = 8, {starts} starts of {cards} samples"
        show(name, lambda layout=layout, cards=cards: in_integers(problem, layout, cards))
    for k in (1, 4, 16):
        show(f"floats, K = {k}", lambda k=k: in_floats(problem, k, 0))
        show(f"integers, K = {k}, 3 starts of 5 samples", lambda k=k: in_integers(problem, Layout(d, 3, k), 5))


if __name__ == "__main__":
    main()
