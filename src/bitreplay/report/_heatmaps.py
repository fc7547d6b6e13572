"""Maps: a method's accuracy by state and task, its final confusion matrix, and that of a model on photographs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from bitreplay import metrics
from bitreplay._pages.look import LOOK, figure, heading
from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.words import setting_in_words

MAP = "cividis"  # the same for readers with and without full colour vision (Nunez et al. 2018)
SIDE = 4.6  # inches
PLACE, SCALE = (0.12, 0.11, 0.75, 0.75), (0.89, 0.2, 0.022, 0.57)  # left, bottom, width and height, in parts of SIDE
NAMED_PLACE = (0.27, 0.25, 0.6, 0.6)  # with room for names
LONGEST_NAME = 16  # characters of a name in a drawing
DARK, LIGHT = "#111111", "#fafafa"  # letters on cells; not colours of the theme, as cells do not follow it
FEW_TASKS, FEW_CLASSES = 12, 12  # up to here numbers fit into the cells


def draw_tasks(method: MethodRuns) -> Figure:
    """Accuracy after each task (row) on each task (column)."""
    matrix, _ = method.curves(metrics.accuracy_matrix)
    with matplotlib.rc_context(LOOK):
        made = figure(SIDE, SIDE, arranged=False)
        axes = made.add_axes(PLACE)
        low, high = 10 * np.floor(10 * np.nanmin(matrix)), 10 * np.ceil(10 * np.nanmax(matrix))
        _map(made, axes, 100 * matrix, Normalize(low, max(high, low + 10)), 0 if len(matrix) <= FEW_TASKS else None)
        axes.set_xlabel("test samples of task")
        axes.set_ylabel("after learning task")
        heading(made, f"{method.name}: accuracy (%) per task", setting_in_words([method]))
    return made


def draw_confusion(method: MethodRuns) -> Figure:
    """Final share of each true class (row) predicted as each class (column), classes in learning order."""
    orders = {history.classes for history in method.histories}
    shown = method if len(orders) == 1 else MethodRuns(method.name, method.seeds[:1], method.histories[:1])
    matrix, _ = shown.curves(metrics.confusion)
    history = shown.histories[0]
    with matplotlib.rc_context(LOOK):
        made = figure(SIDE, SIDE, arranged=False)
        axes = made.add_axes(PLACE)
        # The square root shows rare confusions, which would all look like none.
        _map(made, axes, 100 * matrix, PowerNorm(0.5, 0, 100), 0.5 if len(matrix) <= FEW_CLASSES else None)
        ends = np.array(history.classes_seen)
        if len(matrix) <= 2 * FEW_CLASSES:
            names = [str(label) for label in history.learning_order]
            axes.set_xticks(range(len(matrix)), names)
            axes.set_yticks(range(len(matrix)), names)
            axes.set_xlabel("predicted class, in learning order")
            axes.set_ylabel("true class")
        else:
            middles = ends - np.array(history.task_sizes) / 2 - 0.5
            named = _far_enough(middles, len(matrix) / 25)
            names = [str(task) for task in named]
            axes.set_xticks(middles[named], names)
            axes.set_yticks(middles[named], names)
            axes.set_xlabel("predicted class, by task")
            axes.set_ylabel("true class, by task")
        for end in ends[:-1]:
            axes.axhline(end - 0.5, color=LIGHT, linewidth=0.4, alpha=0.7)
            axes.axvline(end - 0.5, color=LIGHT, linewidth=0.4, alpha=0.7)
        only = "" if shown is method else f" (seed {shown.seeds[0]}: the orders differ)"
        title = f"{method.name}: predicted classes (%){only}"
        heading(made, title, setting_in_words([method]))
    return made


def draw_classes(counts: npt.NDArray[np.int64], names: Sequence[str] | None, title: str) -> Figure:
    """Share of each true class (row) predicted as each class (column); with names if they are given."""
    shares = 100 * counts / np.maximum(counts.sum(1, keepdims=True), 1)
    with matplotlib.rc_context(LOOK):
        made = figure(SIDE, SIDE, arranged=False)
        axes = made.add_axes(NAMED_PLACE if names else PLACE)
        _map(made, axes, shares, PowerNorm(0.5, 0, 100), 0.5 if len(shares) <= FEW_CLASSES else None)
        if names is not None:
            short = [_literal(name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…") for name in names]
            size = min(7.5, 200 / len(names))
            axes.set_xticks(range(len(names)), short, rotation=90, fontsize=size)
            axes.set_yticks(range(len(names)), short, fontsize=size)
        axes.set_xlabel("predicted class")
        axes.set_ylabel("true class")
        heading(made, "Predicted classes (%)", _literal(title))
    return made


def _literal(name: str) -> str:
    """Text that matplotlib would otherwise read as a formula."""
    return name.replace("$", r"\$")


def _map(made: Figure, axes: Any, values: npt.NDArray[np.float64], norm: Any, least: float | None) -> None:
    """A square map with its scale; with numbers in the cells from `least` on, unless it is None."""
    image = axes.imshow(values, cmap=MAP, norm=norm, interpolation="nearest")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, labelsize=7.5)
    scale = made.colorbar(image, cax=made.add_axes(SCALE))
    scale.outline.set_visible(False)
    scale.ax.tick_params(length=0, labelsize=7.5)
    step = -(-len(values) // FEW_TASKS)
    axes.set_xticks(range(0, len(values), step))
    axes.set_yticks(range(0, len(values), step))
    if least is not None:
        for (row, column), value in np.ndenumerate(values):
            if not np.isnan(value) and value >= least:
                colour = DARK if norm(value) > 0.55 else LIGHT
                axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=7, color=colour)


def _far_enough(middles: npt.NDArray[np.float64], gap: float) -> list[int]:
    """Which tasks to name, so that their numbers do not touch."""
    named = [0]
    for task in range(1, len(middles)):
        if middles[task] - middles[named[-1]] >= gap:
            named.append(task)
    return named
