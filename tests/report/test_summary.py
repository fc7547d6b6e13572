"""The summary of a comparison says who made its runs, not who read them."""

import json
from dataclasses import replace

from bitreplay.evaluation import Provenance
from bitreplay.report import RunResult, write_summary
from tests.report.examples import one_state


def made_of(runs, path):
    write_summary(runs, path, {"dataset": "two"}, ["compare"])
    return json.loads(path.read_text(encoding="utf-8"))["made"]


def made_by(run, *parts):
    return RunResult(run.name, run.seed, replace(run.history, made=Provenance(*parts)))


def test_runs_say_themselves_when_and_where_they_were_made(tmp_path):
    runs = [
        made_by(one_state("GBM", 0, 80), "0.1.8", "2025-03-04", "a small machine", 23.04),
        made_by(one_state("GBM", 1, 82), "0.1.7", "2025-03-01", "a large machine", 100.0),
        made_by(one_state("FeTrIL", 0, 70), "0.1.7", "2025-03-02", "a large machine", 1.0),
    ]
    assert made_of(runs, tmp_path / "new" / "two.json") == {
        "version": "0.1.7, 0.1.8",
        "date": "2025-03-01 to 2025-03-04",
        "machine": "a large machine; a small machine",
        "seconds": 124.0,
    }


def test_one_run_that_stands_for_all_seeds_was_made_once(tmp_path):
    run = made_by(one_state("FeTrIL", 0, 70), "0.1.7", "2025-03-02", "a machine", 1.5)
    made = made_of([run, RunResult(run.name, 1, run.history)], tmp_path / "two.json")
    assert made == {"version": "0.1.7", "date": "2025-03-02", "machine": "a machine", "seconds": 1.5}


def test_who_made_the_runs_of_the_first_version_is_not_known(tmp_path):
    made = made_of([one_state("GBM", 0, 80)], tmp_path / "two.json")
    assert made == {"version": "unknown", "date": "unknown", "machine": "unknown", "seconds": 0}
