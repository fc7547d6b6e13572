"""`bitreplay compare` and `bitreplay report`, as a user types them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import shlex
from pathlib import Path

import pytest

import bitreplay
from bitreplay import metrics
from bitreplay.cli import main
from bitreplay.evaluation import Provenance
from bitreplay.runs import Setting, Specification, find_runs, run_learner
from tests.runs.problems import SIZES, digits

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def setting(network: Path) -> list[str]:
    sizes = list(map(str, SIZES))
    return ["--dataset", "digits", "--encoder", str(network), "--sizes", *sizes, "--samples_per_class", "30"]


@pytest.fixture(scope="module")
def compared(setting: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    learners = ["--learners", "GBM:prototypes=2", "FeTrIL", "--seeds", "0", "1"]
    files = ["--output", str(folder / "runs"), "--results", str(folder / "results" / "digits.json")]
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setenv("BITREPLAY_CACHE", str(folder / "cache"))
        patch.setenv("COLUMNS", "200")
        assert main(["compare", *setting, *learners, *files]) == 0
    (folder / "printed").write_text(printed.getvalue(), encoding="utf-8")
    return folder / "runs"


def test_one_table_of_all(compared: Path) -> None:
    printed = (compared.parent / "printed").read_text(encoding="utf-8")
    for run in ("GBM:prototypes=2, seed 0", "GBM:prototypes=2, seed 1", "FeTrIL, seed 0", "FeTrIL, seed 1"):
        assert f"{run}: average" in printed
    assert "±" in printed
    assert f"report:  {compared / 'report.html'}" in printed
    assert {path.name for path in compared.iterdir() if path.is_file()} == {
        "report.html", "table.md", "table.csv", "states.csv",
    }  # fmt: skip
    rows = list(csv.DictReader((compared / "table.csv").read_text().splitlines()))
    histories = [run.result().history for run in find_runs([compared]) if run.name == "FeTrIL"]
    assert [row["method"] for row in rows] == ["GBM:prototypes=2", "FeTrIL"]
    assert float(rows[1]["final"]) == pytest.approx(sum(metrics.final(history) for history in histories) / 2)
    assert (compared / "table.md").read_text(encoding="utf-8").count("\n| ") == 2


def test_numbers_as_json_with_the_command_that_gives_them_again(compared: Path) -> None:
    content = json.loads((compared.parent / "results" / "digits.json").read_text(encoding="utf-8"))
    assert content["tasks"] == "5 + 3 + 2"
    assert content["setting"]["dataset"] == "digits"
    assert content["setting"]["sizes"] == SIZES
    assert [(row["method"], row["seeds"]) for row in content["methods"]] == [
        ("GBM:prototypes=2", [0, 1]),
        ("FeTrIL", [0, 1]),
    ]
    runs = [run.result().history for run in find_runs([compared]) if run.name == "GBM:prototypes=2"]
    row = content["methods"][0]
    assert row["average"] == pytest.approx(sum(metrics.average(history) for history in runs) / 2, abs=1e-6)
    assert row["memory_bits"] == runs[0].memory_bits[-1]
    assert len(row["per_state"]) == len(SIZES)
    made = [run.result().history.made for run in find_runs([compared])]
    assert content["made"] == {
        "version": bitreplay.__version__,
        "date": Provenance.now().date,
        "machine": Provenance.now().machine,
        "seconds": pytest.approx(sum(each.seconds for each in made), abs=0.1),
    }
    assert not {"date", "machine", "bitreplay"} & set(content)
    words = shlex.split(content["command"])
    assert words[:2] == ["bitreplay", "compare"]
    written = sorted(path.name for path in compared.iterdir())
    assert main([*words[1:], "--output", str(compared)]) == 0
    assert sorted(path.name for path in compared.iterdir()) == written  # the same runs


def test_what_the_network_reached_stands_beside_what_learners_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    files = ["--output", str(tmp_path / "runs"), "--results", str(tmp_path / "digits.json")]
    training = ["--training.epochs", "2", "--training.nesterov=false"]
    tasks = ["--dataset", "digits", "--sizes", "2", "8", *training]
    assert main(["compare", *tasks, "--learners", "NearestMean", *files]) == 0
    setting = Setting("digits", sizes=[2, 8], training={"epochs": 2, "nesterov": False})
    reached = setting.trained(setting.scenario(), progress=False).accuracy
    written = json.loads((tmp_path / "digits.json").read_text(encoding="utf-8"))
    assert written["network"] == reached
    assert " ".join(training) in written["command"]
    assert set(reached) == {"plain", "plain_then_binarized", "straight_through"}


def test_wrong_learners_and_seeds_are_refused_before_anything_runs(
    setting: list[str], tmp_path: Path, capsys: Capture
) -> None:
    for options, said in (
        (["--learners", "GBM", "FeTril"], "there is no learner 'FeTril'"),
        (["--learners", "GBM:bitts=2"], "GBM has no option 'bitts'"),
        (["--learners", "GBM", "GBM"], "named twice"),
        (["--learners", "GBM", "--seeds", "0", "-1"], "seed must be an integer of at least 0; got -1"),
        (["--learners", "GBM", "--n_jobs", "0"], "n_jobs must be"),
    ):
        assert main(["compare", *setting, "--output", str(tmp_path / "runs"), *options]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_there_is_one_road_to_table_1(capsys: Capture) -> None:
    assert main(["compare", "--preset", "table-1"]) == 2
    assert "got 'table-1'; for that table: bitreplay reproduce table-1\n" in capsys.readouterr().err


# ------------------------------------------------------------------ report


def test_runs_side_by_side(compared: Path, network: Path, tmp_path: Path, capsys: Capture) -> None:
    nearest = Specification.parse("NearestMean")
    other = run_learner(digits(network), nearest, 0, tmp_path / "runs").path
    folders = [str(compared), str(other)]
    assert main(["report", *folders, "--output", str(tmp_path / "report"), "--title", "All", "--table", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    names = ["GBM:prototypes=2", "NearestMean", "FeTrIL"]
    assert [row["method"].partition(" (")[0] for row in rows] == names
    assert "<h1>All</h1>" in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")

    # What differs between settings becomes part of the names.
    run_learner(digits(network, samples_per_class=10), nearest, 0, tmp_path / "runs")
    assert main(["report", str(tmp_path / "runs"), "--table", "markdown"]) == 0
    printed = capsys.readouterr().out
    assert printed == (tmp_path / "runs" / "table.md").read_text(encoding="utf-8")
    assert "| NearestMean (samples_per_class=30) |" in printed
    assert "| NearestMean (samples_per_class=10) |" in printed


def test_a_report_of_nothing(tmp_path: Path, capsys: Capture) -> None:
    for folder, said in ((tmp_path, "there is no finished run in"), (tmp_path / "absent", "there is no folder")):
        assert main(["report", str(folder)]) == 2
        assert said in capsys.readouterr().err
