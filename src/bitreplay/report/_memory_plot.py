"""Accuracy against its cost in bits."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bitreplay import metrics
from bitreplay._pages.look import LOOK, PAPER, bits_scale, figure, heading, quiet, styles, wide_enough
from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.numbers import points
from bitreplay._pages.words import setting_in_words
from bitreplay.report._curves import within_reach


def draw_memory(methods: Sequence[MethodRuns]) -> Figure | None:
    """Average accuracy against memory (filled) and working set (hollow), on a scale of powers of ten.

    The two are not added, because a decision may read the memory itself. None if there is nothing to
    compare: one method, or nothing stored at all.
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
        heading(made, "Average accuracy (%) against bits stored", setting_in_words(methods))
    return made
