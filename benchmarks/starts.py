"""Which noise should starts around the centroid have? Nats per sample after the paper's protocol, on training and
held-out samples.

The paper gives its standard deviation only. "uniform" is what the library draws, "normal" has the same deviation.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp

from bitreplay.mixture import EMOptions, _run, fit_mixtures, joint_log_probability, linear_form
from bitreplay.mixture import _fit as fitting
from problems import parse

uniform = fitting.starts


def normal(index, centroid, n_components, options, rng, n):
    size = (n, n_components, len(centroid))
    drawn = centroid + np.sqrt(centroid * (1 - centroid)) * rng.standard_normal(size)
    weights = np.full(n_components, 1 / n_components)
    return [_run.Run.of(index, one, weights) for one in np.clip(drawn, _run.MARGIN, 1 - _run.MARGIN)]


def main() -> None:
    problem, _ = parse(__doc__)
    print(f"{problem.name}: nats per sample on training and held-out samples")
    noises: dict[str, Callable] = {"uniform": uniform, "normal": normal}
    for k in (2, 4, 8):
        for name, noise in noises.items():
            fitting.starts = noise
            train, test = [], []
            for seed in range(3):
                generators = [np.random.default_rng([seed, c]) for c in range(len(problem.train))]
                mixtures = fit_mixtures(list(problem.train.values()), EMOptions(n_components=k), generators=generators)
                for samples, values in ((problem.train, train), (problem.test, test)):
                    for mixture, bits in zip(mixtures, samples.values(), strict=True):
                        form = linear_form(mixture.prototypes, mixture.weights, EMOptions().clamp)
                        values.append(logsumexp(joint_log_probability(bits, *form), axis=1).mean())
            print(f"K={k}  {name:8s} {np.mean(train):9.3f} {np.mean(test):9.3f}", flush=True)


if __name__ == "__main__":
    main()
