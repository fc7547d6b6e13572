"""Accuracy against what it costs in bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bitreplay import metrics
from bitreplay.report._curves import within_reach
from bitreplay.report._look import EDGE, GRID, LOOK, PAPER, figure, heading, quiet, styles, wide_enough
from bitreplay.report._methods import MethodRuns
from bitreplay.report._numbers import bits, points
from bitreplay.report._words import setting_in_words

__all__ = ["bits_scale", "draw_memory"]


def draw_memory(methods: Sequence[MethodRuns]) -> Figure | None:
    """Average accuracy against memory (filled) and working set (hollow), on a scale of powers of ten.

    The two are not added, as what a decision reads may be the memory itself. None where there is nothing to
    compare: one method, or nothing kept at all.
    """
    near = within_reach(methods)
    sizes = {method.name: (method.memory, method.working_set) for method in near}
    positive = [size for pair in sizes.values() for size in pair if size > 0]
    if len(near) < 2 or not positive:
        return None
    least = 10.0 ** np.floor(np.log10(min(positive)))
    nothing = least / 10**0.6  # where 0 bits are drawn
    has_nothing = any(0 in pair for pair in sizes.values())
    with matplotlib.rc_context(LOOK):
        made = figure(max(3.6, 0.19 * len(near) + 1.8))
        axes = made.subplots()
        axes.set_xscale("log")
        looks, entries = styles(methods), []
        for method in near:
            memory, working = (max(size, nothing) for size in sizes[method.name])
            reached, look = method.measure(metrics.average), looks[method.name]
            y, colour, marker = 100 * reached.mean, look["color"], look["marker"]
            axes.plot([memory, working], [y, y], color=colour, linewidth=1, alpha=0.6)
            axes.plot(working, y, linestyle="", marker=marker, ms=6, mfc=PAPER, mec=colour, mew=1.2)
            error = 0 if reached.std is None else 100 * reached.std
            axes.errorbar(memory, y, yerr=error, color=colour, marker=marker, ms=7, elinewidth=1, mec=PAPER, mew=0.6)
            handle = Line2D([], [], linestyle="", color=colour, marker=marker, ms=6.5, mec=PAPER, mew=0.6)
            entries.append((reached.mean, handle, f"{method.name}  {points(reached.mean)}"))
        bits_scale(axes, least if not has_nothing else nothing, max(positive), nothing if has_nothing else None)
        wide_enough(axes)
        quiet(axes)
        far = [f"{m.name} {points(m.measure(metrics.average).mean)}" for m in methods if m not in near]
        missing = f"\nfar below, not drawn: {', '.join(far)}" if far else ""
        axes.set_xlabel(f"memory of old classes (filled) and working set (hollow){missing}")
        entries.sort(key=lambda entry: -entry[0])
        axes.legend(
            [entry[1] for entry in entries],
            [entry[2] for entry in entries],
            loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8.5, handletextpad=0.3, labelspacing=0.45,
        )  # fmt: skip
        heading(made, "Average accuracy (%) against bits kept", setting_in_words(methods))
    return made


def bits_scale(axes: Any, low: float, high: float, nothing: float | None = None) -> None:
    """Powers of ten with units; on their left, behind a line, no bits at all."""
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
