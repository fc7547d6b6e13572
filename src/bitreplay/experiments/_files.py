"""The folder of an experiment: its numbers as JSON and CSV, its figures as SVG and PNG.

The page is written from these files alone, so earlier measurements appear on it exactly like new ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bitreplay._floor.files import write_bytes, write_text
from bitreplay._pages.files import png, svg
from bitreplay._pages.numbers import csv_text
from bitreplay.errors import FileFormatError
from bitreplay.evaluation import History, Provenance, made_in_words
from bitreplay.experiments._experiment import Cell, Claim, Experiment, Outcome, Request, Table
from bitreplay.experiments._verdict import Verdict
from bitreplay.runs import content_hash

OUTCOME = "outcome.json"


@dataclass(frozen=True)
class Measured:
    """An experiment as stored in its folder."""

    name: str
    title: str
    shows: str
    scale: str
    seeds: Sequence[int] | None
    command: str
    date: str
    machine: str
    version: str
    seconds: float
    tables: Sequence[Table]
    drawings: Mapping[str, str]  # what each shows, by name of file
    claims: Sequence[Claim]
    remarks: Sequence[str]
    folder: Path
    network: str = ""  # hash of the one that was given, if any; outcomes before 0.3.0 have none

    def svg(self, drawing: str) -> str:
        """A figure as SVG text."""
        return (self.folder / f"{drawing}.svg").read_text(encoding="utf-8")


def write_outcome(
    folder: Path, name: str, experiment: Experiment, outcome: Outcome, request: Request, seconds: float
) -> Measured:
    """Write all results; the JSON file last, so that a folder that has one is complete.

    Date and version come from the request's runs themselves: an outcome read from last week's runs carries last week's
    date. `seconds` is the time the experiment itself took, without those runs.

    Examples
    --------
    >>> import tempfile
    >>> outcome = Outcome([Table("sizes", "Prototypes", ["K", "final"], [[1, 0.62], [8, 0.66]], percent=["final"])])
    >>> experiment = Experiment("Prototypes", "Do more of them help?", {"cpu": "a second"}, lambda request: outcome)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     measured = write_outcome(Path(folder), "sizes", experiment, outcome, Request("cpu", Path(), [0]), seconds=1)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['outcome.json', 'sizes.csv']
    >>> measured.command, measured.tables[0].shown()
    ('bitreplay reproduce sizes --scale cpu --seeds 0', [['1', '62.0'], ['8', '66.0']])
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OUTCOME).unlink(missing_ok=True)
    for table in outcome.tables:
        write_text(folder / f"{table.name}.csv", csv_text([table.columns, *table.rows]))
    for drawing in outcome.drawings:
        write_text(folder / f"{drawing.name}.svg", svg(drawing.figure))
        write_bytes(folder / f"{drawing.name}.png", png(drawing.figure))
    histories = {run.path: run.history for run in request.runs if run.history is not None}.values()
    content = {
        "name": name,
        "title": experiment.title,
        "shows": experiment.shows,
        "scale": request.scale,
        "seeds": None if request.seeds is None else list(request.seeds),
        "command": command_of(name, request),
        **_made(list(histories), seconds),
        "tables": [_rounded(asdict(table)) for table in outcome.tables],
        "drawings": {drawing.name: drawing.words for drawing in outcome.drawings},
        "claims": [asdict(claim) for claim in outcome.claims],
        "remarks": list(outcome.remarks),
        **({} if request.network is None else {"network": content_hash(request.network)}),
    }
    write_text(folder / OUTCOME, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return read_outcome(folder / OUTCOME)


def command_of(name: str, request: Request) -> str:
    """The command that makes an outcome; a network given is named by its folder, wherever that is.

    Examples
    --------
    >>> command_of("table-4", Request("full", Path("runs"), [0, 1], network=Path("networks/b50")))
    'bitreplay reproduce table-4 --scale full --network b50 --seeds 0 1'
    """
    words = ["bitreplay", "reproduce", name, "--scale", request.scale]
    words += [] if request.network is None else ["--network", request.network.resolve().name]
    words += [word for option, value in request.setting.items() for word in (f"--{option}", str(value))]
    words += ["--learners", *request.learners] if request.learners else []
    words += ["--finished"] if request.finished else []
    return " ".join([*words, *(["--seeds", *map(str, request.seeds)] if request.seeds else [])])


def read_outcome(path: Path) -> Measured:
    """Read what :func:`write_outcome` wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["tables"] = [Table(**table) for table in content["tables"]]
        content["claims"] = [_claim(claim) for claim in content["claims"]]
        return Measured(**content, folder=path.parent)
    except (ValueError, KeyError, TypeError):
        raise FileFormatError(f"{path} is not the outcome of an experiment, or is damaged; delete it") from None


def _made(histories: Sequence[History], seconds: float) -> dict[str, Any]:
    """Where the outcome comes from: its runs or, if there are none, the present computation."""
    if not histories:
        return made_in_words([History.empty("the experiment", made=Provenance.now().longer(seconds))])
    made = made_in_words(histories)
    return {**made, "seconds": round(made["seconds"] + seconds, 1)}


def _claim(content: Mapping[str, Any]) -> Claim:
    """A claim as stored; 0.1.0 stored the decision without its probability."""
    if "verdict" in content:
        stored = content["verdict"]
        verdict = Verdict(**{**stored, "noises": tuple(stored.get("noises", ()))})
        if not isinstance(verdict.p, int | float):
            raise TypeError("p is not a number")
        return Claim(content["paper"], content["measured"], verdict)
    holds = content["holds"]
    verdict = Verdict.inconclusive() if holds is None else Verdict.fact(holds)
    return Claim(content["paper"], content["measured"], verdict)


def _rounded(table: dict[str, Any]) -> dict[str, Any]:
    """Rounded to six digits, so that changes of the seventh do not show; JSON has no NaN."""

    def rounded(cell: Cell) -> Cell:
        return (None if math.isnan(cell) else float(f"{cell:.6g}")) if isinstance(cell, float) else cell

    return {**table, "rows": [[rounded(cell) for cell in row] for row in table["rows"]]}
