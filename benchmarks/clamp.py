"""Held-out log-likelihood of Bernoulli mixtures against the clamp, in nats per sample.

EM takes logarithms of probabilities that may be 0 or 1, so they are kept in [clamp, 1 - clamp]. How far inside is a
modelling decision: a bit that was never seen in a hundred samples is not impossible. Samples are those of task 0's
training data, a fifth of them held out.
"""

import numpy as np
from scipy.special import logsumexp

from bitreplay.mixture import EMOptions, fit_mixtures, joint_log_probability, linear_form
from problems import task_0

CLAMPS = (1e-15, 1e-6, 1e-4, 1e-3, 0.01, 0.02, 0.03, 0.05, 0.1)


def main() -> None:
    problem, _ = task_0(__doc__)
    print(f"{problem.name}: held-out nats per sample")
    print("samples  K  " + "".join(f"{clamp:>9g}" for clamp in CLAMPS))
    for n in (400, 100, 20):
        for k in (1, 8, 16):
            row = []
            for clamp in CLAMPS:
                options = EMOptions(n_components=k, clamp=clamp)
                mixtures = fit_mixtures([bits[:n] for bits in problem.train.values()], options, n_jobs=2)
                values = []
                for mixture, held_out in zip(mixtures, problem.test.values(), strict=True):
                    joint = joint_log_probability(held_out, *linear_form(mixture.prototypes, mixture.weights, clamp))
                    values.append(logsumexp(joint, axis=1).mean())
                row.append(np.mean(values))
            print(f"{n:7d} {k:2d}  " + "".join(f"{value:9.1f}" for value in row), flush=True)


if __name__ == "__main__":
    main()
