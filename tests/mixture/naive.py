"""Bernoulli mixtures the plain way, as `bitreplay._kernels.plain` has them, and bits to try them on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitreplay._kernels.plain import Bits, Floats, em, log_sum
from bitreplay._kernels.plain import joint_log_probability as joint

__all__ = ["Bits", "Floats", "clustered_bits", "effective_counts", "em", "joint", "log_likelihood", "log_sum"]


def log_likelihood(bits: Bits, prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> Floats:
    return log_sum(joint(bits, prototypes, weights, clamp))


def effective_counts(bits: Bits, prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> Floats:
    """How many samples each component answers for: sum_i g_ik."""
    scores = joint(bits, prototypes, weights, clamp)
    return np.asarray(np.exp(scores - log_sum(scores)[:, None]).sum(axis=0))


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
