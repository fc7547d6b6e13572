"""Learning rate, weight decay and epochs of replay: GBM's pseudo-exemplars, and exemplars (latent replay).

Held-out training samples of task 0 decide: half of its classes first, the rest in five tasks (p = 1; GBM has K = 8 and
q = 8, latent replay E = 20). Printed are average and final accuracy, and by how much the average differs from that of
the defaults, with its standard error (paired by sample).

python benchmarks/replay_options.py --features cifar100.npz
"""

import time
from dataclasses import replace

import numpy as np

from bitreplay import BinaryMemory, EMOptions
from bitreplay.binarizers import Identity
from bitreplay.heads import ClosedForm, Head, Replay
from bitreplay.mixture import Mixture
from problems import Judged, Problem, divided, task_0

SEEDS = (0,)
EXEMPLARS = 20
VARIED: tuple[dict[str, float], ...] = (  # from the default, one at a time but for the rate with other epochs
    *({"learning_rate": rate} for rate in (0.01, 0.03, 0.1, 0.3)),
    {"weight_decay": 5e-4},
    *({"epochs": epochs} for epochs in (2, 10)),
    *({"learning_rate": 0.03, "epochs": epochs} for epochs in (2, 10)),
)


def memories(problem: Problem, tasks: list[list[int]], kind: str) -> list[BinaryMemory]:
    """After every task: eight prototypes of a class, or twenty of its samples."""
    memory = BinaryMemory(8 if kind == "GBM" else 1)
    made = []
    for labels in tasks:
        if kind == "GBM":
            memory.enrol({c: problem.train[c] for c in labels}, EMOptions(n_components=8), n_jobs=1)
        else:
            for c in labels:
                rows = np.random.default_rng([0, c]).permutation(len(problem.train[c]))[:EXEMPLARS]
                kept = problem.train[c][rows].unpack(np.float32)
                weights = np.full(len(kept), 1 / len(kept))
                memory.add_all({c: Mixture(kept, weights, len(problem.train[c]))})
        made.append(memory.copy())
    return made


def judged(head: Head, problem: Problem, tasks: list[list[int]], made: list[BinaryMemory], seed: int) -> Judged:
    """Every held-out sample of all classes so far, after every task."""
    states, seen = [], []
    for number, (labels, memory) in enumerate(zip(tasks, made, strict=True)):
        head = head.update(memory, Identity(), {c: problem.train[c] for c in labels}, 100 * seed + number)
        seen += labels
        answers = np.array(memory.labels)
        states.append(np.concatenate([answers[head.scores(problem.test[c]).argmax(1)] == c for c in seen]))
    return Judged(states)


def main() -> None:
    problem, _ = task_0(__doc__)
    tasks = divided(problem, 5)
    for kind in ("GBM", "latent replay"):
        made = memories(problem, tasks, kind)
        print(f"{problem.name}: {kind}\n{'':40s}average  final  against the default")
        if kind == "GBM":
            closed = judged(ClosedForm(), problem, tasks, made, 0)
            print(f"{'closed form':40s}{closed.average:7.2f}{closed.final:7.2f}")
        default = [judged(Replay(), problem, tasks, made, seed) for seed in SEEDS]
        for change in ({}, *VARIED):
            begun, head = time.perf_counter(), replace(Replay(), **change)
            if change and head == Replay():
                continue
            ends = [judged(head, problem, tasks, made, seed) for seed in SEEDS] if change else default
            gains, errors = zip(*(one.ahead(other) for one, other in zip(ends, default, strict=True)), strict=True)
            name = ", ".join(f"{option} {value:g}" for option, value in change.items()) or (
                f"default: rate {head.learning_rate:g}, decay {head.weight_decay:g}, {head.epochs} epochs"
            )
            average, final = np.mean([(one.average, one.final) for one in ends], axis=0)
            told = f"{np.mean(gains):+7.2f} ± {max(errors):.2f}" if change else ""
            print(f"{name:40s}{average:7.2f}{final:7.2f}  {told}  {time.perf_counter() - begun:5.0f} s", flush=True)


if __name__ == "__main__":
    main()
