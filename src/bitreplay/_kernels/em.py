"""EM for one Bernoulli mixture on packed bits (CPU): the loop over E-steps and M-steps.

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

from bitreplay._kernels.e_step import e_step
from bitreplay._kernels.lanes import LANES, kernel, rows_of_eight, use_widest_vectors
from bitreplay._kernels.m_step import m_step
from bitreplay._kernels.products import BLOCK

__all__ = ["CONVERGED", "DEGENERATE", "RUNNING", "run_all"]

RUNNING, CONVERGED, DEGENERATE = 0, 1, 2

SMALLEST_WEIGHT = 1e-300  # a component that exists keeps a positive weight


@kernel(
    "UniTuple(int64, 2)(uint64[:,::1], uint64[:,::1], uint64[:,::1], int64, float64[:,:,::1], float64[:,::1], int64, "
    "boolean, boolean, float64, float64, float64, int64, float64[:,::1], float64[::1])"
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
):
    """Run up to `steps` EM steps in place; return how many were done and why it stopped.

    `bounds[s]` becomes the objective per sample of the parameters before step `s`, and one more E-step writes that of
    the last ones. It stops early when the relative change falls under `tol`, or after a step (other than the last) that
    leaves a component with fewer than `min_count` samples. `counts` becomes the number of samples that each component's
    prototype rests on.
    """
    use_widest_vectors()
    groups, n_samples = len(prototypes), len(words)
    scores = rows_of_eight(groups * n_samples).reshape(groups, n_samples, LANES)
    padded = n_samples + BLOCK  # room to fill up the last 48 soft samples
    responsibilities = rows_of_eight(groups * padded).reshape(groups, padded, LANES)
    tops = np.empty(n_samples, dtype=np.float64)
    owners = np.empty(n_samples, dtype=np.int32)
    soft = np.empty(padded, dtype=np.int32)
    expected_counts = np.empty((groups, LANES), dtype=np.float64)
    mass = np.empty((groups, LANES), dtype=np.float64)
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
        )
        bounds[step] = (complete if expected else marginal) / n_samples
        if step > 0 and abs(bounds[step] - bounds[step - 1]) < tol * abs(bounds[step]):
            return step, CONVERGED
        if step < steps:
            all_soft = n_soft == n_samples
            while n_soft % BLOCK:
                soft[n_soft] = 0
                responsibilities[:, n_soft] = 0.0
                n_soft += 1
            m_step(words, columns, owners, soft[:n_soft], all_soft, responsibilities, mass, prototypes)
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


@kernel(
    "void(uint64[:,::1], uint64[:,::1], uint64[:,::1], int64, float64[:,:,:,::1], float64[:,:,::1], int64, boolean, "
    "boolean, float64, float64, float64, int64[::1], float64[:,:,::1], float64[:,::1], int64[:,::1])"
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
):
    """Run EM from several starts, each for its number of steps; `outcomes[r]` is what :func:`run_em` returns.

    One call for all of them, because between two calls a thread has to wait for the interpreter.
    """
    for r in range(len(prototypes)):
        outcomes[r, 0], outcomes[r, 1] = run_em(
            blocks,
            words,
            columns,
            n_features,
            prototypes[r],
            weights[r],
            n_components,
            learn_weights,
            expected,
            clamp,
            tol,
            min_count,
            steps[r],
            counts[r],
            bounds[r],
        )
