"""EM for one Bernoulli mixture on packed bits (CPU): its starts, and the loop over E-steps and M-steps.

Layout: `words[i]` are the 64-bit words of sample `i`, `blocks` the same bits in chunks of six (`_kernels.products`),
`columns` the same by features instead of samples (`m_step`).
Components come in groups of eight, so prototypes are `[group, feature, 8]`. Components that do not exist have weight 0.
Features are padded to whole words with bits that are never set.

Everything is float64. While samples lie between components, a rounding error is multiplied by about D/n in every step,
and by more where a sample goes over from one component to another. With float32 scores or responsibilities runs can be
off by more than 1e-4 nats per sample, and at D = 12544 end in another optimum (tests/mixture/test_em.py has such runs).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from bitreplay._kernels.compiling import kernel, part
from bitreplay._kernels.e_step import FACTORS, e_step
from bitreplay._kernels.lanes import LANES, aligned_rows, line, rows, store, zeros
from bitreplay._kernels.m_step import m_step
from bitreplay._kernels.products import BLOCK, TABLES

RUNNING, CONVERGED, DEGENERATE = 0, 1, 2

SMALLEST_WEIGHT = 1e-300  # a component that exists keeps a positive weight
WORD = 64  # bits


def working_memory(
    n_samples: int, n_features: int, groups: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], npt.NDArray[np.uint64]]:
    """Room for the kernels to work in: rows of eight in a cache line each, numbers of samples, and a block of bits.

    It comes from NumPy, because kernels that allocate nothing are compiled sooner.
    """
    padded = -(-n_features // WORD) * WORD
    kept = groups * (2 * n_samples + BLOCK + 2) + -(-n_samples // LANES)
    scoring = TABLES + BLOCK * -(-n_features // BLOCK) + n_features + -(-n_features // FACTORS)
    softening = n_samples + -(-2 * n_samples // LANES)
    averaging = TABLES + padded + padded // LANES
    n_rows = kept + max(scoring, softening, averaging)
    room = aligned_rows(n_rows)
    return room, np.empty(3 * n_samples + BLOCK + groups * LANES + 1, np.int32), np.empty(padded, np.uint64)


@part(
    "UniTuple(int64, 2)(uint64[:,::1], uint64[:,::1], uint64[:,::1], int64, float64[:,::1], float64[:,::1], int64, "
    "boolean, boolean, float64, float64, float64, int64, float64[:,::1], float64[::1], float64[:,::1], int32[::1], "
    "uint64[::1])"
)
def run_em(
    blocks,
    words,
    columns,
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
    room,
    places,
    chunks,
):
    """Run up to `steps` EM steps in place; return how many were done and why it stopped.

    `bounds[s]` becomes the objective per sample of the parameters before step `s`, and one more E-step writes that of
    the last ones. It stops early when the relative change falls under `tol`, or after a step (other than the last) that
    leaves a component with fewer than `min_count` samples. `counts` becomes the number of samples that each component's
    prototype rests on.
    """
    groups, n_samples = len(weights), len(words)
    padded = n_samples + BLOCK  # room to fill up the last 48 soft samples
    scores, responsibilities = rows(room, 0, groups * n_samples), rows(room, groups * n_samples, groups * padded)
    at = groups * (n_samples + padded)
    expected_counts, mass = rows(room, at, groups), rows(room, at + groups, groups)
    at += 2 * groups
    tops = line(room, LANES * at, n_samples)
    at += (n_samples + LANES - 1) // LANES
    rest = rows(room, at, len(room) - at)
    owners, soft = line(places, 0, n_samples), line(places, n_samples, padded)
    order = line(places, n_samples + padded, n_samples + LANES * groups + 1)
    for step in range(steps + 1):
        marginal, complete, n_soft = e_step(
            blocks,
            n_features,
            prototypes,
            weights,
            clamp,
            scores,
            tops,
            owners,
            soft,
            responsibilities,
            expected_counts,
            mass,
            rest,
        )
        bounds[step] = (complete if expected else marginal) / n_samples
        if step > 0 and abs(bounds[step] - bounds[step - 1]) < tol * abs(bounds[step]):
            return step, CONVERGED
        if step < steps:
            all_soft = n_soft == n_samples
            while n_soft % BLOCK:
                soft[n_soft] = 0
                for g in range(groups):
                    store(responsibilities, padded * g + n_soft, zeros(responsibilities))
                n_soft += 1
            m_step(
                words, columns, owners, soft, n_soft, all_soft, responsibilities, mass, prototypes, order, chunks, rest
            )
            smallest = math.inf
            for component in range(n_components):
                g, k = component // LANES, component % LANES
                count = expected_counts[g, k]
                counts[g, k] = count
                smallest = count if count < smallest else smallest
                if learn_weights:
                    share = count / n_samples
                    weights[g, k] = share if share > SMALLEST_WEIGHT else SMALLEST_WEIGHT
            if smallest < min_count and step + 1 < steps:  # after the last step the objective is wanted as well
                return step + 1, DEGENERATE
    return steps, RUNNING


@kernel(
    "void(uint64[:,::1], uint64[:,::1], uint64[:,::1], int64, float64[:,:,:,::1], float64[:,:,::1], int64, boolean, "
    "boolean, float64, float64, float64, int64[::1], float64[:,:,::1], float64[:,::1], int64[:,::1], float64[:,::1], "
    "int32[::1], uint64[::1])"
)
def run_all(
    blocks,
    words,
    columns,
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
    outcomes,
    room,
    places,
    chunks,
):
    """Run EM from several starts, each for its number of steps; `outcomes[r]` is what :func:`run_em` returns.

    One call for all of them, because between two calls a thread has to wait for the interpreter.
    """
    _, groups, padded, _ = prototypes.shape
    n_bounds = bounds.shape[1]
    for r in range(len(steps)):
        outcomes[r, 0], outcomes[r, 1] = run_em(
            blocks,
            words,
            columns,
            n_features,
            rows(prototypes, groups * padded * r, groups * padded),
            rows(weights, groups * r, groups),
            n_components,
            learn_weights,
            expected,
            clamp,
            tol,
            min_count,
            steps[r],
            rows(counts, groups * r, groups),
            line(bounds, n_bounds * r, n_bounds),
            room,
            places,
            chunks,
        )


@kernel("void(uint16[:,:,::1], float64[::1], float64[::1], float64, float64[:,:,::1])")
def write_starts(steps, lowest, width, margin, starts):
    """Random bits into the prototypes of starts, in one pass: in NumPy it is four, and takes many times as long.

    The eight lanes of every feature are its `lowest + width * steps`, but at least `margin` away from 0 and 1.

    Features beyond the last, which fill up a word, become 0.
    """
    n_rows, n_features, _ = starts.shape
    highest = 1.0 - margin
    for row in range(n_rows):
        for feature in range(len(lowest)):
            for lane in range(LANES):
                value = lowest[feature] + width[feature] * steps[row, feature, lane]
                value = value if value > margin else margin
                starts[row, feature, lane] = value if value < highest else highest
        written = rows(starts, row * n_features, n_features)
        for feature in range(len(lowest), n_features):
            store(written, feature, zeros(written))
