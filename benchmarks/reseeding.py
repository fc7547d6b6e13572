"""What should become of a component that rests on too few samples? Prototypes kept, and held-out nats per sample.

"nothing" leaves it to be merged away, "split s" moves it and the heaviest one apart by s standard deviations each (s =
0.3 is what the library does).
"""

import numpy as np
from scipy.special import logsumexp

from bitreplay.mixture import EMOptions, _run, fit_mixtures, joint_log_probability, linear_form
from bitreplay.mixture import _fit as fitting
from problems import parse

split = fitting.reseed


def nothing(run, options, rng):
    run.reseeded.append(run.steps)


def main() -> None:
    problem, _ = parse(__doc__)
    print(f"{problem.name}: prototypes kept, held-out nats per sample")
    policies = {"nothing": (nothing, 0.0), **{f"split {s}": (split, s) for s in (0.1, 0.3, 1.0)}}
    for n, k in ((40, 8), (120, 8), (120, 16), (500, 16)):
        for name, (policy, scale) in policies.items():
            fitting.reseed, _run.SPLIT = policy, scale
            mixtures = fit_mixtures([bits[:n] for bits in problem.train.values()], EMOptions(n_components=k))
            values = []
            for mixture, held_out in zip(mixtures, problem.test.values(), strict=True):
                form = linear_form(mixture.prototypes, mixture.weights, EMOptions().clamp)
                values.append(logsumexp(joint_log_probability(held_out, *form), axis=1).mean())
            kept = np.mean([len(mixture.weights) for mixture in mixtures])
            print(f"n={n:3d} K={k:2d}  {name:10s} {kept:5.1f} {np.mean(values):9.2f}", flush=True)


if __name__ == "__main__":
    main()
