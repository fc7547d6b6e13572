"""The demo: the whole pipeline on digits, with a result that says what the library is for."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from bitreplay.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BITREPLAY_CACHE", str(folder / "cache"))
        assert main(["demo", "--output", str(folder / "out")]) == 0
    return folder / "out"


def test_memory_is_near_the_upper_bound_and_far_from_the_lower(folder: Path) -> None:
    rows = {
        row["method"]: float(row["final"]) for row in csv.DictReader((folder / "table.csv").read_text().splitlines())
    }
    assert set(rows) == {
        "FineTuning", "NearestMean", "GBM, closed form", "GBM, replay", "GBM, bayes", "Joint",
    }  # fmt: skip
    assert rows["FineTuning"] < 0.3
    assert rows["Joint"] > 0.95
    for head in ("closed form", "replay", "bayes"):
        assert rows[f"GBM, {head}"] > rows["Joint"] - 0.05
    assert rows["GBM, closed form"] > rows["NearestMean"]


def test_report_needs_no_other_file(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "GBM, closed form" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prototypes", "0"], "prototypes must be an integer of at least 1"),
        (["--bits", "17"], "bits"),
        (["--seed", "-1"], "seed must be an integer from 0 to 4294967295"),
    ],
)
def test_bad_options_are_refused_before_anything_happens(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(tmp_path / "out"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").write_text("x")
    assert main(["demo", "--output", str(tmp_path / "out")]) == 2
    assert "must be a folder" in capsys.readouterr().err
