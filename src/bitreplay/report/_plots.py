"""All plots of a report, with their captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from bitreplay._pages.methods import MethodRuns
from bitreplay.report._curves import draw_curves, draw_stability
from bitreplay.report._heatmaps import draw_confusion, draw_tasks
from bitreplay.report._memory_plot import draw_memory


@dataclass(frozen=True)
class Plot:
    """A figure, its file name without suffix, what it shows, and the method it belongs to, if any."""

    figure: Figure
    file: str
    words: str
    method: str | None = None


def draw_plots(methods: Sequence[MethodRuns], names: Mapping[str, str]) -> list[Plot]:
    """The plots that these methods allow: curves need more than one state, sizes something that is stored.

    `names` has a name for files for every method.
    """
    plots = []
    several = [method for method in methods if len(method.task_sizes) > 1]
    if several:
        band = " Bands: ± one standard deviation over the seeds." if any(len(m.seeds) > 1 for m in several) else ""
        words = f"Accuracy after each task on the test samples of all classes seen so far.{band}"
        plots.append(Plot(draw_curves(several), "curves", words))
        words = (
            "Stability and plasticity: accuracy on the classes of the first task (Init), of the latest task (New) and "
            "of those in between (Past). Curves that lie together mean that no class suffers for another."
        )
        plots.append(Plot(draw_stability(several), "stability", words))
    if memory := draw_memory(methods):
        words = (
            "Average accuracy against the bits stored for old classes (filled) and the weights and factors that a "
            "decision reads (hollow). Up and to the left is better."
        )
        plots.append(Plot(memory, "memory", words))
    for method in methods:
        file = names[method.name]
        if method in several:
            words = (
                f"{method.name}: accuracy after each task (row) on each task (column). "
                "A column that darkens downwards shows forgetting."
            )
            plots.append(Plot(draw_tasks(method), f"tasks-{file}", words, method.name))
        words = (
            f"{method.name}: what each true class (row) was predicted as in the end. The colour scale is a square root."
        )
        plots.append(Plot(draw_confusion(method), f"confusion-{file}", words, method.name))
    return plots
