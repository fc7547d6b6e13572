"""The folder of an experiment: what is written is what is read, and half-written folders do not count."""

import csv
import io
import json
from dataclasses import replace

import pytest

from bitreplay.errors import FileFormatError
from bitreplay.experiments import read_outcome, write_outcome
from bitreplay.experiments._files import OUTCOME
from tests.experiments.outcomes import ROWS, an_experiment, drawing, outcome, table

WANTED = {"scale": "cpu", "seeds": [0, 1], "seconds": 12.34}


def test_what_is_written_is_read(tmp_path):
    made, about = outcome(), an_experiment()
    written = write_outcome(tmp_path / "one", "table-9", about, made, **WANTED)
    found = read_outcome(tmp_path / "one" / OUTCOME)
    assert found == written
    assert (found.name, found.title, found.shows) == ("table-9", about.title, about.shows)
    assert found.command == "bitreplay reproduce table-9 --scale cpu --seeds 0 1"
    assert (found.scale, found.seeds, found.seconds) == ("cpu", [0, 1], 12.3)
    assert found.claims == made.claims
    assert found.remarks == made.remarks
    assert found.drawings == {"curve": made.drawings[0].words}
    assert found.tables[0].shown() == made.tables[0].shown()
    assert found.tables[0].rows[0][2] == 0.663412  # six digits


def test_the_command_without_seeds(tmp_path):
    found = write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[]), **{**WANTED, "seeds": None})
    assert found.command == "bitreplay reproduce table-9 --scale cpu"
    assert found.seeds is None


def test_csv_holds_the_table_unrounded(tmp_path):
    write_outcome(
        tmp_path,
        "table-9",
        an_experiment(),
        outcome(tables=[table(), table([['a, "b"\nc', 1, 0.5, 2, 3.0]], "more")]),
        **WANTED,
    )
    head, *rows = csv.reader(io.StringIO((tmp_path / "numbers.csv").read_text(encoding="utf-8")))
    assert head == table().columns
    assert rows == [["" if cell is None else str(cell) for cell in row] for row in ROWS]
    assert float(rows[0][2]) == ROWS[0][2]
    _, awkward = csv.reader(io.StringIO((tmp_path / "more.csv").read_text(encoding="utf-8")))
    assert awkward[0] == 'a, "b"\nc'


def test_figures_are_svg_and_png(tmp_path):
    found = write_outcome(tmp_path, "table-9", an_experiment(), outcome(), **WANTED)
    assert found.svg("curve").rstrip().endswith("</svg>")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_is_complete_only_with_its_json(tmp_path):
    write_outcome(tmp_path, "table-9", an_experiment(), outcome(), **WANTED)
    broken = replace(drawing(), figure=None)  # cannot be drawn: the second writing stops half-way
    with pytest.raises(AttributeError):
        write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[broken]), **WANTED)
    assert not (tmp_path / OUTCOME).exists()


@pytest.mark.parametrize("damage", ["truncated", "no tables", "a list", "wrong rows", "not text"])
def test_damaged_files_are_named(tmp_path, damage):
    write_outcome(tmp_path, "table-9", an_experiment(), outcome(drawings=[]), **WANTED)
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
    else:
        path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileFormatError, match=r"outcome\.json is not the outcome of an experiment, or is damaged"):
        read_outcome(path)
