"""Beyond the paper: heads in closed form, by the mixtures' posterior and with a hidden layer against SGD replay.

All of them on the same memories, over K, q and p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bitreplay import metrics
from bitreplay._pages.look import COLOURS, FAINT, LOOK, MARKERS, PAPER, figure, heading, quiet
from bitreplay._pages.methods import MethodRuns
from bitreplay._pages.words import setting_in_words
from bitreplay.experiments._difference import Difference, difference, mean_difference
from bitreplay.experiments._experiment import Cell, Claim, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._networks import SMALL, check_thermometer, fits, network_of
from bitreplay.experiments._verdict import all_hold
from bitreplay.runs import Setting

WORDS = {
    "closed_form": "closed form",
    "replay": "replay (the paper)",
    "bayes": "posterior of the mixtures",
    "hidden": "replay, hidden layer",
}
OPTIONS = {"hidden": "replay,architecture=hidden"}  # what a head is called on the command line, if not so
PROTOTYPES, BITS, CODES = (1, 4, 8, 16), (2, 3, 4, 8), (1, 2, 4)  # K, q, p
CENTRE = {"K": 8, "q": 3, "p": 1}  # the default of GBM; one of the three is varied at a time
SEEDS = [0, 1, 2]
LABELS = {
    "K": "K, prototypes per class",
    "q": "q, bits per stored value",
    "p": "p, bits per feature",
}
REMARKS = (
    "One of K, q and p is varied; the others stay at K = 8, q = 3, p = 1.",
    "Options of the closed form and of the posterior are chosen on held-out samples of task 0; replay's come from "
    "its benchmark. Seeds are those of the learner.",
    "The hidden layer has 512 units and is trained by Adam at its usual rate, which was not tuned.",
)

EACH_P = (
    "Each p has its own network, because the thermometer is trained with the network; at cpu scale these are smaller, "
    "so accuracies differ from the other panels."
)

Place = tuple[str, int, str]  # what is varied, its value, the head


@dataclass(frozen=True)
class _Panel:
    """A parameter, its values, and the settings that they are measured on."""

    letter: str
    settings: Mapping[int, Setting]

    def learner(self, value: int, head: str) -> str:
        """The learner of a point; p is the network's."""
        at = {**CENTRE, self.letter: value}
        return f"GBM:prototypes={at['K']},bits={at['q']},head={OPTIONS.get(head, head)}"


def heads(request: Request) -> Outcome:
    """Run all heads over K, q and p."""
    check_thermometer(request, CENTRE["p"])
    network = Setting(**{**network_of(request), **request.setting})
    small = {**network_of(request, SMALL), **request.setting}
    panels = [
        _Panel("K", dict.fromkeys(PROTOTYPES, network)),
        _Panel("q", dict.fromkeys(BITS, network)),
    ]
    codes = [p for p in CODES if fits(request, p=p)]
    if len(codes) > 1:  # else the other panels have the only one
        panels.append(_Panel("p", {p: Setting(**{**small, "p": p}) for p in codes}))
    measured: dict[Place, MethodRuns] = {}
    for panel in panels:
        for value, setting in panel.settings.items():
            learners = {panel.learner(value, head): head for head in WORDS}
            for name, method in request.methods(setting, learners, SEEDS).items():
                measured[panel.letter, value, learners[name]] = method
    words = "Average accuracy of the heads on the same memories, over prototypes, bits per value and bits per feature"
    drawing = Drawing(draw_heads(measured), "heads", words)
    remarks = [_finding(measured), *REMARKS, *([EACH_P] if len(codes) > 1 else [])]
    return Outcome([_table(measured)], [drawing], _claims(measured), remarks)


def _table(measured: Mapping[Place, MethodRuns]) -> Table:
    rows: list[list[Cell]] = []
    for (letter, value, head), method in measured.items():
        average, final = method.measure(metrics.average), method.measure(metrics.final)
        sizes = method.memory, method.working_set, method.seconds
        rows.append([f"{letter} = {value}", WORDS[head], *average, *final, *sizes])
    shares = ["average", "± average", "final", "± final"]
    columns = ["varied", "head", *shares, "memory", "working set", "learning"]
    title = "Heads over K, q and p, one at a time around K = 8, q = 3, p = 1"
    return Table("heads", title, columns, rows, shares, ["memory", "working set"], ["learning"])


def draw_heads(measured: Mapping[Place, MethodRuns]) -> Figure:
    """A panel for each of K, q and p; the first two, on one network, share their scale."""
    looks = {
        head: {"color": COLOURS[i], "marker": MARKERS[i], "label": words, "markeredgecolor": PAPER, "mew": 0.6}
        for i, (head, words) in enumerate(WORDS.items())
    }
    with matplotlib.rc_context(LOOK):
        made = figure(3.5)
        letters = list(dict.fromkeys(letter for letter, _, _ in measured))
        panels = made.subplots(1, len(letters))
        panels[1].sharey(panels[0])
        for axes, letter in zip(panels, letters, strict=True):
            values = list(dict.fromkeys(value for varied, value, _ in measured if varied == letter))
            for head, look in looks.items():
                points = [measured[letter, value, head].measure(metrics.average) for value in values]
                errors = [100 * (point.std or 0.0) for point in points]
                axes.errorbar(range(len(values)), [100 * point.mean for point in points], errors, elinewidth=1, **look)
            axes.set_xticks(range(len(values)), map(str, values))
            axes.set_xlabel(LABELS[letter])
            axes.set_title("a network for each p" if letter == "p" else "on one network", fontsize=8.5, color=FAINT)
            axes.yaxis.set_major_locator(MaxNLocator(7, steps=(1, 2, 5, 10), integer=True))
            axes.margins(x=0.12, y=0.12)
            quiet(axes)
        panels[0].set_ylabel("average accuracy (%)")
        panels[1].tick_params(labelleft=False)
        handles, labels = panels[0].get_legend_handles_labels()
        made.legend(handles, labels, loc="outside lower left", ncols=4, fontsize=8.5, columnspacing=1.4)
        heading(made, "Heads on the same memories", _setting(measured))
    return made


def _setting(measured: Mapping[Place, MethodRuns]) -> str:
    first = next(iter(measured.values()))
    around = ", ".join(f"{letter} = {value}" for letter, value in CENTRE.items())
    return f"{setting_in_words([first])} · around {around} · bars: standard deviation"


def _over_replay(measured: Mapping[Place, MethodRuns], head: str, letters: Sequence[str]) -> Difference:
    """How much better a head is than replay, over all points where one of `letters` is varied.

    All gains of a seed are averaged, because they are not independent. The runs of the centre are in more than one
    panel, and count once.
    """
    pairs: dict[tuple[float, ...], tuple[MethodRuns, MethodRuns]] = {}
    for letter, value, name in measured:
        if name == head and letter in letters:
            pair = measured[letter, value, head], measured[letter, value, "replay"]
            reached = [metrics.average(history) for method in pair for history in method.histories]
            pairs[*{**CENTRE, letter: value}.values(), *reached] = pair  # on another network, others are reached
    return mean_difference(list(pairs.values()))


def _finding(measured: Mapping[Place, MethodRuns]) -> str:
    over = {words: _over_replay(measured, head, list(LABELS)) for head, words in WORDS.items() if head != "replay"}
    told = ", ".join(f"{words} {gain}" for words, gain in over.items())
    return f"Against replay, over all K, q and p: {told}."


def _claims(measured: Mapping[Place, MethodRuns]) -> list[Claim]:
    """The paper's claim about its own head, here with few bits per value; and another that it makes elsewhere."""
    more = difference(measured["K", 8, "replay"], measured["K", 1, "replay"])
    least = min(BITS)
    enough = {q: difference(measured["q", q, "replay"], measured["q", least, "replay"]) for q in BITS if q > least}
    return [
        Claim("K = 8 is better than K = 1 (table 1, q = 32)", f"replay, q = {CENTRE['q']}: {more}", more.verdict),
        Claim(
            "Ours: as with the binary network and K = 1 of sec. 5.2, q <= 2 is not enough, q >= 3 is",
            f"replay, K = {CENTRE['K']}, against q = {least}: " + ", ".join(f"q = {q}: {d}" for q, d in enough.items()),
            all_hold(one.verdict for one in enough.values()),
        ),
    ]


HEADS = Experiment(
    title="Closed form, posterior and replay with two kinds of G over K, q and p (not in the paper)",
    shows="Can a classifier in closed form replace SGD on pseudo-exemplars?",
    duration={
        "cpu": "half an hour on two cores",
        "full": "two hours on one core, after the trainings",
        "paper": "two hours, after three trainings on a GPU",
    },
    run=heads,
    networks=tuple({"p": p} for p in CODES),
)
