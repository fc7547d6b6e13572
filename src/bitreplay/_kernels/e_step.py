"""The E-step on packed bits (CPU): log-odds, scores, and what every sample belongs to.

Scores are a product of bits and log-odds. A sample whose second-best
component is negligible is *hard*: it belongs to its best component with responsibility 1, and neither an exponential
nor a logarithm is taken for it. After a few steps most samples are hard, and both halves of a step make use of that.
The others are *soft*: only they have responsibilities, stored one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from bitreplay._kernels.compiling import inlined, part
from bitreplay._kernels.lanes import (
    LANES,
    above,
    add,
    exp,
    largest,
    line,
    load,
    log,
    multiply,
    rows,
    scale,
    shift,
    store,
    total,
    use_widest_vectors,
    zeros,
)
from bitreplay._kernels.products import BLOCK, TABLES, add_block

NEGLIGIBLE = -32.0  # exp(-32) is 1e-14: nothing that a prototype of some samples would notice
SMALLEST = -700.0  # exp of less is not a normal float64
ALMOST_NOTHING = 1e-3  # effective count under which a component's responsibilities are rescaled
FACTORS = 8  # numbers multiplied before their logarithm is taken: 1e-16, the smallest clamp, to the 8th is far from 0
MOSTLY = 0.75  # share of soft samples from which all are treated as such: the M-step then has their bits at hand
SEVERAL, NOBODY = -1, -2
# Of eight components, as the bits of a byte: the only one, or that there are several, or nobody.
SOLE = np.array([NOBODY] + [m.bit_length() - 1 if m.bit_count() == 1 else SEVERAL for m in range(1, 256)])


@part("void(float64[::1], float64, float64, float64[::1], float64[::1])")
def log_odds(prototypes, low, high, odds, off):
    """Write log(mu / (1-mu)) and 1-mu, with mu kept in [low, high]."""
    use_widest_vectors()
    for e in range(len(prototypes)):
        mu = prototypes[e]
        mu = mu if mu > low else low
        mu = mu if mu < high else high
        off[e] = 1.0 - mu
        odds[e] = log(mu / (1.0 - mu))


@part("void(float64[:,::1], float64[:,::1])")
def sum_of_logs(factors, logs):
    """Write the sum over rows of the logarithms of `factors` to the first row of `logs`, by way of products."""
    use_widest_vectors()
    n = len(logs)
    for r in range(n):
        product = load(factors, r)
        for j in range(r + n, len(factors), n):
            product = multiply(product, load(factors, j))
        store(logs, r, product)
    flat = line(logs, 0, LANES * n)
    for e in range(len(flat)):
        flat[e] = log(flat[e])
    sums = load(logs, 0)
    for r in range(1, n):
        sums = add(sums, load(logs, r))
    store(logs, 0, sums)


@part("void(uint64[:,::1], int64, float64[:,::1], float64[:,::1], float64, float64[:,::1], float64[:,::1])")
def write_scores(blocks, n_features, prototypes, weights, clamp, scores, room):
    """Write the joint log-probability of every sample and component, summed in float64."""
    n_blocks, n_samples = blocks.shape
    groups, padded, size = len(weights), len(prototypes) // len(weights), LANES * n_features
    tables, odds = rows(room, 0, TABLES), rows(room, TABLES, BLOCK * n_blocks)
    off = rows(room, TABLES + BLOCK * n_blocks, n_features)
    logs = rows(room, TABLES + BLOCK * n_blocks + n_features, (n_features + FACTORS - 1) // FACTORS)
    for j in range(n_features, BLOCK * n_blocks):
        store(odds, j, zeros(odds))  # padding has log-odds 0: it counts nothing
    for g in range(groups):
        mu = line(prototypes, LANES * padded * g, size)
        log_odds(mu, clamp, 1.0 - clamp, line(odds, 0, size), line(off, 0, size))
        sum_of_logs(off, logs)
        base = load(logs, 0)
        for k in range(LANES):
            logs[0, k] = math.log(weights[g, k]) if weights[g, k] > 0.0 else -math.inf
        base = add(base, load(logs, 0))
        sums = rows(scores, n_samples * g, n_samples)
        for i in range(n_samples):
            store(sums, i, base)
        for b in range(n_blocks):
            add_block(line(blocks, n_samples * b, n_samples), rows(odds, BLOCK * b, BLOCK), tables, sums)


@part("int64(float64[:,::1], float64[::1], int32[::1], int32[::1])")
def separate(scores, tops, owners, soft):
    """Write every sample's best score, the owner of the hard samples (SEVERAL for the others) and the list of the soft
    ones.

    Returns how many are soft.
    """
    n_samples = len(owners)
    n_soft = 0
    for i in range(n_samples):
        top = -math.inf
        for at in range(i, len(scores), n_samples):
            best = largest(load(scores, at))
            top = best if best > top else top
        owner = NOBODY
        for g in range(len(scores) // n_samples):
            sole = SOLE[above(load(scores, g * n_samples + i), top + NEGLIGIBLE)]
            if sole != NOBODY:
                owner = g * LANES + sole if owner == NOBODY and sole >= 0 else SEVERAL
        tops[i] = top
        owners[i] = owner
        soft[n_soft] = i
        n_soft += owner == SEVERAL
    return n_soft


@inlined
def call_all_soft(owners, soft):
    """Treat hard samples as soft ones, which is slower but as right; returns how many samples there are."""
    for i in range(len(owners)):
        owners[i] = SEVERAL
        soft[i] = i
    return len(owners)


@part(
    "UniTuple(float64, 2)(float64[:,::1], float64[::1], int32[::1], int64, float64[:,::1], float64[:,::1], "
    "float64[:,::1])"
)
def soften(scores, tops, soft, n_soft, responsibilities, counts, room):
    """Write the responsibilities of the soft samples and add them to `counts`; return their part of both objectives.

    Their tops become their marginal log-likelihoods.
    """
    use_widest_vectors()
    groups, n_samples, size = len(counts), len(tops), LANES * n_soft
    gaps, flat = rows(room, 0, n_soft), line(room, 0, size)
    totals, weighted_gaps = line(room, size, n_soft), line(room, size + n_soft, n_soft)
    for f in range(n_soft):
        totals[f] = 0.0
        weighted_gaps[f] = 0.0
    for g in range(groups):
        own = rows(responsibilities, g * (n_samples + BLOCK), n_soft)
        shares = line(own, 0, size)
        for f in range(n_soft):
            store(gaps, f, shift(load(scores, g * n_samples + soft[f]), -tops[soft[f]]))
        for e in range(size):
            gap = flat[e] if flat[e] > NEGLIGIBLE else NEGLIGIBLE
            shares[e] = exp(gap) if flat[e] > NEGLIGIBLE else 0.0
            flat[e] = gap
        for f in range(n_soft):
            share = load(own, f)
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
        own = rows(responsibilities, g * (n_samples + BLOCK), n_soft)
        sums = load(counts, g)
        for f in range(n_soft):
            share = scale(load(own, f), totals[f])
            store(own, f, share)
            sums = add(sums, share)
        store(counts, g, sums)
    return marginal, expected


@part("UniTuple(float64, 2)(float64[:,::1], float64[::1], float64[:,::1], int64, float64[::1])")
def revive(scores, evidences, responsibilities, k, gaps):
    """Rescale the responsibilities of a component that rests on almost nothing; return its exact count and their sum.

    They would vanish beside the others, yet their weighted mean, the component's next prototype, is well defined.
    """
    n_samples = len(evidences)
    top = -math.inf
    for i in range(n_samples):  # `gaps` is contiguous, so that the next loop becomes vector code
        gap = scores[i, k] - evidences[i]
        gaps[i] = gap
        top = gap if gap > top else top
    for i in range(n_samples):
        gap = gaps[i] - top
        gaps[i] = exp(gap if gap > SMALLEST else SMALLEST)
    sum_ = 0.0
    for i in range(n_samples):
        responsibilities[i, k] = gaps[i]
        sum_ += gaps[i]
    return sum_ * math.exp(top), sum_


@part(
    "Tuple((float64, float64, int64))(uint64[:,::1], int64, float64[:,::1], float64[:,::1], float64, float64[:,::1], "
    "float64[::1], int32[::1], int32[::1], float64[:,::1], float64[:,::1], float64[:,::1], float64[:,::1])"
)
def e_step(
    blocks, n_features, prototypes, weights, clamp, scores, tops, owners, soft, responsibilities, counts, mass, room
):
    """Write owners, responsibilities, effective counts and the sums to divide by; `room` is to work in.

    Returns the marginal and the expected objective, and how many samples are soft.
    """
    groups, n_samples = len(weights), len(owners)
    write_scores(blocks, n_features, prototypes, weights, clamp, scores, room)
    n_soft = separate(scores, tops, owners, soft)
    if n_soft < n_samples and n_soft >= MOSTLY * n_samples:
        n_soft = call_all_soft(owners, soft)
    for g in range(groups):
        store(counts, g, zeros(counts))
    marginal = 0.0
    for i in range(n_samples):
        if owners[i] >= 0:
            counts[owners[i] // LANES, owners[i] % LANES] += 1.0
            marginal += tops[i]
    expected = marginal
    parts = soften(scores, tops, soft, n_soft, responsibilities, counts, room)
    marginal += parts[0]
    expected += parts[1]

    vanishing = False
    for g in range(groups):
        for k in range(LANES):
            vanishing |= weights[g, k] > 0.0 and counts[g, k] < ALMOST_NOTHING
    if vanishing and n_soft < n_samples:  # every sample may matter to a component that none belongs to
        separate(scores, tops, owners, soft)  # for the tops, which have become something else
        n_soft = call_all_soft(owners, soft)
        for g in range(groups):
            store(counts, g, zeros(counts))
        soften(scores, tops, soft, n_soft, responsibilities, counts, room)
    for g in range(groups):
        store(mass, g, load(counts, g))
        for k in range(LANES):
            if weights[g, k] == 0.0:
                mass[g, k] = 1.0  # no such component: its prototype stays 0
            elif counts[g, k] < ALMOST_NOTHING:
                own = rows(scores, g * n_samples, n_samples)
                shares = rows(responsibilities, g * (n_samples + BLOCK), n_samples)
                counts[g, k], mass[g, k] = revive(own, tops, shares, k, line(room, 0, n_samples))
    return marginal, expected, n_soft
