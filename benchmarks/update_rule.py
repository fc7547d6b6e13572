"""How to learn more samples of a known class: refit on pseudo-exemplars, combine two mixtures, or go on online?

Every class arrives in parts. "refit" fits a mixture to the new samples together with as many pseudo-exemplars as the
class had samples before; "combine" fits one to the new samples alone and reduces the union of both to K prototypes;
"online" is what the library does (gbm/_update.py), settled in the end.
"""

import numpy as np

from bitreplay import BinaryMemory, EMOptions
from bitreplay.binarizers import Identity
from bitreplay.bits import concatenate
from bitreplay.gbm._update import Enrolment
from bitreplay.heads import Bayes, ClosedForm
from bitreplay.mixture import combine, fit_mixtures
from head_options import accuracy
from problems import parse

OPTIONS = EMOptions(n_components=8)


def learn_more(memory: BinaryMemory, new: dict, rule: str, seed: int) -> None:
    if rule == "online":
        moved, _ = Enrolment(memory, OPTIONS, "online", seed, memory.count(next(iter(new)))).remembered(
            new, gather=False
        )
        memory._set(moved._table)
        return
    generators = [np.random.default_rng([seed, i]) for i in range(len(new))]
    if rule == "refit":
        samples = [
            concatenate([memory.sample(memory.count(c), [c], generator=rng, output="packed")[0], bits])
            for (c, bits), rng in zip(new.items(), generators, strict=True)
        ]
        mixtures = fit_mixtures(samples, OPTIONS, generators=generators, n_jobs=2)
    else:
        fresh = fit_mixtures(list(new.values()), OPTIONS, generators=generators, n_jobs=2)
        mixtures = [combine([memory.mixture(c), m], OPTIONS.n_components) for c, m in zip(new, fresh, strict=True)]
    memory.replace(dict(zip(new, mixtures, strict=True)))


def main() -> None:
    problem, _ = parse(__doc__)
    print(f"{problem.name}, K=8: accuracy after all parts, closed form / Bayes, mean over 3 seeds")
    print("parts  q   refit           combine         online          all at once")
    for parts in (2, 5):
        for q in (3, 8):
            found: dict[str, list[tuple[float, float]]] = {}
            for seed in range(3):
                rng = np.random.default_rng(seed)
                split = {c: np.array_split(rng.permutation(len(bits)), parts) for c, bits in problem.train.items()}
                for rule in ("refit", "combine", "online", "all at once"):
                    memory = BinaryMemory(q)
                    if rule == "all at once":
                        memory.enrol(problem.train, OPTIONS, seed=seed, n_jobs=2)
                    else:
                        memory.enrol({c: bits[split[c][0]] for c, bits in problem.train.items()}, OPTIONS, seed=seed)
                        for part in range(1, parts):
                            learn_more(memory, {c: b[split[c][part]] for c, b in problem.train.items()}, rule, seed)
                    memory.settle()
                    heads = (head.fit(memory, Identity(), 0) for head in (ClosedForm(), Bayes()))
                    found.setdefault(rule, []).append(tuple(accuracy(head, memory, problem) for head in heads))
            means = {rule: np.mean(values, axis=0) for rule, values in found.items()}
            cells = "".join(f"{closed:5.1f} / {bayes:5.1f}   " for closed, bayes in means.values())
            print(f"{parts:5d} {q:2d}   {cells}", flush=True)


if __name__ == "__main__":
    main()
