"""The t-SNE maps of figure 5: samples in light, pseudo-exemplars in dark shades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bitreplay._pages.look import COLOURS, EDGE, LOOK, figure, heading
from bitreplay.bits import PackedBits
from bitreplay.experiments._class_bits import draw
from bitreplay.experiments._samples_distances import PROTOTYPES
from bitreplay.memory import BinaryMemory

Classes = Mapping[int, tuple[PackedBits, Sequence[BinaryMemory]]]  # samples, and a memory per K, by label
Floats = npt.NDArray[np.float64]
PERPLEXITY = 30.0  # van der Maaten and Hinton 2008: 5 to 50
LIGHT, DARK = 0.55, 0.25  # share of white in the shade of samples, and of black in that of pseudo-exemplars


def draw_samples(
    groups: Mapping[tuple[str, int], Classes], names: Sequence[str], points: int, seed: int, data: str
) -> Figure:
    """A column for every group of classes and p, a row for every K."""
    with matplotlib.rc_context(LOOK):
        made = figure(4.9)
        made.set_dpi(200)  # of the points, which are pixels also in SVG: ten thousand shapes would be megabytes
        panels = made.subplots(len(PROTOTYPES), len(groups), squeeze=False)
        for column, ((group, p), classes) in enumerate(groups.items()):
            samples, drawn = embed(classes, points, seed)
            for row, k in enumerate(PROTOTYPES):
                axes = panels[row, column]
                for colour, real, pseudo in zip(COLOURS, samples, drawn[row], strict=False):
                    look = {"linewidths": 0, "rasterized": True}
                    axes.scatter(*real.T, s=9, marker="o", color=_mixed(colour, 1.0, LIGHT), **look)
                    axes.scatter(*pseudo.T, s=7, marker="^", color=_mixed(colour, 0.0, DARK), zorder=3, **look)
                axes.set_xticks([])
                axes.set_yticks([])
                axes.spines[:].set_visible(True)
                axes.set_aspect("equal", adjustable="datalim")
                if row == 0:
                    axes.set_title(f"{group}\np = {p}", fontsize=8.5)
                if column == 0:
                    axes.set_ylabel(f"K = {k}")
            for line, (label, colour) in enumerate(zip(classes, COLOURS, strict=False)):
                place = {"transform": panels[-1, column].transAxes, "va": "top", "fontsize": 8}
                panels[-1, column].text(
                    0, -0.05 - 0.1 * line, f"● {names[label]}", color=_mixed(colour, 0, DARK), **place
                )
        handles = [
            Line2D([], [], linestyle="", marker="o", color=_mixed(EDGE, 1.0, LIGHT), ms=5, label="samples"),
            Line2D([], [], linestyle="", marker="^", color=_mixed(EDGE, 0.0, DARK), ms=5, label="pseudo-exemplars"),
        ]
        made.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8.5, handletextpad=0.2)
        heading(made, "Samples and pseudo-exemplars (t-SNE)", f"data: {data} · up to {points} of each per class")
    return made


def embed(classes: Classes, points: int, seed: int) -> tuple[list[Floats], list[list[Floats]]]:
    """Positions in the plane of the samples of every class, and of as many pseudo-exemplars for every K."""
    from sklearn.manifold import TSNE  # here: no other command should wait for it

    parts = [bits[:points].unpack(np.float32) for bits, _ in classes.values()]
    sizes = [len(part) for part in parts]
    for row in range(len(PROTOTYPES)):
        for (label, (_, memories)), size in zip(classes.items(), sizes, strict=True):
            parts.append(draw(memories[row], label, size, seed).astype(np.float32))
    together = np.concatenate(parts)
    perplexity = min(PERPLEXITY, (len(together) - 1) / 3)  # few samples have few neighbours
    places = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(together)
    pieces = np.split(places.astype(np.float64), np.cumsum([len(part) for part in parts])[:-1])
    n = len(classes)
    return pieces[:n], [pieces[n * row : n * (row + 1)] for row in range(1, len(PROTOTYPES) + 1)]


def _mixed(colour: str, towards: float, share: float) -> tuple[float, float, float]:
    """A colour mixed with white (1) or black (0)."""
    red, green, blue = ((1 - share) * part + share * towards for part in to_rgb(colour))
    return red, green, blue
