"""The first screen of docs/results.md: what was reproduced, at what scale, what differs; one figure and one table.

Everything comes from the outcomes in `results/experiments`; where one was measured at full scale too, that is shown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np

from bitreplay._pages.look import BOUND, COLOURS, FAINT, LOOK, MARKERS, PAPER, figure, heading, quiet
from bitreplay._pages.numbers import bits
from bitreplay.experiments import EXPERIMENTS, Measured
from bitreplay.experiments._binarizer_table import FACTORS
from bitreplay.experiments._binarizer_table import PUBLISHED as INITIAL
from bitreplay.experiments._experiment import Claim
from bitreplay.experiments._main_table import NOT_RUN
from bitreplay.experiments._published import EIGHT, HEAVISIDE, ONE, published
from bitreplay.experiments._ste_table import PUBLISHED as PHASE
from bitreplay.experiments._ste_table import PUBLISHED_PLAIN
from bitreplay.experiments._stopped import STOPPED
from bitreplay.experiments._tasks_table import CALIBRATED_ROW
from reproducibility_tables import remeasured

CURVES, TASKS, MAIN, SCALES = "figure-4", "table-1-tasks", "table-1", ("full", "cpu")
SHOWN = {"GBM K=8": EIGHT, "GBM K=1": ONE, "FeTrIL": "FeTrIL", "GBM closed form": "GBM", "NearestMean": "NearestMean"}
WORDS = {True: ("holds", "hold"), False: ("does not", "do not"), None: ("is inconclusive", "are inconclusive")}
NAMES = {learner: name for name, learner in SHOWN.items()} | {
    ONE + HEAVISIDE: "GBM^H_2 K=1",
    EIGHT + HEAVISIDE: "GBM^H_2 K=8",
    CALIBRATED_ROW: "GBM calibrated, p = 2, K = 16, q = 4",
    "RandomRidge:width=4096": "ridge on 4096 random features",
    "Joint": "Joint (bound)",
}
NETWORK, PHASES = "cifar100, 50 classes, resnet18, ", ("plain", "with a binarizer added", "trained with it")
PAPERS = {  # what the paper's networks reach in the same phases: its tables 3 and 2
    **{f"{NETWORK}thermometer, p = {p}": (PUBLISHED_PLAIN, *both) for p, both in PHASE.items()},
    **{f"{NETWORK}heaviside, f = {f}": (None, None, INITIAL["heaviside"][i][1]) for i, f in enumerate(FACTORS)},
}
OURS = "Ours:"  # how claims begin that are not the paper's
SCALE_WORDS = {
    "full": "scale *full*: the paper's ResNet-18 (width 64, stem of stride 1, 32 px), all of CIFAR-100, about 30 "
    "epochs instead of 160; a fifth of TinyImageNet, with a stem of stride 2 and 80 epochs; for table 1, half of the "
    "classes of CIFAR-100 and a smaller network",
    "cpu": "scale *cpu*: a narrower ResNet-18 (48 channels instead of 64, stem of stride 2; 16 for tables 1 to 3) and "
    "10 to 27 epochs, or an encoder given with its weights",
}
PART = "{full} as far as they have been run, all of them on {cpu}"
WHOLE = {  # how table 1 was measured
    "full": "50 classes of CIFAR-100 at 24 px with a ResNet-18 of width 32 and 30 epochs a task",
    "cpu": "20 classes of CIFAR-100 with ten epochs",
}
DIFFERS = """**What differs, and why.** The paper trains task 0 for 160 epochs on a GPU; two CPU cores allow a few
dozen, so the network is less accurate on task 0, and every average starts lower. Methods that train the whole network
in every task (`table-1`) were compared on {whole}. TinyImageNet is here with a fifth of
its images, CORe50 and QuickNet-Large not at all. [REPRODUCIBILITY.md](../REPRODUCIBILITY.md) says of every row which of
network, epochs and data stands between us and the published figure."""


def newest(measured: Sequence[Measured], name: str) -> Measured | None:
    """An experiment at the largest scale it was measured at."""
    found = {one.scale: one for one in measured if one.name == name}
    return next((found[scale] for scale in SCALES if scale in found), None)


def stamp(one: Measured) -> str:
    """Where a figure comes from."""
    return f"`{one.name}`, scale {one.scale}, bitreplay {one.version}, {one.date}"


def in_part(one: Measured) -> bool:
    """Whether only some of its methods were run."""
    return any(remark.startswith(NOT_RUN) for remark in one.remarks)


def first_screen(measured: Sequence[Measured], drawing: Path, link: str) -> str:
    """The words, the figure (written to `drawing`, shown as `link`) and the table."""
    table_1 = newest(measured, MAIN)
    whole = WHOLE["cpu" if table_1 is None else table_1.scale]
    if table_1 is not None and in_part(table_1):
        whole = PART.format(**WHOLE)
    parts = [_reproduced(measured), DIFFERS.format(whole=whole)]
    if curves := newest(measured, CURVES):
        draw(curves, drawing)
        words = "Accuracy over the tasks (left), and its average beside the paper's number (right)"
        parts.append(f"![{words}]({link})\n\n<sub>{words}: {stamp(curves)}; published: table 1 of the paper.</sub>")
    if tasks := newest(measured, TASKS):
        parts += [_table(tasks)]
    if networks := _networks(measured):
        parts.append(networks)
    return "\n\n".join(parts)


def counted(claims: Iterable[Claim]) -> str:
    """How many there are, and what became of them."""
    found = Counter(claim.holds for claim in claims)
    told = ", ".join(f"{found[holds]} {words[found[holds] > 1]}" for holds, words in WORDS.items() if found[holds])
    return f"{found.total()} claim{'s' * (found.total() != 1)}" + (f": {told}" if told else "")


def _reproduced(measured: Sequence[Measured]) -> str:
    lines = ["**What was reproduced.**", ""]
    for scale in SCALES:
        mine = [one for one in measured if one.scale == scale]
        if mine:
            judged = [one for one in mine if not remeasured(one.version)]
            older = ", ".join(one.name for one in mine if one.claims and one not in judged)
            papers, ours = ([claim for one in judged for claim in claims_of(one, kind)] for kind in (True, False))
            versions = " and ".join(sorted({version for one in mine for version in one.version.split(", ")}))
            theirs = sum(map(of_the_paper, mine))
            lines.append(
                f"- {theirs} tables and figures of the paper, some in other forms, and "
                f"{len(mine) - theirs} experiments beyond it, at "
                f"{SCALE_WORDS[scale]} (bitreplay {versions}); "
                f"the paper's {counted(papers)}"
                + (f"; ours, {counted(ours)}" if ours else "")
                + (f"; not counted: those of {older}, which 0.1.0 judged by other rules." if older else ".")
            )
    missing = [name for name in EXPERIMENTS if not any(one.name == name for one in measured)]
    if missing:
        lines.append(f"- Not measured: {', '.join(missing)}.")
    if not any(one.scale == "full" for one in measured):
        lines.append("- Nothing was measured at full scale yet.")
    return "\n".join(lines)


def of_the_paper(one: Measured) -> bool:
    """Whether it is a table or figure of the paper, or a form of one."""
    return one.name.startswith(("table-", "figure-"))


def claims_of(one: Measured, papers: bool) -> list[Claim]:
    """Its claims that are the paper's, or those that are ours."""
    return [claim for claim in one.claims if claim.paper.startswith(OURS) != papers]


def curves_of(one: Measured) -> dict[str, tuple[list[int], list[float]]]:
    """Classes and accuracy (%) by method."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    for table in one.tables:
        if table.name == "curves":
            for name, classes, accuracy, *_ in table.rows:
                places, values = found.setdefault(str(name), ([], []))
                places.append(int(classes or 0))
                values.append(100 * float(accuracy or 0))
    return found


def stopping(curves: Mapping[str, tuple[list[int], list[float]]]) -> tuple[list[int], list[float]]:
    """A network that never learns again: what the best one knows after task 0, of ever more classes."""
    classes, values = max(curves.values(), key=lambda one: one[1][0])
    return classes, [values[0] * classes[0] / seen for seen in classes]


def draw(one: Measured, path: Path) -> None:
    """Curves on the left, averages with the paper's on the right."""
    curves = {name: curve for name, curve in curves_of(one).items() if name in SHOWN}
    said = published("cifar100", 10)
    with matplotlib.rc_context(LOOK):
        made = figure(3.6)
        left, right = made.subplots(1, 2, width_ratios=(1.5, 1))
        left.plot(*stopping(curves), color=BOUND, linestyle=(0, (4, 2)), label=STOPPED)
        for place, (name, (classes, values)) in enumerate(curves.items()):
            look = {"color": COLOURS[place], "marker": MARKERS[place], "markeredgecolor": PAPER, "mew": 0.6}
            left.plot(classes, values, label=name, **look)
            right.plot([np.mean(values)], [name], linestyle="", **look)
            paper = said.get(SHOWN[name])
            if paper is not None:
                right.plot([np.mean(values), 100 * paper], [name, name], color=COLOURS[place], linewidth=1, zorder=1.8)
                right.plot([100 * paper], [name], linestyle="", marker=MARKERS[place], mfc=PAPER, mec=COLOURS[place])
        left.set_xlabel("classes seen so far")
        left.set_ylabel("accuracy (%)")
        right.set_xlabel("average (%)\nfilled: ours, hollow: the paper's")
        right.invert_yaxis()
        right.margins(x=0.1, y=0.15)
        for axes in (left, right):
            quiet(axes)
        right.tick_params(axis="y", colors=FAINT)
        made.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=3, fontsize=8.5)
        heading(made, "CIFAR-100, 50 + 10 x 5 classes", f"scale {one.scale} · bitreplay {one.version} · {one.date}")
        path.parent.mkdir(parents=True, exist_ok=True)
        made.savefig(path, metadata={"Date": None})


def _table(one: Measured) -> str:
    """Average accuracy by number of tasks, beside the paper's."""
    [table] = [table for table in one.tables if table.name.endswith("cifar100")]
    tasks = [column.partition("T=")[2] for column in table.columns if column.startswith("average, T=")]
    head = ["method", *(text for t in tasks for text in (f"T = {t}", "paper")), "final, T = 10", "memory"]
    lines = [f"| {' | '.join(head)} |", f"|:--|{'--:|' * (len(head) - 1)}"]
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        told = [NAMES.get(str(row[0]), str(row[0]))]
        for t in tasks:
            value, spread, paper = (cells[f"{kind}, T={t}"] for kind in ("average", "± average", "published"))
            told += [f"{_percent(value)} ± {_percent(spread)}" if spread else _percent(value), _percent(paper)]
        memory = cells.get("memory")  # outcomes of 0.1.0 have none
        told += [_percent(cells.get("final, T=10")), bits(memory) if isinstance(memory, float | int) else "-"]
        lines.append(f"| {' | '.join(told)} |")
    words = "Average accuracy (%) over all states, by number of tasks, beside the paper's table 1"
    return "\n".join([*lines, "", f"<sub>{words}: {stamp(one)}; ± over seeds of the learner.</sub>"])


def _networks(measured: Sequence[Measured]) -> str:
    """What our networks at full scale reach on the test images of task 0, beside the paper's."""
    networks: dict[tuple[str, tuple[object, ...]], list[Measured]] = {}  # by name and accuracies
    for one in measured:
        tables = [table for table in one.tables if one.scale == "full" and table.name == "networks"]
        for name, *values in (row for table in tables for row in table.rows):
            networks.setdefault((str(name), tuple(values)), []).append(one)
    if not networks:
        return ""
    head = ["network", *(text for phase in PHASES for text in (phase, "paper"))]
    lines = [f"| {' | '.join(head)} |", f"|:--|{'--:|' * (len(head) - 1)}"]
    several = [name for name, n in Counter(name for name, _ in networks).items() if n > 1]
    for (name, reached), users in networks.items():
        pairs = zip(reached, PAPERS.get(name, [None] * len(PHASES)), strict=True)
        whose = f" ({', '.join(one.name for one in users)})" if name in several else ""
        lines.append(f"| {' | '.join([name + whose, *(_percent(value) for pair in pairs for value in pair)])} |")
    shown = [one for users in networks.values() for one in users]
    versions = ", ".join(sorted({one.version for one in shown}))
    days = [day for one in shown for day in one.date.split(" to ")]
    dates = " to ".join(dict.fromkeys((min(days), max(days))))
    words = "Accuracy (%) of the networks on the test images of task 0, by phase, beside the paper's tables 3 and 2"
    return "\n".join([*lines, "", f"<sub>{words}: scale full, bitreplay {versions}, {dates}.</sub>"])


def _percent(value: object) -> str:
    return f"{100 * value:.1f}" if isinstance(value, float) else "-"
