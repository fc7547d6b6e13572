"""The E-step on packed bits (CPU): log-odds, scores, and what every sample belongs to.

Scores are a product of bits and log-odds. A sample whose second-best
component is negligible is *hard*: it belongs to its best component with responsibility 1, and neither an exponential
nor a logarithm is taken for it. After a few steps most samples are hard, and both halves of a step make use of that.
The others are *soft*: only they have responsibilities, stored one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from bitreplay._kernels.lanes import (
    LANES,
    above,
    add,
    exp,
    kernel,
    largest,
    load,
    log,
    multiply,
    rows_of_eight,
    scale,
    shift,
    store,
    total,
    use_widest_vectors,
)
from bitreplay._kernels.products import BLOCK, CHUNK, add_block

__all__ = ["e_step"]

NEGLIGIBLE = -32.0  # exp(-32) is 1e-14: nothing that a prototype of some samples would notice
SMALLEST = -700.0  # exp of less is not a normal float64
ALMOST_NOTHING = 1e-3  # effective count under which a component's responsibilities are rescaled
FACTORS = 8  # numbers multiplied before their logarithm is taken: 1e-16, the smallest clamp, to the 8th is far from 0
MOSTLY = 0.75  # share of soft samples from which all are treated as such: the M-step then has their bits at hand
SEVERAL, NOBODY = -1, -2
# Of eight components, as the bits of a byte: the only one, or that there are several, or nobody.
SOLE = np.array([NOBODY] + [m.bit_length() - 1 if m.bit_count() == 1 else SEVERAL for m in range(1, 256)])


@kernel("void(float64[::1], float64, float64, float64[::1], float64[::1])")
def log_odds(prototypes, low, high, odds, off):
    """Write log(mu / (1-mu)) and 1-mu, with mu kept in [low, high]."""
    use_widest_vectors()
    for e in range(prototypes.size):
        mu = prototypes[e]
        mu = mu if mu > low else low
        mu = mu if mu < high else high
        off[e] = 1.0 - mu
        odds[e] = log(mu / (1.0 - mu))


@kernel("void(float64[:,::1], float64[:,::1])")
def sum_of_logs(factors, logs):
    """Write the sum over rows of the logarithms of `factors` to the first row of `logs`, by way of products."""
    use_widest_vectors()
    n = len(logs)
    for r in range(n):
        product = load(factors, r)
        for j in range(r + n, len(factors), n):
            product = multiply(product, load(factors, j))
        store(logs, r, product)
    flat = logs.ravel()
    for e in range(flat.size):
        flat[e] = log(flat[e])
    sums = load(logs, 0)
    for r in range(1, n):
        sums = add(sums, load(logs, r))
    store(logs, 0, sums)


@kernel("void(uint64[:,::1], int64, float64[:,:,::1], float64[:,::1], float64, float64[:,:,::1])")
def write_scores(blocks, n_features, prototypes, weights, clamp, scores):
    """Write the joint log-probability of every sample and component, summed in float64."""
    use_widest_vectors()
    n_blocks, n_samples = blocks.shape
    odds = rows_of_eight(BLOCK * n_blocks)
    odds[:] = 0.0  # padding keeps log-odds 0: it counts nothing
    off = rows_of_eight(n_features)
    logs = rows_of_eight(-(-n_features // FACTORS))
    tables = rows_of_eight(8 << CHUNK).reshape(8, 1 << CHUNK, LANES)
    for g in range(len(prototypes)):
        log_odds(prototypes[g, :n_features].ravel(), clamp, 1.0 - clamp, odds[:n_features].ravel(), off.ravel())
        sum_of_logs(off, logs)
        base = load(logs, 0)
        for k in range(LANES):
            logs[0, k] = math.log(weights[g, k]) if weights[g, k] > 0.0 else -math.inf
        base = add(base, load(logs, 0))
        for i in range(n_samples):
            store(scores[g], i, base)
        for b in range(n_blocks):
            add_block(blocks[b], odds[BLOCK * b : BLOCK * (b + 1)], tables, scores[g])


@kernel("int64(float64[:,:,::1], float64[::1], int32[::1], int32[::1])")
def separate(scores, tops, owners, soft):
    """Write every sample's best score, the owner of the hard samples (SEVERAL for the others) and the list of the soft
    ones.

    Returns how many are soft.
    """
    groups, n_samples, _ = scores.shape
    n_soft = 0
    for i in range(n_samples):
        top = -math.inf
        for g in range(groups):
            top = max(top, largest(load(scores[g], i)))
        owner = NOBODY
        for g in range(groups):
            sole = SOLE[above(load(scores[g], i), top + NEGLIGIBLE)]
            if sole != NOBODY:
                owner = g * LANES + sole if owner == NOBODY and sole >= 0 else SEVERAL
        tops[i] = top
        owners[i] = owner
        soft[n_soft] = i
        n_soft += owner == SEVERAL
    return n_soft


@kernel("int64(int32[::1], int32[::1])")
def call_all_soft(owners, soft):
    """Treat hard samples as soft ones, which is slower but as right; returns how many samples there are."""
    for i in range(len(owners)):
        owners[i] = SEVERAL
        soft[i] = i
    return len(owners)


@kernel("UniTuple(float64, 2)(float64[:,:,::1], float64[::1], int32[::1], float64[:,:,::1], float64[:,::1])")
def soften(scores, tops, soft, responsibilities, counts):
    """Write the responsibilities of the soft samples and add them to `counts`; return their part of both objectives.

    Their tops become their marginal log-likelihoods.
    """
    use_widest_vectors()
    groups, n_soft = len(scores), len(soft)
    totals = np.zeros(n_soft, dtype=np.float64)
    weighted_gaps = np.zeros(n_soft, dtype=np.float64)
    gaps = rows_of_eight(n_soft)
    for g in range(groups):
        for f in range(n_soft):
            store(gaps, f, shift(load(scores[g], soft[f]), -tops[soft[f]]))
        flat, shares = gaps.ravel(), responsibilities[g, :n_soft].ravel()
        for e in range(flat.size):
            gap = flat[e] if flat[e] > NEGLIGIBLE else NEGLIGIBLE
            shares[e] = exp(gap) if flat[e] > NEGLIGIBLE else 0.0
            flat[e] = gap
        for f in range(n_soft):
            share = load(responsibilities[g], f)
            totals[f] += total(share)
            weighted_gaps[f] += total(multiply(share, load(gaps, f)))
    marginal = 0.0
    expected = 0.0
    for f in range(n_soft):
        top = tops[soft[f]]
        evidence = top + log(totals[f])
        marginal += evidence
        expected += top + weighted_gaps[f] / totals[f]
        tops[soft[f]] = evidence
        totals[f] = 1.0 / totals[f]
    for g in range(groups):
        sums = load(counts, g)
        for f in range(n_soft):
            share = scale(load(responsibilities[g], f), totals[f])
            store(responsibilities[g], f, share)
            sums = add(sums, share)
        store(counts, g, sums)
    return marginal, expected


@kernel("UniTuple(float64, 2)(float64[:,::1], float64[::1], float64[:,::1], int64)")
def revive(scores, evidences, responsibilities, k):
    """Rescale the responsibilities of a component that rests on almost nothing; return its exact count and their sum.

    They would vanish beside the others, yet their weighted mean, the component's next prototype, is well defined.
    """
    n_samples = len(evidences)
    gaps = np.empty(n_samples, dtype=np.float64)  # contiguous, so that the loops below become vector code
    top = -math.inf
    for i in range(n_samples):
        gaps[i] = scores[i, k] - evidences[i]
        top = max(top, gaps[i])
    for i in range(n_samples):
        gap = gaps[i] - top
        gaps[i] = exp(gap if gap > SMALLEST else SMALLEST)
    sum_ = 0.0
    for i in range(n_samples):
        responsibilities[i, k] = gaps[i]
        sum_ += gaps[i]
    return sum_ * math.exp(top), sum_


@kernel(
    "Tuple((float64, float64, int64))(uint64[:,::1], int64, float64[:,:,::1], float64[:,::1], float64, "
    "float64[:,:,::1], float64[::1], int32[::1], int32[::1], float64[:,:,::1], float64[:,::1], float64[:,::1])"
)
def e_step(blocks, n_features, prototypes, weights, clamp, scores, tops, owners, soft, responsibilities, counts, mass):
    """Write owners, responsibilities, effective counts and the sums to divide by.

    Returns the marginal and the expected objective, and how many samples are soft.
    """
    use_widest_vectors()
    groups, n_samples, _ = scores.shape
    write_scores(blocks, n_features, prototypes, weights, clamp, scores)
    n_soft = separate(scores, tops, owners, soft)
    if n_soft < n_samples and n_soft >= MOSTLY * n_samples:
        n_soft = call_all_soft(owners, soft)
    counts[:] = 0.0
    marginal = 0.0
    for i in range(n_samples):
        if owners[i] >= 0:
            counts[owners[i] // LANES, owners[i] % LANES] += 1.0
            marginal += tops[i]
    expected = marginal
    parts = soften(scores, tops, soft[:n_soft], responsibilities, counts)
    marginal += parts[0]
    expected += parts[1]

    vanishing = False
    for g in range(groups):
        for k in range(LANES):
            vanishing |= weights[g, k] > 0.0 and counts[g, k] < ALMOST_NOTHING
    if vanishing and n_soft < n_samples:  # every sample may matter to a component that none belongs to
        n_soft = call_all_soft(owners, soft)
        for i in range(n_samples):
            tops[i] = -math.inf
            for g in range(groups):
                tops[i] = max(tops[i], largest(load(scores[g], i)))
        counts[:] = 0.0
        soften(scores, tops, soft[:n_samples], responsibilities, counts)
    mass[:] = counts
    for g in range(groups):
        for k in range(LANES):
            if weights[g, k] == 0.0:
                mass[g, k] = 1.0  # no such component: its prototype stays 0
            elif counts[g, k] < ALMOST_NOTHING:
                counts[g, k], mass[g, k] = revive(scores[g], tops, responsibilities[g], k)
    return marginal, expected, n_soft
