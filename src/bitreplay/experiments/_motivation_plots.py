"""The drawings of figure 1: frequencies of bits, a prototype with its pseudo-exemplars, and the modes of a class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from bitreplay._pages.look import COLOURS, FAINT, LOOK, figure, heading, quiet
from bitreplay.experiments._class_bits import Bits
from bitreplay.experiments._samples_distances import correlations

Floats = npt.NDArray[np.float64]
MAP = "Blues"  # white to dark blue: 0 and 1 are as far apart for every reader as in print
BINS = 20
BITS, DRAWN = 64, 10  # bits and rows of the prototype's drawing: wide enough to be seen


def draw_frequencies(frequencies: Floats, n_initial: int, words: str) -> Figure:
    """Classes by bits; below, the distribution of frequencies, and the flip rates of the bits."""
    order = clustered(frequencies.T, "euclidean")
    mean = frequencies.mean(axis=0)
    within, over_all = 2 * (frequencies * (1 - frequencies)).mean(axis=0), 2 * mean * (1 - mean)
    rising = np.argsort(within, kind="stable")
    with matplotlib.rc_context(LOOK):
        made = figure(5.8)
        panels: Any = made.subplot_mosaic([["map", "map"], ["histogram", "flips"]], height_ratios=(3.2, 2))
        axes = panels["map"]
        _map(made, axes, frequencies[:, order], "set in share of samples (%)")
        axes.set_xlabel("bits, ordered by clustering", color=FAINT)
        axes.set_ylabel("classes, in learning order", color=FAINT)
        axes.set_yticks([0, n_initial, len(frequencies) - 1] if n_initial < len(frequencies) else [0])
        if n_initial < len(frequencies):
            axes.axhline(n_initial - 0.5, color=COLOURS[1], linewidth=1)
            axes.set_title("task 0 above the line, later tasks below", fontsize=8.5)

        axes = panels["histogram"]
        weights = np.full(frequencies.size, 100 / frequencies.size)
        axes.hist(100 * frequencies.ravel(), BINS, range=(0, 100), weights=weights, color=COLOURS[0], rwidth=0.9)
        axes.set_xlabel("how often a bit is set in a class (%)")
        axes.set_ylabel("share of all bits (%)")

        axes = panels["flips"]
        axes.plot(100 * over_all[rising], color=COLOURS[4], linewidth=0, marker=".", ms=3, label="any two samples")
        axes.plot(100 * within[rising], color=COLOURS[0], label="two of one class")
        axes.set_xlabel("bits, by flip rate")
        axes.set_ylabel("differs between (%)")
        axes.legend(loc="upper left", fontsize=8)
        axes.set_ylim(0, 75)  # at most 50: what is above is for the legend
        for name in ("histogram", "flips"):
            quiet(panels[name])
        heading(made, "How often every bit is set, class by class", words)
    return made


def draw_prototype(samples: Bits, prototype: Floats, drawn: Bits, words: str) -> Figure:
    """Samples, their frequencies, and draws from these: the bits that vary most, in their order."""
    bits = np.sort(np.argsort(-prototype * (1 - prototype), kind="stable")[:BITS])
    parts: dict[str, npt.NDArray[Any]] = {
        "samples": samples[:DRAWN, bits],
        "prototype": prototype[None, bits],
        "pseudo-\nexemplars": drawn[:DRAWN, bits],
    }
    with matplotlib.rc_context(LOOK):
        made = figure(3.9)
        panels = made.subplots(3, 1, sharex=True, height_ratios=[len(part) + 0.3 for part in parts.values()])
        for axes, (name, part) in zip(panels, parts.items(), strict=True):
            image = axes.imshow(100.0 * part, cmap=MAP, vmin=0, vmax=100, aspect="auto", interpolation="nearest")
            axes.set_yticks([])
            axes.set_ylabel(name, rotation=0, ha="right", va="center")
            axes.set_xticks([])
            axes.spines[:].set_visible(True)
        panels[-1].set_xlabel(f"the {len(bits)} bits that vary most", color=FAINT)
        _scale(made, image, panels, "set, or how often (%)")
        heading(made, "One prototype and pseudo-exemplars drawn from it", words)
    return made


def draw_clusters(parts: Mapping[str, Bits], words: str) -> Figure:
    """Rows by bits for samples and pseudo-exemplars: each with its own row order, bits ordered as in the first."""
    first = next(iter(parts.values()))
    varying = np.flatnonzero(np.ptp(first, axis=0))
    bits = varying[clustered(first[:, varying].T)]
    with matplotlib.rc_context(LOOK):
        made = figure(4.3)
        panels = made.subplots(1, len(parts), sharey=True)
        for axes, (name, part) in zip(panels, parts.items(), strict=True):
            ordered = part[clustered(part)][:, bits]
            axes.imshow(ordered, cmap=MAP, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
            axes.set_title(f"{name}\nmean |correlation| {mean_correlation(part, bits):.3f}", fontsize=8.5)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(True)
            axes.set_xlabel(f"{len(bits)} bits that vary", color=FAINT)
        panels[0].set_ylabel(f"{len(first)} rows, ordered by clustering", color=FAINT)
        heading(made, "Modes of a class: samples and pseudo-exemplars", words)
    return made


def mean_correlation(rows: Bits, bits: npt.NDArray[np.intp]) -> float:
    """Mean absolute correlation over all pairs of some bits: 0 for infinitely many draws from one prototype."""
    return float(np.abs(correlations(rows[:, bits])[np.triu_indices(len(bits), 1)]).mean())


def clustered(rows: npt.NDArray[Any], metric: str = "hamming") -> npt.NDArray[np.intp]:
    """An order of rows in which neighbours are alike: leaves of hierarchical clustering with average linkage.

    Examples
    --------
    >>> order = clustered(np.array([[0, 0, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]])).tolist()
    >>> sorted(order[:2]) in ([0, 2], [1, 3])
    True
    """
    from scipy.cluster.hierarchy import leaves_list, linkage  # here: no other command should wait for it

    if len(rows) < 2:
        return np.arange(len(rows))
    tree = linkage(np.asarray(rows, dtype=np.float64), "average", metric, optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.intp)


def _map(made: Figure, axes: Any, shares: Floats, label: str) -> None:
    image = axes.imshow(100 * shares, cmap=MAP, vmin=0, vmax=100, aspect="auto", interpolation="nearest")
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(True)
    _scale(made, image, axes, label)


def _scale(made: Figure, image: Any, axes: Any, label: str) -> None:
    scale = made.colorbar(image, ax=axes, pad=0.02, shrink=0.9, label=label)
    scale.outline.set_visible(False)
    scale.ax.tick_params(length=0)
