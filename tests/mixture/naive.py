"""Bernoulli mixtures the plain way, in float64 NumPy: what everything in this folder is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]


@dataclass
class NaiveEM:
    """Where EM has got to: parameters, the samples each component rests on, and the objective after 0, 1, ... steps."""

    prototypes: Floats
    weights: Floats
    counts: Floats
    bounds: list[float]


def joint(bits: Bits, prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> Floats:
    """log pi_k + sum_j z_ij log mu_kj + (1 - z_ij) log(1 - mu_kj)."""
    return _joint(bits.astype(np.float64), (~bits).astype(np.float64), np.asarray(prototypes), weights, clamp)


def _joint(ones: Floats, zeros: Floats, prototypes: Floats, weights: npt.ArrayLike, clamp: float) -> Floats:
    mu = np.clip(prototypes.astype(np.float64), clamp, 1 - clamp)
    return np.log(weights) + ones @ np.log(mu).T + zeros @ np.log(1 - mu).T


def log_sum(scores: Floats) -> Floats:
    """log sum_k exp(scores[i, k]) of every row."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(scores - top).sum(axis=1)))


def log_likelihood(bits: Bits, prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> Floats:
    return log_sum(joint(bits, prototypes, weights, clamp))


def effective_counts(bits: Bits, prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> Floats:
    """How many samples each component answers for: sum_i g_ik."""
    scores = joint(bits, prototypes, weights, clamp)
    return np.asarray(np.exp(scores - log_sum(scores)[:, None]).sum(axis=0))


def em(
    bits: Bits,
    prototypes: Floats,
    weights: Floats,
    steps: int,
    *,
    clamp: float,
    objective: str = "likelihood",
    learn_weights: bool = True,
) -> NaiveEM:
    """Exactly `steps` EM steps from the given parameters."""
    ones, zeros = bits.astype(np.float64), (~bits).astype(np.float64)
    prototypes, weights, counts = prototypes.copy(), weights.copy(), np.zeros(len(weights))
    bounds = []
    for step in range(steps + 1):
        scores = _joint(ones, zeros, prototypes, weights, clamp)
        evidence = log_sum(scores)
        shares = np.exp(scores - evidence[:, None])
        per_sample = evidence if objective == "likelihood" else (shares * scores).sum(axis=1)
        bounds.append(float(per_sample.mean()))
        if step < steps:
            counts = shares.sum(axis=0)
            prototypes = shares.T @ ones / counts[:, None]
            if learn_weights:
                weights = counts / len(bits)
    return NaiveEM(prototypes, weights, counts, bounds)


def clustered_bits(
    n: int, d: int, clusters: int, seed: int, *, spread: float = 1.0, constant: int = 0, noise: float = 0.0
) -> Bits:
    """Samples around random prototypes, which differ from one another by about `spread`.

    A small spread makes clusters overlap: samples lie between components for many steps, and rounding errors have time
    to grow. The first `constant` columns are 0 and the next `constant` are 1. A share `noise` of samples is coin flips.
    """
    rng = np.random.default_rng(seed)
    truth = np.clip(rng.beta(0.6, 0.9, size=d) + spread * rng.standard_normal((clusters, d)), 0, 1)
    truth = truth[rng.integers(clusters, size=n)]
    truth[rng.random(n) < noise] = 0.5
    bits = rng.random((n, d)) < truth
    bits[:, :constant] = False
    bits[:, constant : 2 * constant] = True
    return np.asarray(bits)
