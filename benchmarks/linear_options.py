"""Learning rate, weight decay and epochs of the bounds Joint and FineTuning, which share them.

Held-out training samples of task 0 decide: half of its classes first, the rest in ten tasks (p = 1). They are chosen
for Joint. A lower bound has no best option: FineTuning's average is highest where it learns least, so its accuracy on
the classes of the newest task is printed beside it. Differences from the defaults are paired by sample.

python benchmarks/linear_options.py --features cifar100.npz
"""

import numpy as np

from bitreplay.binarizers import Identity
from bitreplay.bits import concatenate
from bitreplay.learners.frozen._fine_tuning import FineTuning
from bitreplay.learners.frozen._joint import Joint
from bitreplay.learners.frozen._linear_method import LinearMethod
from problems import Judged, Problem, divided, task_0

VARIED: tuple[dict[str, float], ...] = (
    {},
    *({"learning_rate": rate} for rate in (0.003, 0.01, 0.1, 0.3)),
    {"weight_decay": 5e-4},
    *({"epochs": epochs} for epochs in (3, 30)),
    *({"epochs": epochs, "learning_rate": 0.01} for epochs in (3, 30)),
)


def judged(method: LinearMethod, problem: Problem, tasks: list[list[int]]) -> tuple[Judged, float]:
    """Right answers after every task, and the mean accuracy on the newest task's classes."""
    method.use(Identity())
    states, seen, newest = [], [], []
    for labels in tasks:
        samples = [problem.train[c] for c in labels]
        method.partial_fit(concatenate(samples), np.repeat(labels, [len(one) for one in samples]))
        seen += labels
        right = [method.predict(problem.test[c]) == c for c in seen]
        states.append(np.concatenate(right))
        newest.append(np.mean(np.concatenate(right[-len(labels) :])))
    return Judged(states), 100 * float(np.mean(newest))


def main() -> None:
    problem, _ = task_0(__doc__)
    tasks = divided(problem)
    for kind in (Joint, FineTuning):
        print(f"{problem.name}: {kind.name}\n{'':40s}average  final  newest  against the default")
        default = None
        for change in VARIED:
            method = kind(**change)
            found, newest = judged(method, problem, tasks)
            default = default or found
            told = "{:+7.2f} ± {:.2f}".format(*found.ahead(default)) if change else ""
            name = ", ".join(f"{option} {value:g}" for option, value in change.items()) or (
                f"default: rate {method.learning_rate:g}, decay {method.weight_decay:g}, {method.epochs} epochs"
            )
            print(f"{name:40s}{found.average:7.2f}{found.final:7.2f}{newest:7.2f}  {told}", flush=True)


if __name__ == "__main__":
    main()
