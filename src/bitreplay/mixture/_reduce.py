"""Joins mixtures of one class into one with a given number of prototypes, without any sample.

Used when both sides of a merge know a class, and when a class with a past gets more samples (`_join`). Components are
joined pairwise, the cheapest pair first, where the cost of a pair is the loss of expected log-likelihood when both are
replaced by their weighted mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bitreplay.errors import InputError
from bitreplay.mixture._fit import Mixture
from bitreplay.mixture._run import Floats

TINY = 1e-300  # 0 log 0 is 0; NumPy's logarithm is quicker than functions that know


def combine(mixtures: Sequence[Mixture], n_components: int) -> Mixture:
    """The union of mixtures, weighted by their counts and reduced to at most `n_components` prototypes.

    Examples
    --------
    >>> a = Mixture(np.array([[0.0, 0.5]], dtype=np.float32), np.ones(1), count=30)
    >>> b = Mixture(np.array([[1.0, 0.5]], dtype=np.float32), np.ones(1), count=10)
    >>> joined = combine([a, b], 1)
    >>> joined.prototypes.tolist(), joined.count
    ([[0.25, 0.5]], 40)
    """
    if not mixtures:
        raise InputError("nothing to combine: expected at least one mixture")
    if n_components < 1:
        raise InputError(f"n_components must be at least 1; got {n_components!r}")
    widths = sorted({mixture.prototypes.shape[1] for mixture in mixtures})
    if len(widths) > 1:
        raise InputError(f"mixtures of different widths cannot be combined: {widths}")
    count = sum(mixture.count for mixture in mixtures)
    prototypes = np.concatenate([mixture.prototypes for mixture in mixtures]).astype(np.float64)
    weights = np.concatenate([mixture.weights * (mixture.count / count) for mixture in mixtures])
    entropies = _entropy(prototypes)
    costs = np.full((len(weights), len(weights)), np.inf)  # of pairs, above the diagonal
    for i in range(len(weights)):
        costs[i, i + 1 :] = _costs(i, slice(i + 1, None), prototypes, weights, entropies)
    while len(weights) > n_components:
        i, j = divmod(int(np.argmin(costs)), len(weights))
        total = weights[i] + weights[j]
        prototypes[i] = (weights[i] * prototypes[i] + weights[j] * prototypes[j]) / total
        weights[i], entropies[i] = total, _entropy(prototypes[i])
        prototypes, weights, entropies = (np.delete(a, j, axis=0) for a in (prototypes, weights, entropies))
        costs = np.delete(np.delete(costs, j, axis=0), j, axis=1)
        costs[:i, i] = _costs(i, slice(i), prototypes, weights, entropies)
        costs[i, i + 1 :] = _costs(i, slice(i + 1, None), prototypes, weights, entropies)
    return Mixture(prototypes.astype(np.float32), weights / weights.sum(), count)


def _entropy(prototypes: Floats) -> Floats:
    """Entropy in nats of the bits drawn from each prototype."""
    zeros = 1 - prototypes
    terms = prototypes * np.log(np.maximum(prototypes, TINY)) + zeros * np.log(np.maximum(zeros, TINY))
    return np.asarray(-terms.sum(axis=-1))


def _costs(i: int, others: slice, prototypes: Floats, weights: Floats, entropies: Floats) -> Floats:
    """Expected log-likelihood that is lost when prototype `i` and each of the others become one."""
    total = weights[i] + weights[others]
    means = (weights[i] * prototypes[i] + weights[others, None] * prototypes[others]) / total[:, None]
    return np.asarray(total * _entropy(means) - (weights[i] * entropies[i] + weights[others] * entropies[others]))
