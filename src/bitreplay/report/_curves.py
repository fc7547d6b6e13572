"""Curves over the states: accuracy on all classes seen so far, and its parts on old and new classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bitreplay import metrics
from bitreplay._pages.look import (
    EDGE,
    INK,
    LOOK,
    PAPER,
    figure,
    heading,
    name_ends,
    places,
    quiet,
    state_ticks,
    styles,
    wide_enough,
)
from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.numbers import points
from bitreplay._pages.words import setting_in_words

REACH = 2 / 3  # of the best final accuracy: methods below it would squeeze all others into a line

GROUPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("init", {"label": "Init: task 0", "color": "#0072b2", "marker": "o"}),
    ("past", {"label": "Past: tasks in between", "color": "#e69f00", "marker": "s"}),
    ("new", {"label": "New: latest task", "color": "#009e73", "marker": "^"}),
    ("all", {"label": "all classes seen", "color": INK, "linewidth": 1.2, "linestyle": (0, (4, 2))}),
)


def within_reach(methods: Sequence[MethodRuns]) -> list[MethodRuns]:
    """Methods that do not collapse: those that end with at least two thirds of the best one's accuracy."""
    ends = [method.measure(metrics.final).mean for method in methods]
    return [method for method, end in zip(methods, ends, strict=True) if end >= REACH * max(ends)]


def draw_curves(methods: Sequence[MethodRuns]) -> Figure:
    """Accuracy in every state; where some methods collapse, once with them and once enlarged without them."""
    near = within_reach(methods)
    tall = max(2.6, 0.17 * len(near) + 0.6)
    with matplotlib.rc_context(LOOK):
        if len(near) == len(methods):
            made = figure(tall + 1.1)
            panels = [(made.subplots(), methods, tall)]
        else:
            made = figure(tall + 1.9 + 1.5)
            above, below = made.subplots(2, 1, sharex=True, height_ratios=(1.9, tall))
            panels = [(above, methods, 1.9), (below, near, tall)]
        for axes, shown, height in panels:
            _draw_panel(axes, shown, styles(methods), height, near)
        panels[-1][0].set_xlabel(places(methods[0].histories[0])[1])
        if len(panels) > 1:
            panels[0][0].set_ylim(bottom=0)
        heading(made, "Accuracy (%) on the test samples of all classes seen so far", setting_in_words(methods))
    return made


def _draw_panel(
    axes: Any, shown: Sequence[MethodRuns], looks: dict[str, dict[str, Any]], height: float, near: Sequence[MethodRuns]
) -> None:
    ends = []
    longest: tuple[int, ...] = ()
    for method in shown:
        mean, spread = method.curves(metrics.per_state)
        (seen, _), look = places(method.histories[0]), looks[method.name]
        axes.plot(seen, 100 * mean, **look)
        longest = max(longest, seen, key=len)
        if len(method.seeds) > 1:
            low, high = 100 * (mean - spread), 100 * (mean + spread)
            axes.fill_between(seen, low, high, color=look["color"], alpha=0.15, linewidth=0)
        ends.append((method, 100 * mean[-1], look))
    quiet(axes)
    axes.margins(x=0.02)
    state_ticks(axes, longest, most=11)
    axes.yaxis.set_major_locator(MaxNLocator(8, steps=(1, 2, 5, 10), integer=True))
    squeezed = len(shown) > len(near)
    if squeezed:
        axes.set_ylim(0, 100)
        apart = [(f"{method.name}  {points(end / 100)}", end, look) for method, end, look in ends if method not in near]
        highest = max(end for method, end, _ in ends if method in near)
        name_ends(axes, height, [*apart, ("the others: see below", highest, {"color": EDGE})])
    else:
        wide_enough(axes)
        name_ends(axes, height, [(f"{method.name}  {points(end / 100)}", end, look) for method, end, look in ends])


def draw_stability(methods: Sequence[MethodRuns]) -> Figure:
    """A panel for every method: accuracy on the classes of task 0, of the tasks in between, and of the newest.

    Panels share a scale, except for methods that collapse.
    """
    columns = min(3, len(methods))
    rows = -(-len(methods) // columns)
    parts = {method.name: _parts(method) for method in methods}
    near = within_reach(methods)
    values = np.concatenate([curve for method in near for curve in parts[method.name].values()])
    margin = max(1.0, 0.06 * float(np.nanmax(values) - np.nanmin(values)))
    scale = max(0.0, float(np.nanmin(values)) - margin), min(101.0, float(np.nanmax(values)) + margin)
    with matplotlib.rc_context(LOOK):
        made = figure(1.7 * rows + 1.4)
        panels = made.subplots(rows, columns, sharex=True, squeeze=False)
        for axes, method in zip(panels.flat, methods, strict=False):
            seen, _ = places(method.histories[0])
            for name, look in GROUPS:
                axes.plot(seen, parts[method.name][name], markeredgecolor=PAPER, mew=0.5, ms=4, **look)
            axes.set_ylim(*scale if method in near else (0, 101))
            axes.set_title(method.name if method in near else f"{method.name} (0 to 100 %)", fontsize=9)
            state_ticks(axes, seen, most=5)
            axes.yaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 4, 5, 10), integer=True))
            quiet(axes)
        for axes in panels.flat[len(methods) :]:
            axes.set_visible(False)
        for axes in panels.flat[max(0, len(methods) - columns) : len(methods)]:  # the lowest of each column
            axes.tick_params(labelbottom=True)
            axes.set_xlabel(places(methods[0].histories[0])[1])
        lines, labels = panels[0, 0].get_legend_handles_labels()
        made.legend(lines, labels, loc="outside lower left", ncols=4, fontsize=8.5, columnspacing=1.4)
        heading(made, "Stability and plasticity: accuracy (%) on old and new classes", setting_in_words(methods))
    return made


def _parts(method: MethodRuns) -> dict[str, npt.NDArray[np.float64]]:
    """The curves of a method's panel in percent, by name of the group."""
    every = [metrics.init_past_new(history) for history in method.histories]
    return {name: 100 * np.mean([getattr(groups, name) for groups in every], axis=0) for name, _ in GROUPS}
