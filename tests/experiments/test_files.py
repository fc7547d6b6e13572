"""The folder of an experiment: what is written is what is read, and half-written folders do not count."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from bitreplay.errors import FileFormatError
from bitreplay.evaluation import Provenance
from bitreplay.experiments import Request, read_outcome, write_outcome
from bitreplay.experiments._files import OUTCOME
from bitreplay.experiments._verdict import Verdict
from bitreplay.runs import RunFolder
from bitreplay.runs._folder import HISTORY, write_config
from tests.experiments.histories import history
from tests.experiments.outcomes import ROWS, an_experiment, drawing, outcome, table

SECONDS = 12.34
REQUEST = Request("cpu", Path("runs"), [0, 1])


def test_what_is_written_is_read(tmp_path):
    made, about = outcome(), an_experiment()
    written = write_outcome(tmp_path / "one", "table-9", about, made, REQUEST, SECONDS)
    found = read_outcome(tmp_path / "one" / OUTCOME)
    assert found == written
    assert (found.name, found.title, found.shows) == ("table-9", about.title, about.shows)
    assert found.command == "bitreplay reproduce table-9 --scale cpu --seeds 0 1"
    assert (found.scale, found.seeds, found.seconds) == ("cpu", [0, 1], 12.3)
    assert found.claims == made.claims
    assert [claim.verdict for claim in found.claims] == [  # as they are among three, by Holm
        Verdict(True, pytest.approx(0.003)),
        Verdict(False, pytest.approx(0.004)),
        Verdict(True, 0.3),
    ]
    assert found.remarks == made.remarks
    assert found.drawings == {"curve": made.drawings[0].words}
    assert found.tables[0].shown() == made.tables[0].shown()
    assert found.tables[0].rows[0][2] == 0.663412  # six digits


def test_the_command_without_seeds(tmp_path):
    found = write_outcome(
        tmp_path, "table-9", an_experiment(), outcome(drawings=[]), replace(REQUEST, seeds=None), SECONDS
    )
    assert found.command == "bitreplay reproduce table-9 --scale cpu"
    assert found.seeds is None


def test_csv_holds_the_table_unrounded(tmp_path):
    write_outcome(
        tmp_path,
        "table-9",
        an_experiment(),
        outcome(tables=[table(), table([['a, "b"\nc', 1, 0.5, 2, 3.0]], "more")]),
        REQUEST,
        SECONDS,
    )
    head, *rows = csv.reader(io.StringIO((tmp_path / "numbers.csv").read_text(encoding="utf-8")))
    assert head == table().columns
    assert rows == [["" if cell is None else str(cell) for cell in row] for row in ROWS]
    assert float(rows[0][2]) == ROWS[0][2]
    _, awkward = csv.reader(io.StringIO((tmp_path / "more.csv").read_text(encoding="utf-8")))
    assert awkward[0] == 'a, "b"\nc'


def test_figures_are_svg_and_png(tmp_path):
    found = write_outcome(tmp_path, "table-9", an_experiment(), outcome(), REQUEST, SECONDS)
    assert found.svg("curve").rstrip().endswith("</svg>")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_is_complete_only_with_its_json(tmp_path):
    write_outcome(tmp_path, "table-9", an_experiment(), outcome(), REQUEST, SECONDS)
    broken = replace(drawing(), figure=None)  # cannot be drawn: the second writing stops half-way
    with pytest.raises(AttributeError):
        write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[broken]), REQUEST, SECONDS)
    assert not (tmp_path / OUTCOME).exists()


def runs_of(output: Path, *made: Provenance) -> list[RunFolder]:
    """Runs that were made elsewhere and long ago, as they are read from their folders."""
    for seed, one in enumerate(made):
        folder = output / f"run-{seed}"
        folder.mkdir()
        write_config(folder, {"learner": "GBM", "seed": seed})
        text = replace(history([0.5, 0.6], samples=10), made=one).to_json()
        (folder / HISTORY).write_text(text, encoding="utf-8")
    return [RunFolder.read(output / f"run-{seed}") for seed in range(len(made))]


EARLIER = Provenance("0.1.7", "2025-03-01", "a large machine", 100.0)
LATER = Provenance("0.1.8", "2025-03-04", "a small machine", 23.0)


def test_an_outcome_says_who_made_its_runs_and_not_who_read_them(tmp_path):
    runs = runs_of(tmp_path, EARLIER, LATER)
    found = write_outcome(tmp_path / "one", "table-9", an_experiment(), outcome(), replace(REQUEST, runs=runs), SECONDS)
    assert found.version == "0.1.7, 0.1.8"
    assert found.date == "2025-03-01 to 2025-03-04"
    assert found.machine == "a large machine; a small machine"
    assert json.loads((tmp_path / "one" / OUTCOME).read_text(encoding="utf-8"))["date"] == found.date


def test_what_runs_took_is_part_of_the_duration_and_counts_once(tmp_path):
    first, second = runs_of(tmp_path, EARLIER, LATER)
    again = replace(first, config={**first.config, "seed": 1})  # nothing is random in it: it stands for another seed
    twice = RunFolder.read(first.path)  # and it is read for two tables of one experiment
    for runs in ([first, second], [first, again, second], [first, second, twice]):
        found = write_outcome(
            tmp_path, "table-9", an_experiment(), outcome(drawings=[]), replace(REQUEST, runs=runs), SECONDS
        )
        assert found.seconds == pytest.approx(100 + 23 + 12.3)


def test_an_outcome_without_runs_was_made_here_and_today(tmp_path):
    found = write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[]), REQUEST, SECONDS)
    now = Provenance.now()
    assert (found.version, found.date, found.machine) == (now.version, now.date, now.machine)


@pytest.mark.parametrize("holds", [True, False, None])
def test_outcomes_of_the_first_version_are_read(tmp_path, holds):
    write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[]), REQUEST, SECONDS)
    content = json.loads((tmp_path / OUTCOME).read_text(encoding="utf-8"))
    content["claims"] = [{"paper": "K = 8 > K = 1", "measured": "+1.2 points", "holds": holds}]
    (tmp_path / OUTCOME).write_text(json.dumps(content), encoding="utf-8")
    [claim] = read_outcome(tmp_path / OUTCOME).claims
    assert (claim.paper, claim.measured) == ("K = 8 > K = 1", "+1.2 points")
    assert claim.holds is holds


@pytest.mark.parametrize("damage", ["truncated", "no tables", "a list", "wrong rows", "no p", "not text"])
def test_damaged_files_are_named(tmp_path, damage):
    write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[]), REQUEST, SECONDS)
    path = tmp_path / OUTCOME
    content = json.loads(path.read_text(encoding="utf-8"))
    if damage == "truncated":
        path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    elif damage == "no tables":
        path.write_text(json.dumps({k: v for k, v in content.items() if k != "tables"}), encoding="utf-8")
    elif damage == "a list":
        path.write_text("[]", encoding="utf-8")
    elif damage == "wrong rows":
        path.write_text(json.dumps({**content, "claims": [{"paper": "x"}]}), encoding="utf-8")
    elif damage == "no p":
        claim = {**content["claims"][0], "verdict": {"positive": True}}
        path.write_text(json.dumps({**content, "claims": [claim]}), encoding="utf-8")
    else:
        path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match=r"outcome\.json is not the outcome of an experiment, or is damaged"):
        read_outcome(path)
