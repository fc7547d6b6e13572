"""Learning rate, weight decay and epochs of the replay head: average and final accuracy over a base and ten increments.

Half of the classes first, the rest in ten tasks (p = 1, K = 8, q = 8, as in table 1 of the paper but on given
features).
"""

import time

import numpy as np

from bitreplay import BinaryMemory, EMOptions
from bitreplay.binarizers import Identity
from bitreplay.heads import ClosedForm, Head, Replay
from head_options import accuracy
from problems import Problem, parse


def incremental(head: Head, problem: Problem, tasks: list, memories: list[BinaryMemory]) -> tuple[float, float, float]:
    begun, accuracies, seen = time.perf_counter(), [], {}
    for labels, memory in zip(tasks, memories, strict=True):
        head = head.update(memory, Identity(), {c: problem.train[c] for c in labels}, 0)
        seen.update({c: problem.test[c] for c in labels})
        accuracies.append(accuracy(head, memory, Problem("", {}, seen)))
    return float(np.mean(accuracies)), accuracies[-1], time.perf_counter() - begun


def main() -> None:
    problem, _ = parse(__doc__)
    order = list(problem.train)
    half = len(order) // 2
    tasks = [order[:half], *(list(part) for part in np.array_split(order[half:], min(10, len(order) - half)))]
    memory, memories = BinaryMemory(8), []
    for labels in tasks:
        memory.enrol({c: problem.train[c] for c in labels}, EMOptions(n_components=8), n_jobs=2)
        memories.append(memory.copy())
    print(f"{problem.name}: average, final, seconds")
    grid = [(lr, wd, 5) for lr in (0.03, 0.1, 0.3) for wd in (0.0, 5e-4)] + [(0.1, 0.0, 2), (0.1, 0.0, 10)]
    heads = {"closed form": ClosedForm()}
    heads |= {
        f"lr {lr:<5g} decay {wd:<6g} epochs {e}": Replay(learning_rate=lr, weight_decay=wd, epochs=e)
        for lr, wd, e in grid
    }
    for name, head in heads.items():
        print(f"{name:36s} %6.2f %6.2f %5.0f" % incremental(head, problem, tasks, memories), flush=True)


if __name__ == "__main__":
    main()
