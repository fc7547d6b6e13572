"""How all plots look: colours that colour-blind readers can distinguish, unobtrusive axes, names next to the curves.

Figures are drawn on their own canvas objects; pyplot and its global state are not used.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.numbers import bits
from bitreplay.evaluation import History

INK, FAINT, EDGE, GRID, PAPER = "#222222", "#666666", "#888888", "#e6e6e6", "#ffffff"

# Okabe and Ito's colours without black and yellow; markers and dashes say the same without colour.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
BOUND, BOUND_MARKERS = "#7f7f7f", ("p", "h")

LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": EDGE,
    "axes.labelcolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "legend.frameon": False,
    "lines.markersize": 4.5,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "bitreplay",  # the same numbers give the same file
    "svg.fonttype": "path",  # the same letters everywhere
}

WIDTH = 6.8  # inches: the text width of a paper, and legible on a phone held sideways
LETTER = 9 / 72  # inches of a line of text

STATES = "classes seen so far"
STRETCHES = "stretches of the stream so far"


def figure(height: float, width: float = WIDTH, *, arranged: bool = True) -> Figure:
    """An empty figure on its own canvas; `arranged`: matplotlib lays out all its parts, which takes time."""
    made = Figure(figsize=(width, height), layout="constrained" if arranged else None)
    FigureCanvasAgg(made)
    return made


def heading(made: Figure, title: str, setting: str) -> None:
    """A title, and in small print below it the setting, so that a plot can stand alone."""
    lines = [line.strip(" ·") for line in textwrap.wrap(setting, int(15 * made.get_figwidth()))]
    above = made.suptitle(title + "\n" * len(lines), x=0.012, ha="left", fontsize=11, fontweight="bold", color=INK)
    below = Annotation(
        "\n".join(lines),
        (0, 1),
        (0, -18),
        xycoords=above,
        textcoords="offset points",
        va="top",
        fontsize=8,
        color=FAINT,
    )
    made.add_artist(below)


def styles(methods: Sequence[MethodRuns]) -> dict[str, dict[str, Any]]:
    """Line styles by name of method; bounds are grey and dashed."""
    made: dict[str, dict[str, Any]] = {}
    look: dict[str, Any]
    competing = bounding = 0
    for method in methods:
        look = {"markeredgecolor": PAPER, "markeredgewidth": 0.6}
        if method.bound:
            look |= {"color": BOUND, "marker": BOUND_MARKERS[bounding % 2], "linestyle": (0, (4, 2))}
            bounding += 1
        else:
            dashed = (competing // len(COLOURS)) % 2
            look |= {
                "color": COLOURS[competing % len(COLOURS)],
                "marker": MARKERS[competing % len(MARKERS)],
                "linestyle": (0, (5, 1.5)) if dashed else "-",
            }
            competing += 1
        made[method.name] = look
    return made


def quiet(axes: Any) -> None:
    """Unobtrusive axes: a light horizontal grid, no tick marks."""
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)


def wide_enough(axes: Any, span: float = 5.0) -> None:
    """Percent on a scale that does not exaggerate tiny differences."""
    low, high = axes.get_ylim()
    missing = max(0.0, span - (high - low)) / 2
    axes.set_ylim(low - missing, high + missing)


def places(history: History) -> tuple[tuple[int, ...], str]:
    """Where on a horizontal axis the states stand, and what it shows: classes seen, or the stretches of a stream."""
    seen = history.classes_seen
    if len(set(seen)) == len(seen):
        return seen, STATES
    return tuple(range(len(seen))), STRETCHES


def state_ticks(axes: Any, seen: Sequence[int], most: int) -> None:
    """Ticks at states, not between them: every one, or every second, ... the last always."""
    step = -(-len(seen) // most)
    axes.xaxis.set_major_locator(FixedLocator(list(seen[::-1][::step][::-1])))


def name_ends(axes: Any, height: float, ends: Sequence[tuple[str, float, dict[str, Any]]]) -> None:
    """Write names next to the ends of curves, spread so that they do not touch, each connected to its end by a line.

    `axes` have their final limits and are about `height` inches high; `ends` are texts, heights of ends, and looks.
    """
    low, high = axes.get_ylim()
    gap = 1.25 * LETTER / height * (high - low)
    places = spread([end for _, end, _ in ends], gap, low + gap / 2, high - gap / 2)
    beside = axes.get_yaxis_transform()  # x in parts of the axes' width, y in data
    for (text, end, look), place in zip(ends, places, strict=True):
        line = {"linewidth": 1, "transform": beside, "clip_on": False}
        axes.plot([1.0, 1.045, 1.065], [end, place, place], color=look["color"], **line)
        axes.plot([1.065], [place], **look | line)
        axes.text(1.085, place, text, transform=beside, va="center", fontsize=8.5, color=INK)


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions as close to the wanted ones as possible, in the same order, at least `gap` apart, within [low, high].

    If they do not all fit within the limits, the gap takes precedence.

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


def bits_scale(axes: Any, low: float, high: float, nothing: float | None = None) -> None:
    """Powers of ten with units; to their left, separated by a line, zero bits."""
    first = int(np.ceil(np.log10(low)))
    high = max(1.8 * high, 1.2 * 10.0 ** (first + 1))  # two powers at least, or there would be no scale
    axes.set_xlim(low / 1.7, high)
    powers = [10.0**e for e in range(first, int(np.ceil(np.log10(high))))]
    axes.xaxis.set_major_locator(FixedLocator(powers if nothing is None else [nothing, *powers]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: "0" if x == nothing else bits(x).replace(".0", "")))
    for power in powers:
        axes.axvline(power, color=GRID, linewidth=0.8, zorder=0)
    if nothing is not None:
        axes.axvline(nothing * 10**0.3, color=EDGE, linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)
