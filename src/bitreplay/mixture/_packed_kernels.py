"""EM for one Bernoulli mixture on packed bits (CPU).

The two halves of a step both work on bytes of eight features. The E-step looks the log-odds of a whole byte up in a
table of its 256 possible sums; the M-step adds responsibilities into a histogram of the 256 byte values and folds it
into the sums of the eight bits. Neither ever unpacks a bit, and the tables of a few bytes stay in the nearest cache
whatever the width.

Layout: `planes[b, i]` is byte `b` of sample `i`; components come in groups of eight, so prototypes are `[group,
feature, 8]` and responsibilities `[group, sample, 8]`. Components that do not exist have weight 0. Features are padded
to whole bytes with bits that are never set.

Everything is float64. While samples lie between components, a rounding error is multiplied by about D/n in every step,
and by more where a sample goes over from one component to another. With float32 scores or responsibilities runs can be
off by more than 1e-4 nats per sample, and at D = 12544 end in another optimum (tests/mixture/test_em.py has such runs).
"""

from __future__ import annotations

import math

import numpy as np

from bitreplay._lanes import LANES, add, kernel, load, log, store, zeros
from bitreplay._product_kernels import add_products

__all__ = ["CONVERGED", "DEGENERATE", "RUNNING", "run_em"]

RUNNING, CONVERGED, DEGENERATE = 0, 1, 2

NEGLIGIBLE = -40.0  # exp(-40) is 4e-18: under the rounding of a float64 responsibility
ALMOST_NOTHING = 1e-3  # effective count under which a component's responsibilities are rescaled
SMALLEST_WEIGHT = 1e-300  # a component that exists keeps a positive weight


@kernel("void(float64[::1], float64, float64, float64[::1], float64[::1])")
def log_odds(prototypes, low, high, odds, log_zero):
    """Write log mu - log(1-mu) and log(1-mu), with mu kept in [low, high]."""
    for e in range(prototypes.size):
        mu = prototypes[e]
        mu = mu if mu > low else low
        mu = mu if mu < high else high
        zero = log(1.0 - mu)
        log_zero[e] = zero
        odds[e] = log(mu) - zero


@kernel("void(uint8[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])")
def add_scores(planes, odds, base, scores):
    """Write every sample's score: the components' base (row 0) and the log-odds of its bits, summed in float64."""
    tables = np.empty((4, 256, LANES), dtype=np.float64)
    for i in range(len(scores)):
        store(scores, i, load(base, 0))
    add_products(planes, odds, tables, scores)


@kernel("UniTuple(float64, 2)(float64[:,:,::1], float64[:,:,::1], float64[:,::1])")
def normalise(scores, responsibilities, counts):
    """Turn joint log-probabilities into responsibilities and their sums; return the marginal and the expected
    objective.

    Scores become the logarithms of the responsibilities.
    """
    groups, n_samples, _ = scores.shape
    counts[:] = 0.0
    marginal = 0.0
    expected = 0.0
    for i in range(n_samples):
        top = -math.inf
        for g in range(groups):
            for k in range(LANES):
                top = max(top, scores[g, i, k])
        total = 0.0
        weighted_gap = 0.0
        for g in range(groups):
            for k in range(LANES):
                gap = scores[g, i, k] - top
                share = 0.0
                if gap > NEGLIGIBLE:
                    share = math.exp(gap)
                    total += share
                    weighted_gap += share * gap
                responsibilities[g, i, k] = share
        evidence = top + math.log(total)
        marginal += evidence
        expected += top + weighted_gap / total
        for g in range(groups):
            for k in range(LANES):
                scores[g, i, k] -= evidence
                share = responsibilities[g, i, k] / total
                responsibilities[g, i, k] = share
                counts[g, k] += share
    return marginal, expected


@kernel("UniTuple(float64, 2)(float64[:,::1], float64[:,::1], int64)")
def revive(log_responsibilities, responsibilities, k):
    """Rescale the responsibilities of a component that rests on almost nothing; return its exact count and their sum.

    They would vanish beside the others, yet their weighted mean, the component's next prototype, is well defined.
    """
    n_samples = len(responsibilities)
    top = -math.inf
    for i in range(n_samples):
        top = max(top, log_responsibilities[i, k])
    total = 0.0
    for i in range(n_samples):
        share = math.exp(log_responsibilities[i, k] - top)
        responsibilities[i, k] = share
        total += share
    return total * math.exp(top), total


@kernel("void(uint8[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])")
def sum_bits(planes, responsibilities, histogram, sums):
    """Write the responsibility-weighted sum of every bit for one group of components."""
    n_bytes, n_samples = planes.shape
    for b in range(n_bytes):
        histogram[:] = 0
        for i in range(n_samples):
            value = planes[b, i]
            store(histogram, value, add(load(histogram, value), load(responsibilities, i)))
        half = 128
        for bit in range(7, -1, -1):  # add up the half with this bit set, then fold it onto the half without
            ones = zeros(sums)
            for value in range(half):
                upper = load(histogram, half + value)
                ones = add(ones, upper)
                store(histogram, value, add(load(histogram, value), upper))
            store(sums, 8 * b + bit, ones)
            half //= 2


@kernel("void(uint8[:,::1], float64[:,:,::1], float64[:,::1], float64[:,:,::1])")
def m_step(planes, responsibilities, mass, prototypes):
    """Write the responsibility-weighted means; `mass` holds the sums of the responsibilities."""
    groups, n_features, _ = prototypes.shape
    histogram = np.empty((256, LANES), dtype=np.float64)
    sums = np.empty((n_features, LANES), dtype=np.float64)
    for g in range(groups):
        sum_bits(planes, responsibilities[g], histogram, sums)
        for j in range(n_features):
            for k in range(LANES):
                mean = sums[j, k] / mass[g, k]
                prototypes[g, j, k] = mean if mean < 1.0 else 1.0


@kernel(
    "UniTuple(float64, 2)(uint8[:,::1], int64, float64[:,:,::1], float64[:,::1], float64, "
    "float64[:,:,::1], float64[:,::1], float64[:,::1])"
)
def e_step(planes, n_features, prototypes, weights, clamp, responsibilities, counts, mass):
    """Write responsibilities, effective counts and the sums to divide by; return the marginal and the expected
    objective.
    """
    groups = len(prototypes)
    n_bytes, n_samples = planes.shape
    odds = np.zeros((8 * n_bytes, LANES), dtype=np.float64)  # padding keeps log-odds 0: it counts nothing
    log_zero = np.empty((n_features, LANES), dtype=np.float64)
    scores = np.empty((groups, n_samples, LANES), dtype=np.float64)
    for g in range(groups):
        log_odds(prototypes[g, :n_features].ravel(), clamp, 1.0 - clamp, odds[:n_features].ravel(), log_zero.ravel())
        base = load(log_zero, 0)
        for j in range(1, n_features):
            base = add(base, load(log_zero, j))
        for k in range(LANES):
            log_zero[0, k] = math.log(weights[g, k]) if weights[g, k] > 0.0 else -math.inf
        store(log_zero, 0, add(base, load(log_zero, 0)))
        add_scores(planes, odds, log_zero, scores[g])
    objectives = normalise(scores, responsibilities, counts)
    mass[:] = counts
    for g in range(groups):
        for k in range(LANES):
            if weights[g, k] == 0.0:
                mass[g, k] = 1.0  # no such component: its prototype stays 0
            elif counts[g, k] < ALMOST_NOTHING:
                counts[g, k], mass[g, k] = revive(scores[g], responsibilities[g], k)
    return objectives


@kernel(
    "UniTuple(int64, 2)(uint8[:,::1], int64, float64[:,:,::1], float64[:,::1], int64, boolean, boolean, "
    "float64, float64, float64, int64, float64[:,::1], float64[::1])"
)
def run_em(
    planes,
    n_features,
    prototypes,
    weights,
    n_components,
    learn_weights,
    expected,
    clamp,
    tol,
    min_count,
    steps,
    counts,
    bounds,
):
    """Run up to `steps` EM steps in place; return how many were done and why it stopped.

    `bounds[s]` becomes the objective per sample of the parameters before step `s`, and one more E-step writes that of
    the last ones. It stops early when the relative change falls under `tol`, or after a step (other than the last) that
    leaves a component with fewer than `min_count` samples. `counts` becomes the number of samples that each component's
    prototype rests on.
    """
    n_samples = planes.shape[1]
    responsibilities = np.empty((len(prototypes), n_samples, LANES), dtype=np.float64)
    expected_counts = np.empty((len(prototypes), LANES), dtype=np.float64)
    mass = np.empty((len(prototypes), LANES), dtype=np.float64)
    for step in range(steps + 1):
        objectives = e_step(planes, n_features, prototypes, weights, clamp, responsibilities, expected_counts, mass)
        bounds[step] = objectives[1 if expected else 0] / n_samples
        if step > 0 and abs(bounds[step] - bounds[step - 1]) < tol * abs(bounds[step]):
            return step, CONVERGED
        if step < steps:
            m_step(planes, responsibilities, mass, prototypes)
            counts[:] = expected_counts
            smallest = math.inf
            for component in range(n_components):
                g, k = divmod(component, LANES)
                smallest = min(smallest, counts[g, k])
                if learn_weights:
                    weights[g, k] = max(counts[g, k] / n_samples, SMALLEST_WEIGHT)
            if smallest < min_count and step + 1 < steps:  # after the last step the objective is wanted as well
                return step + 1, DEGENERATE
    return steps, RUNNING
