"""The log-probability of bits under Bernoulli mixtures, as one matrix product."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.bits import PackedBits, row_blocks

Floats = npt.NDArray[np.float64]


def linear_form(prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> tuple[Floats, Floats]:
    """Slopes (K, D) and offsets (K,) such that ``bits @ slopes.T + offsets`` is log pi_k + log p(bits | k).

    Examples
    --------
    >>> slopes, offsets = linear_form([[0.5, 0.25]], [1.0], clamp=1e-6)
    >>> float(np.exp(np.array([1, 0]) @ slopes.T + offsets).round(6)[0])  # 0.5 * 0.75
    0.375
    """
    mu = np.clip(np.asarray(prototypes, dtype=np.float64), clamp, 1 - clamp)
    log_zero = np.log1p(-mu)
    return np.log(mu) - log_zero, log_zero.sum(axis=-1) + np.log(np.asarray(weights, dtype=np.float64))


def joint_log_probability(bits: PackedBits | torch.Tensor, slopes: Floats, offsets: Floats) -> Floats | torch.Tensor:
    """Log pi_k + log p(z | k) for every row and component; a tensor is scored on its own device.

    Examples
    --------
    Two components; over each row their probabilities add up to that of the bits, and their shares are the posterior:

    >>> from bitreplay.bits import pack
    >>> slopes, offsets = linear_form([[0.5, 0.25], [0.5, 0.75]], [0.5, 0.5], clamp=1e-6)
    >>> joint = np.exp(joint_log_probability(pack([[1, 0], [0, 1]]), slopes, offsets))
    >>> joint.round(6)  # 0.5 * 0.5 * 0.75 and 0.5 * 0.5 * 0.25
    array([[0.1875, 0.0625],
           [0.0625, 0.1875]])
    >>> (joint / joint.sum(axis=1, keepdims=True)).round(6).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if isinstance(bits, torch.Tensor):
        dtype = torch.float32 if bits.device.type == "mps" else torch.float64
        w, b = (torch.from_numpy(a).to(bits.device, dtype) for a in (slopes, offsets))
        return bits.to(dtype) @ w.T + b
    scores = np.empty((len(bits), len(offsets)))
    for rows in row_blocks(len(bits), bits.n_features):
        np.matmul(bits[rows].unpack(np.float64), slopes.T, out=scores[rows])
    scores += offsets
    return scores
