"""How far pseudo-exemplars are from samples, class by class: the numbers of figure 5, and its maps of correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from bitreplay._pages.look import FAINT, LOOK, figure, heading
from bitreplay.bits import PackedBits
from bitreplay.experiments._class_bits import draw
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import Mixture

Floats = npt.NDArray[np.float64]
PROTOTYPES = (1, 8)  # K
MAP = "cividis"  # the same for readers with and without full colour vision (Nunez et al. 2018)
LEAST_VARIANCE = 1e-6  # below it a bit is constant up to rounding: one in 500 samples has 2e-3


@dataclass(frozen=True)
class ClassDistances:
    """One class under a memory with K = 1 and another with K = 8.

    Frobenius distances are between the correlation matrices of samples and as many pseudo-exemplars (`drawn`),
    of samples and the mixture itself (`exact`: no sampling noise), and of two halves of the samples divided by
    sqrt(2) (`floor`: about the distance between two sets of samples of the same class). `nearest` is the share of bits
    in which a sample differs from the nearest pseudo-exemplar, or from the nearest other sample.
    """

    drawn_1: float
    drawn_8: float
    exact_1: float
    exact_8: float
    floor: float
    nearest_1: float
    nearest_8: float
    nearest_sample: float
    constant: int


def distances(bits: PackedBits, label: int, memories: Sequence[BinaryMemory], seed: int) -> ClassDistances:
    """Measure one class."""
    samples = bits.unpack(np.float64)
    order = np.random.default_rng([seed, label]).permutation(len(samples))
    halves = samples[order[::2]], samples[order[1::2]]
    measured = correlations(samples)
    found: dict[str, float] = {}
    for k, memory in zip(PROTOTYPES, memories, strict=True):
        drawn = draw(memory, label, len(samples), seed).astype(np.float64)
        found[f"drawn_{k}"] = _frobenius(measured, correlations(drawn))
        found[f"exact_{k}"] = _frobenius(measured, mixture_correlations(memory.mixture(label)))
        found[f"nearest_{k}"] = float(_differing(samples, drawn).min(axis=1).mean())
    others = _differing(samples, samples)
    np.fill_diagonal(others, np.inf)
    return ClassDistances(
        **found,
        floor=_frobenius(*map(correlations, halves)) / np.sqrt(2),
        nearest_sample=float(others.min(axis=1).mean()),
        constant=int((np.ptp(samples, axis=0) == 0).sum()),
    )


def correlations(bits: npt.NDArray[np.generic]) -> Floats:
    """Correlation of all pairs of bits (D, D) over rows; a constant bit counts as uncorrelated.

    Examples
    --------
    >>> correlations(np.array([[0, 1, 1], [1, 0, 1]])).round(6).tolist()
    [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    centred = np.asarray(bits, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    return _scaled(centred.T @ centred / len(centred))


def mixture_correlations(mixture: Mixture) -> Floats:
    """The same for infinitely many pseudo-exemplars: bits of one prototype are independent, prototypes differ."""
    prototypes = np.asarray(mixture.prototypes, dtype=np.float64)
    mean = mixture.weights @ prototypes
    covariance = (mixture.weights[:, None] * prototypes).T @ prototypes - np.outer(mean, mean)
    np.fill_diagonal(covariance, mean * (1 - mean))
    return _scaled(covariance)


def _scaled(covariance: Floats) -> Floats:
    variance = np.diagonal(covariance)
    scale = np.where(variance > LEAST_VARIANCE, 1 / np.sqrt(np.maximum(variance, LEAST_VARIANCE)), 0)
    made = covariance * scale * scale[:, None]
    np.fill_diagonal(made, 1)
    return made


def _frobenius(one: Floats, other: Floats) -> float:
    return float(np.linalg.norm(one - other))


def _differing(rows: Floats, others: Floats) -> Floats:
    """Share of bits in which each pair of rows differs."""
    ones, other_ones = rows.sum(axis=1), others.sum(axis=1)
    return np.asarray((ones[:, None] + other_ones - 2 * rows @ others.T) / rows.shape[1])


def draw_maps(
    samples: Mapping[int, PackedBits], memories: Mapping[int, Sequence[BinaryMemory]], label: int, seed: int, words: str
) -> Figure:
    """|correlation of samples - correlation of pseudo-exemplars| of one class: a row per p, a column per K."""
    maps = {}
    for p, bits in samples.items():
        measured = correlations(bits.unpack())
        for k, memory in zip(PROTOTYPES, memories[p], strict=True):
            maps[p, k] = np.abs(measured - correlations(draw(memory, label, len(bits), seed)))
    highest = float(np.quantile(np.concatenate([each.ravel() for each in maps.values()]), 0.995))
    with matplotlib.rc_context(LOOK):
        made = figure(2.9 * len(samples) + 0.8)
        panels = made.subplots(len(samples), 2, squeeze=False)
        for axes, ((p, k), values) in zip(panels.flat, maps.items(), strict=True):
            image = axes.imshow(values, cmap=MAP, vmin=0, vmax=highest)
            axes.set_title(f"p = {p}, K = {k}: Frobenius distance {np.linalg.norm(values):.1f}")
            axes.set_xlabel(f"bit, 0 to {len(values) - 1}", color=FAINT)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
        scale = made.colorbar(image, ax=panels, shrink=0.6, pad=0.02, label="absolute difference of the correlations")
        scale.outline.set_visible(False)
        scale.ax.tick_params(length=0)
        heading(made, "Correlations between bits: samples minus pseudo-exemplars", words)
    return made
