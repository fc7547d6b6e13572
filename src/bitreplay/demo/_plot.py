"""The demo's picture: accuracy against the number of classes seen, once as a whole and once enlarged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from bitreplay.demo._results import Curve, Results

__all__ = ["draw", "spread", "write_plots"]

# Okabe and Ito's colours, which colour-blind readers can tell apart; markers say the same without colour.
STYLES: dict[str, dict[str, Any]] = {
    "fine-tuning": {"color": "#D55E00", "marker": "X", "ms": 6.5, "lw": 2.4},
    "nearest class mean": {"color": "#E69F00", "marker": "s", "lw": 1.4},
    "GBM, closed form": {"color": "#0072B2", "marker": "o", "lw": 2.4, "zorder": 4},
    "GBM, replay": {"color": "#009E73", "marker": "^", "lw": 1.4},
    "GBM, bayes": {"color": "#CC79A7", "marker": "D", "lw": 1.4},
    "all data at once": {"color": "#444444", "marker": "", "lw": 1.4, "ls": (0, (4, 2))},
}
FORGETS = "fine-tuning"
INK, FAINT = "#222222", "#666666"
LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": "#333333",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "lines.markersize": 4.5,
    "svg.hashsalt": "bitreplay",  # the same numbers give the same file
}


def write_plots(results: Results, folder: Path) -> list[Path]:
    """Write the picture as PNG and SVG into a folder; returns the files."""
    paths = [folder / "demo.png", folder / "demo.svg"]
    with matplotlib.rc_context(LOOK):
        figure = draw(results)
        figure.savefig(paths[0], dpi=200)
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def draw(results: Results) -> Figure:
    """The figure: on the left the whole scale, on the right the methods that do not forget, enlarged."""
    figure = Figure(figsize=(8.4, 4.0), layout="constrained")
    whole, enlarged = figure.subplots(1, 2, width_ratios=(1, 1.15))
    lasting = [curve for curve in results.curves if curve.name != FORGETS]
    for axes, curves in ((whole, results.curves), (enlarged, lasting)):
        for curve in curves:
            axes.plot(results.n_seen, [100 * a for a in curve.accuracy], mec="white", mew=0.6, **STYLES[curve.name])
        axes.set_xlabel("classes seen so far")
        axes.xaxis.set_major_locator(MultipleLocator(1))
        axes.grid(axis="y", color="#E6E6E6", lw=0.8)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
    whole.set_ylabel("accuracy on all of them (%)")
    _show_whole_scale(whole, results, lasting)
    _enlarge(enlarged, results, lasting)
    figure.suptitle(
        "Digits, one new class at a time: fine-tuning forgets, a memory does not",
        x=0.012, ha="left", fontsize=11.5, fontweight="bold", color=INK,
    )  # fmt: skip
    return figure


def _show_whole_scale(axes: Any, results: Results, lasting: Sequence[Curve]) -> None:
    """From 0 to 100 %, where all but fine-tuning lie close together and one name is enough for them."""
    axes.set_ylim(0, 102)
    axes.yaxis.set_major_locator(MultipleLocator(20))
    axes.set_title("the whole scale", loc="left", fontsize=9, color=FAINT)
    middle = len(results.n_seen) // 2
    for curve in results.curves:
        if curve.name == FORGETS:
            top = (results.n_seen[middle], 100 * curve.accuracy[middle])
            _note(axes, curve.name, top, (0, 7), ha="center", va="bottom", color=_ink(curve), fontweight="bold")
    lowest = (results.n_seen[middle], 100 * min(curve.accuracy[middle] for curve in lasting))
    _note(axes, "all others", lowest, (0, -8), ha="center", va="top", color=FAINT)


def _enlarge(axes: Any, results: Results, lasting: Sequence[Curve]) -> None:
    """The rest on a scale of its own, each curve named at its end with what it reaches and keeps."""
    values = [100 * a for curve in lasting for a in curve.accuracy]
    margin = max(0.5, 0.06 * (max(values) - min(values)))
    low, high = min(values) - margin, min(100.4, max(values) + margin)
    axes.set_ylim(low, high)
    axes.set_title("enlarged, with the bytes kept of old classes", loc="left", fontsize=9, color=FAINT)
    last = results.n_seen[-1]
    gap = 0.112 * (high - low)  # two lines of text in a panel of this height
    ends = [100 * curve.final for curve in lasting]
    for curve, end, y in zip(lasting, ends, spread(ends, gap, low + gap / 2, high - gap / 2), strict=True):
        leader = {"arrowstyle": "-", "color": STYLES[curve.name]["color"], "lw": 0.8, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (last + 0.1, end), (last + 0.45, y), arrowprops=leader, annotation_clip=False)
        place = (last + 0.52, y)
        _note(axes, f"{curve.name}  {end:.1f} %", place, (0, 0), va="bottom", color=_ink(curve), fontweight="bold")
        _note(axes, f"{curve.footprint.memory:,} bytes", place, (0, 0), va="top", color=FAINT, fontsize=8)


def _note(axes: Any, text: str, at: tuple[float, float], offset: tuple[float, float], **look: Any) -> None:
    axes.annotate(text, at, offset, textcoords="offset points", annotation_clip=False, **look)


def _ink(curve: Curve) -> tuple[float, ...]:
    """A curve's colour, darker: letters need more contrast than lines."""
    return tuple(0.78 * part for part in to_rgb(STYLES[curve.name]["color"]))


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places as near to the wanted ones as possible, in the same order, at least `gap` apart, within [low, high].

    Where there is no room for all within the limits, the gap wins.

    Examples
    --------
    >>> spread([5.0, 5.0, 9.0], gap=2, low=0, high=10)
    [4.0, 6.0, 9.0]
    """
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    groups: list[tuple[float, list[int]]] = []  # a block of touching places, by its middle
    for index in order:
        middle, members = wanted[index], [index]
        middle = _inside(middle, 1, gap, low, high)
        while groups and groups[-1][0] + (len(groups[-1][1]) + len(members)) / 2 * gap > middle + 1e-9:
            members = groups.pop()[1] + members
            middle = _inside(sum(wanted[i] for i in members) / len(members), len(members), gap, low, high)
        groups.append((middle, members))
    places = [0.0] * len(wanted)
    for middle, members in groups:
        for rank, index in enumerate(members):
            places[index] = middle + (rank - (len(members) - 1) / 2) * gap
    return places


def _inside(middle: float, size: int, gap: float, low: float, high: float) -> float:
    half = (size - 1) / 2 * gap
    return max(low + half, min(high - half, middle))
