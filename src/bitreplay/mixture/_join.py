"""Fits mixtures to a past and further samples, **bits → memory**: of the past's samples, only their mixture is left.

Pseudo-exemplars in their stead would bring noise of their own. Here the past has a say with its prototypes themselves.
The further samples are fitted alone, to more prototypes than there may be, and the prototypes of both are joined
pairwise, those that belong together first. A few steps of EM follow, in which a prototype of the past stands for as
many samples as it had: it is their mean (as in Vasconcelos and Lippman, "Learning mixture hierarchies", NIPS 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bitreplay.bits import PackedBits, row_blocks
from bitreplay.mixture._density import linear_form
from bitreplay.mixture._fit import Mixture, fit_mixtures
from bitreplay.mixture._options import EMOptions
from bitreplay.mixture._reduce import combine
from bitreplay.mixture._run import Floats

FINER = 3  # ours: benchmarks/stream_choices.py; times as many prototypes of the samples alone, of a third as many each
STEPS = 4  # ours: as above; of EM
NONE = 1e-9  # of a sample: a prototype that is left with none stays where it is


def join_mixtures(
    pasts: Sequence[Mixture],
    classes: Sequence[PackedBits],
    options: EMOptions,
    *,
    generators: Sequence[np.random.Generator],
    n_jobs: int = 1,
) -> list[Mixture]:
    """Mixtures of classes that have a past, and these samples since; arguments as of :func:`fit_mixtures`.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> past = Mixture(np.array([[1.0, 0.0]], dtype=np.float32), np.ones(1), count=20)
    >>> rng = np.random.default_rng(0)
    >>> [joined] = join_mixtures([past], [pack([[1, 0], [0, 1]] * 10)], EMOptions(n_components=2), generators=[rng])
    >>> joined.prototypes.round(2).tolist(), joined.weights.round(2).tolist(), joined.count
    ([[1.0, 0.0], [0.0, 1.0]], [0.75, 0.25], 40)
    """
    finer = replace(options, n_components=FINER * options.n_components, min_count=options.min_count / FINER)
    fitted = fit_mixtures(classes, finer, generators=generators, n_jobs=n_jobs)
    joined = []
    for past, bits, own in zip(pasts, classes, fitted, strict=True):
        start = combine([past, own], options.components_for(past.count + len(bits)))
        joined.append(_settled(start, past, bits, options))
    return joined


def _settled(start: Mixture, past: Mixture, bits: PackedBits, options: EMOptions) -> Mixture:
    """A mixture after steps of EM on the prototypes of the past, as often as they had samples, and on samples."""
    before, counts = past.prototypes.astype(np.float64), past.weights * past.count
    mu, n = start.prototypes.astype(np.float64), start.weights * start.count
    for _ in range(STEPS if len(n) > 1 else 0):
        weights = np.ones(len(n)) if options.weights == "fixed" else np.maximum(n, NONE)
        slopes, offsets = linear_form(mu, weights, options.clamp)
        own = _shares(before @ slopes.T + offsets) * counts[:, None]
        n, total = own.sum(axis=0), own.T @ before
        for rows in row_blocks(len(bits), bits.n_features):
            values = bits[rows].unpack(np.float64)
            own = _shares(values @ slopes.T + offsets)
            n, total = n + own.sum(axis=0), total + own.T @ values
        mu = np.where(n[:, None] > NONE, total / np.maximum(n, NONE)[:, None], mu)
    n = np.maximum(n, NONE)
    weights = np.full(len(n), 1 / len(n)) if options.weights == "fixed" else n / n.sum()
    return Mixture(mu.clip(0, 1).astype(np.float32), weights, start.count)


def _shares(joint: Floats) -> Floats:
    """How likely each component is, for every row."""
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
