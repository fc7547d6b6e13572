"""What the kernels compute, in plain NumPy: to be read, and to be compared with. Nothing in the package calls it.

============  =====================================================================================
`product`     sums of weights over the bits that are set (`products`): scores of heads, both steps of EM
`em`          EM for one Bernoulli mixture (`em`, made of `e_step` and `m_step`), from given `starts`
`draw`        pseudo-exemplars (`sampler`)
`convolve`    a binary convolution: XNOR and count (`layers`)
`add_rows`    the gradient of a table of which rows were summed (`rows`)
`change`      a small matrix along both axes of small arrays (`winograd`): of kernels, maps of 2x2, and tiles
============  =====================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bits = npt.NDArray[np.bool_]

# Winograd's F(4x4, 3x3) for the points 0, 1, -1, 2, -2 and infinity (Lavin & Gray 2016): tiles of six inputs along an
# axis into the domain, B^T, and four outputs out of it, A^T.
INTO_DOMAIN = np.array(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
OUT_OF_DOMAIN = np.array([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])


def product(bits: Bits, weights: npt.NDArray[Any]) -> Floats:
    """Sums of the weights (outputs, D) of the bits that are set in each row."""
    return bits.astype(np.float64) @ weights.T.astype(np.float64)


def joint_log_probability(bits: Bits, prototypes: npt.ArrayLike, weights: npt.ArrayLike, clamp: float) -> Floats:
    """Log pi_k + sum_j z_ij log mu_kj + (1 - z_ij) log(1 - mu_kj), with mu in [clamp, 1 - clamp]."""
    mu = np.clip(np.asarray(prototypes, dtype=np.float64), clamp, 1 - clamp)
    return np.asarray(np.log(weights) + product(bits, np.log(mu)) + product(~bits, np.log(1 - mu)))


def log_sum(scores: Floats) -> Floats:
    """Log sum_k exp(scores[i, k]) of every row."""
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(scores - top).sum(axis=1)))


@dataclass
class FittedByEM:
    """Where EM has got to: parameters, the samples each component rests on, and the objective after 0, 1, ... steps."""

    prototypes: Floats
    weights: Floats
    counts: Floats
    bounds: list[float]


def em(
    bits: Bits,
    prototypes: Floats,
    weights: Floats,
    steps: int,
    *,
    clamp: float,
    objective: str = "likelihood",
    learn_weights: bool = True,
) -> FittedByEM:
    """Exactly `steps` EM steps from the given parameters (sec. 3.1 of the paper)."""
    prototypes, weights, counts = prototypes.copy(), weights.copy(), np.zeros(len(weights))
    bounds = []
    for step in range(steps + 1):
        scores = joint_log_probability(bits, prototypes, weights, clamp)
        evidence = log_sum(scores)
        responsibilities = np.exp(scores - evidence[:, None])
        per_sample = evidence if objective == "likelihood" else (responsibilities * scores).sum(axis=1)
        bounds.append(float(per_sample.mean()))
        if step < steps:
            counts = responsibilities.sum(axis=0)
            prototypes = responsibilities.T @ bits.astype(np.float64) / counts[:, None]
            if learn_weights:
                weights = counts / len(bits)
    return FittedByEM(prototypes, weights, counts, bounds)


def starts(steps: npt.NDArray[np.uint16], lowest: Floats, width: Floats, margin: float) -> Floats:
    """Prototypes (starts, D) at `lowest + width * steps`, but `margin` away from 0 and 1."""
    return np.clip(lowest + width * steps, margin, 1 - margin)


def draw(
    prototypes: Floats, probabilities: Floats, n: int, generator: np.random.Generator
) -> tuple[Bits, npt.NDArray[np.intp]]:
    """A component for each of `n` rows by its probability, then every bit by its prototype (sec. 3.2)."""
    components = generator.choice(len(prototypes), size=n, p=probabilities / probabilities.sum())
    return generator.random((n, prototypes.shape[1])) < prototypes[components], components


def convolve(signs: npt.NDArray[Any], kernels: npt.NDArray[Any], stride: int = 1) -> npt.NDArray[np.int64]:
    """Sums of products of ±1: maps (C, H, W), padded already, with kernels (outputs, C, size, size)."""
    size = kernels.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(signs, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    return np.asarray(np.einsum("chwij,ocij->ohw", windows.astype(np.int64), kernels.astype(np.int64)))


def add_rows(table: Floats, rows: npt.NDArray[np.int64], values: Floats) -> Floats:
    """The table with ``values[i]`` added to each of the rows ``rows[i]``."""
    added = table.copy()
    for numbers, value in zip(rows, values, strict=True):
        np.add.at(added, numbers, value)
    return added


def change(arrays: npt.NDArray[Any], matrix: npt.NDArray[Any]) -> Floats:
    """M a M^T of arrays (N, size, size, channels), as (after, after, N, channels)."""
    return np.asarray(np.einsum("iy,nyxc,jx->ijnc", matrix, arrays.astype(np.float64), matrix))
