"""Figure 6: average accuracy against memory with a fully binary network: latent replay, GBM over q and over K (sec.
5.2).
"""

from __future__ import annotations

from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from bitreplay import metrics
from bitreplay._pages.look import COLOURS, GRID, LOOK, MARKERS, PAPER, figure, heading, quiet
from bitreplay._pages.numbers import bits as in_bits
from bitreplay._pages.words import setting_in_words
from bitreplay.experiments._experiment import Cell, Drawing, Experiment, Outcome, Request, Scale, Table
from bitreplay.experiments._memory_claims import Measured, at_equal_memory, claims, finding
from bitreplay.experiments._networks import BINARY_NETWORKS, binary_network_of
from bitreplay.runs import Setting

EXEMPLARS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # E: "ranging from 1 to 500"
BITS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 32)  # q of K = 1: "from 1 to 32"
PROTOTYPES = (1, 2, 4, 8, 16)  # K of q = 8: "from 1 to 16"
SEEDS = [0, 1, 2]
# But for paper scale, 2 epochs, which reach what 5 do (results/choices/replay_options_cifar100.txt), and a linear G,
# its rate chosen for LR and GBM alike on held-out samples of task 0 (results/choices/replay_rates_binary_vgg.txt).
REPLAY = {"paper": ",architecture=binary"}
QUICK = ",epochs=2,learning_rate=0.003"
SERIES = {  # with the letter of what varies
    "LR": ("E", "latent replay over E"),
    "q": ("q", "GBM over q, K = 1"),
    "K": ("K", "GBM over K, q = 8"),
    "q closed": ("q", "over q, closed form"),
    "K closed": ("K", "over K, closed form"),
}
BELOW, ABOVE, RIGHT, LEFT = (0, -13, "center"), (0, 5, "center"), (6, -9, "left"), (-7, -3, "right")  # in points
NAMED = {  # values shown next to their points, and where
    "LR": {**dict.fromkeys((1, 10, 100), RIGHT), 500: BELOW},
    "q": {1: LEFT, 2: RIGHT, 3: RIGHT, 8: BELOW, 32: (-16, -13, "center")},
    "K": {16: ABOVE},
}
LINEAR = (
    "G is a linear layer of 32-bit weights, trained for 2 epochs per task; the paper's G is binary. LR and GBM train "
    "it in the same way."
)
TRAINED: dict[Scale, str] = {
    "cpu": f"The network is trained for 20 epochs (preset cpu_binary). {LINEAR}",
    "full": f"The network is trained for 100 epochs (preset full_binary). {LINEAR}",
    "paper": "The paper does not say how it trains the binary network and G: preset full_binary, and Adam for G.",
}
COMPARED = (
    "A prototype of q bits takes as much memory as q exemplars, so LR is compared at E = q: between two measured E, "
    "its accuracy is interpolated over the logarithm of the memory."
)


def memory_figure(request: Request) -> Outcome:
    """Run the three series, GBM's also in closed form."""
    own = binary_network_of(request)
    replay = REPLAY.get(request.scale, QUICK)
    learners = {
        "LR": {e: f"LatentReplay:exemplars={e}{replay}" for e in EXEMPLARS},
        "q": {q: f"GBM:prototypes=1,bits={q},head=replay,objective=expected{replay}" for q in BITS},
        "K": {k: f"GBM:prototypes={k},bits=8,head=replay,objective=expected{replay}" for k in PROTOTYPES},
        "q closed": {q: f"GBM:prototypes=1,bits={q}" for q in BITS},
        "K closed": {k: f"GBM:prototypes={k},bits=8" for k in PROTOTYPES},
    }
    names = dict.fromkeys(name for series in learners.values() for name in series.values())  # K = 1, q = 8 is in two
    methods = request.methods(Setting(**{**own, **request.setting}), names, SEEDS)
    measured = {name: {value: methods[text] for value, text in own.items()} for name, own in learners.items()}
    drawing = Drawing(draw_memory_figure(measured), "memory", "Average accuracy against memory for old classes")
    remarks = [finding(measured), TRAINED[request.scale] if request.network is None else LINEAR, COMPARED]
    return Outcome([_table(measured)], [drawing], claims(measured), remarks)


def _table(measured: Measured) -> Table:
    rows: list[list[Cell]] = []
    for name, methods in measured.items():
        letter, _ = SERIES[name]
        for value, method in methods.items():
            average, final = method.measure(metrics.average), method.measure(metrics.final)
            latent = float(at_equal_memory(measured["LR"], method.memory).mean())
            head = "closed form" if name.endswith("closed") else "replay"
            row: list[Cell] = [f"{'LR' if name == 'LR' else 'GBM'} {letter} = {value}", head, method.memory]
            rows.append([*row, *average, *final, latent, method.seconds])
    shares = ["average", "± average", "final", "± final", "LR at equal memory"]
    columns = ["method", "head", "memory", *shares, "learning"]
    title = "Accuracy and memory; LR at equal memory is interpolated"
    return Table("memory", title, columns, rows, shares, ["memory"], ["learning"])


def draw_memory_figure(measured: Measured) -> Figure:
    """All series over the logarithm of the memory; the closed form is hollow and dashed."""
    with matplotlib.rc_context(LOOK):
        made = figure(4.4)
        axes: Any = made.subplots()
        axes.set_xscale("log")
        for place, (name, methods) in enumerate(measured.items()):
            sizes = [method.memory for method in methods.values()]
            points = [method.measure(metrics.average) for method in methods.values()]
            hollow = name.endswith("closed")
            colour, marker = COLOURS[place - 2 * hollow], MARKERS[place - 2 * hollow]
            look = {"color": colour, "marker": marker, "ms": 5, "elinewidth": 1, "label": SERIES[name][1]}
            if hollow:
                look |= {"mfc": PAPER, "mec": colour, "linestyle": (0, (4, 2)), "linewidth": 1}
            else:
                look |= {"mec": PAPER, "mew": 0.5}
            axes.errorbar(sizes, [100 * p.mean for p in points], [100 * (p.std or 0.0) for p in points], **look)
            for value, (right, above, side) in NAMED.get(name, {}).items():
                method = methods[value]
                axes.annotate(
                    f"{SERIES[name][0]}={value}", (method.memory, 100 * method.measure(metrics.average).mean),
                    (right, above), textcoords="offset points", ha=side, fontsize=7.5, color=colour,
                )  # fmt: skip
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: in_bits(size).replace(".0", "")))
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.set_xlabel("memory of all classes in the end (bits)")
        axes.set_ylabel("average accuracy (%)")
        axes.margins(x=0.08, y=0.1)
        quiet(axes)
        made.legend(loc="outside lower left", ncols=3, fontsize=8.5, columnspacing=1.4)
        first = next(iter(measured["LR"].values()))
        heading(made, "Accuracy against memory", f"{setting_in_words([first])} · bars: standard deviation")
    return made


FIGURE_6 = Experiment(
    title="Accuracy against memory with a fully binary network (figure 6)",
    shows="How many bits per class does a generative memory need, and how many do exemplars need to match it?",
    duration={
        "cpu": "20 minutes with --n_jobs 2, plus an hour to train the network",
        "full": "an hour on one core, after the network's training",
        "paper": "a few hours on a GPU",
    },
    run=memory_figure,
    networks=BINARY_NETWORKS,
)
