"""Accuracy of the closed-form head over blend and ridge, and of the Bayes head over its clamp.

On held-out training samples of task 0, all of whose classes are learned at once.
"""

import numpy as np

from bitreplay import BinaryMemory, EMOptions
from bitreplay.binarizers import Identity
from bitreplay.heads import Bayes, ClosedForm, Head
from problems import Problem, task_0


def accuracy(head: Head, memory: BinaryMemory, problem: Problem) -> float:
    right = [
        (np.array(memory.labels)[head.scores(bits).argmax(1)] == label).mean() for label, bits in problem.test.items()
    ]
    return 100 * float(np.mean(right))


def main() -> None:
    problem, _ = task_0(__doc__)
    memory = BinaryMemory(bits=3)
    memory.enrol(problem.train, EMOptions(n_components=8), n_jobs=2)
    ridges = (0.01, 0.05, 0.1, 0.2)
    print(f"{problem.name}, K=8, q=3: accuracy of the closed form\nblend \\ ridge" + "".join(f"{r:8g}" for r in ridges))
    for blend in (0.0, 0.5, 0.7, 0.8, 0.9, 1.0):
        heads = [ClosedForm(blend, ridge).fit(memory, Identity(), 0) for ridge in ridges]
        print(f"{blend:13g}" + "".join(f"{accuracy(head, memory, problem):8.2f}" for head in heads), flush=True)
    print("accuracy of the Bayes head over its clamp")
    for clamp in (0.001, 0.01, 0.02, 0.05, 0.08, 0.12, 0.2, 0.3):
        print(f"{clamp:13g}{accuracy(Bayes(clamp).fit(memory, Identity(), 0), memory, problem):8.2f}")


if __name__ == "__main__":
    main()
