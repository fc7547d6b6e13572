"""A small outcome with a table, a figure and claims, for tests of files, pages and commands."""

from __future__ import annotations

import matplotlib

from bitreplay.experiments import Claim, Drawing, Experiment, Outcome, Request, Table
from bitreplay.experiments._verdict import Verdict
from bitreplay.report._look import LOOK, figure, heading

ROWS = [["GBM, K=8", 3, 0.66341234, 8.2e6, 1.5], ["<b>none</b>", 1, None, 0, 0.25]]


def table(rows: list | None = None, name: str = "numbers") -> Table:
    columns = ["method", "seeds", "final", "memory", "learning"]
    return Table(name, "Final accuracy & memory", columns, rows or ROWS, ["final"], ["memory"], ["learning"])


def drawing(name: str = "curve") -> Drawing:
    with matplotlib.rc_context(LOOK):
        made = figure(2.0)
        axes = made.subplots()
        axes.plot([0, 1], [0.2, 0.8], marker="o", clip_on=True)
        axes.scatter([0, 1], [0.2, 0.8])  # its marker is a definition with an id, used twice
        heading(made, "A line", "for a test")
    return Drawing(made, name, 'What "rises" < what falls')


def outcome(**parts: object) -> Outcome:
    claims = [
        Claim("K = 8 > K = 1", "+1.2 points", Verdict(True, 0.001)),
        Claim("q = 8 is best", "q = 4 is", Verdict(False, 0.002)),
        Claim("T = 20 is harder", "one seed", Verdict(True, 0.3)),
    ]
    own = {"tables": [table()], "drawings": [drawing()], "claims": claims, "remarks": ["Synthetic & small."]}
    return Outcome(**{**own, **parts})


def an_experiment(title: str = "A table that is none", run: object = lambda request: outcome()) -> Experiment:
    return Experiment(title, "Does the page show it?", {"cpu": "no time", "paper": "no time either"}, run)


def request_of(calls: list[Request], **parts: object) -> object:
    """An experiment's function that notes how it was asked."""

    def run(request: Request) -> Outcome:
        calls.append(request)
        return outcome(**parts)

    return run
