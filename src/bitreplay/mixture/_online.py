"""Online EM: more samples of a mixture that has been fitted, **bits → memory**, without those it was fitted to.

Stepwise EM (Cappé and Moulines, "On-line expectation-maximization algorithm for latent data models", JRSS B 2009) with
the step 1/n: the sufficient statistics of a Bernoulli mixture are how many samples each prototype has had and their
mean, which is the prototype itself. New samples are shared out by the present mixture, and every prototype becomes the
mean of all samples it ever had. The cost is in proportion to the new samples.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.mixture._density import joint_log_probability, linear_form

Floats = npt.NDArray[np.float64]

SHARE = 16  # ours: a step takes up to 1/16 of the samples so far; benchmarks/stream_choices.py --share: as good as 1
NONE = 1e-9  # of a sample: a prototype that had none is where the first one puts it


def online_steps(
    prototypes: npt.ArrayLike, counts: npt.ArrayLike, bits: PackedBits, clamp: float, *, equal: bool = False
) -> tuple[Floats, Floats]:
    """Prototypes and their numbers of samples after more samples.

    Parameters
    ----------
    prototypes : array-like of shape (K, D)
        Means of the samples of each prototype so far.
    counts : array-like of shape (K,)
        How many those were, which need not be whole numbers.
    bits : PackedBits
        The new samples.
    clamp : float
        Prototypes are clamped to [clamp, 1 - clamp] wherever a logarithm is taken.
    equal : bool
        Share samples out as if all prototypes had the same mixing weight.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> prototypes, counts = online_steps([[1.0, 0.0], [0.0, 1.0]], [3, 2], pack([[1, 1], [0, 1]]), clamp=1e-6)
    >>> counts.round(2).tolist(), prototypes.round(2).tolist()  # the first sample is nearly as likely from either
    ([3.6, 3.4], [[1.0, 0.17], [0.12, 1.0]])
    """
    mu, n = np.array(prototypes, dtype=np.float64), np.array(counts, dtype=np.float64)
    begin = 0
    while begin < len(bits):
        some = bits[begin : begin + max(1, int(n.sum()) // SHARE)]
        begin += len(some)
        if len(n) == 1:
            shares = np.ones((len(some), 1))
        else:
            weights = np.ones(len(n)) if equal else np.maximum(n, NONE)
            joint = np.asarray(joint_log_probability(some, *linear_form(mu, weights, clamp)))
            shares = np.exp(joint - joint.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
        added = shares.sum(axis=0)
        n += added
        mu += (shares.T @ some.unpack(np.float64) - added[:, None] * mu) / np.maximum(n, NONE)[:, None]
    return mu.clip(0, 1), n
