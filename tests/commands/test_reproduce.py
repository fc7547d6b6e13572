"""`bitreplay reproduce`: the list, what is missing, and that names fit together."""

import importlib
import time
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from bitreplay.cli import main
from bitreplay.errors import InputError
from bitreplay.evaluation import History, Provenance
from bitreplay.experiments import EXPERIMENTS, ExperimentName, Measured, Outcome, Request, read_outcome
from bitreplay.runs import Setting
from tests.experiments.outcomes import an_experiment, outcome, request_of
from tests.runs.problems import digits, save_network

reproduction = importlib.import_module("bitreplay.commands._reproduce")


def test_names_are_those_of_the_experiments():
    assert list(get_args(ExperimentName)) == list(EXPERIMENTS)


@pytest.mark.parametrize("arguments", [["--list"], []])
def test_the_list(capsys, arguments):
    assert main(["reproduce", *arguments]) == 0
    printed = capsys.readouterr().out
    for name, experiment in EXPERIMENTS.items():
        assert f"{name}  {experiment.title}" in printed
        assert experiment.shows in printed
        assert f"--scale paper: {experiment.duration['paper']}" in printed


def test_what_is_missing(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path))
    assert main(["reproduce", "table-5", "--scale", "paper", "--output", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: table-5 cannot run; the following is missing")
    assert "core50_128x128.zip" in error
    assert "quicknet_large_weights.h5" in error
    assert not (tmp_path / "runs").exists()


def test_unknown_experiments(capsys):
    assert main(["reproduce", "table-99"]) == 2
    names = ", ".join([*EXPERIMENTS, "all"])
    assert capsys.readouterr().err.startswith(f"error: --experiment: expected one of {names}, got 'table-99'")


def test_a_wrong_seed_is_refused_before_anything_begins(capsys):
    assert main(["reproduce", "table-1", "--seeds", "0", "-1"]) == 2
    assert "a seed must be an integer of at least 0; got -1" in capsys.readouterr().err


@pytest.fixture
def calls(monkeypatch) -> dict[str, list]:
    """Three experiments that are synthetic, the second with a figure: how each was asked for, by name."""
    asked: dict[str, list] = {"first": [], "second": [], "third": []}
    parts = {"first": {"drawings": []}, "second": {}, "third": {"drawings": []}}
    made = {name: an_experiment(f"The {name} one", request_of(asked[name], **parts[name])) for name in asked}
    monkeypatch.setattr(reproduction, "EXPERIMENTS", made)
    return asked


def test_one_experiment_and_its_page(calls, capsys, tmp_path):
    reproduction.reproduce("second", output=tmp_path, seeds=[3], n_jobs=2)
    [request] = calls["second"]
    assert (request.scale, request.output, request.seeds, request.n_jobs) == ("cpu", tmp_path / "runs", [3], 2)
    assert not calls["first"]
    assert sorted(path.name for path in (tmp_path / "second").iterdir()) == [
        "curve.png", "curve.svg", "numbers.csv", "outcome.json", "report.html",
    ]  # fmt: skip
    assert "The second one" in (tmp_path / "second" / "report.html").read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    assert "This takes about no time." in printed
    assert "the paper: q = 8 is best\n measured: q = 4 is: does not hold" in printed
    assert "66.3" in printed


@pytest.fixture
def asked(monkeypatch, network) -> list[Request]:
    """How the one experiment that there is was asked for: one that runs learners."""
    requests, setting = [], digits(network)

    def run(request: Request) -> Outcome:
        requests.append(request)
        request.compare(setting, ["NearestMean"], [0, 1])  # nothing is random in it: one run
        request.compare(setting, ["NearestMean", "GBM:prototypes=1"], [0])
        return outcome(drawings=[])

    monkeypatch.setattr(reproduction, "EXPERIMENTS", {"table-9": an_experiment(run=run)})
    return requests


def measure(folder: Path) -> Measured:
    reproduction.reproduce("table-9", output=folder)
    return read_outcome(folder / "table-9" / "outcome.json")


def say_elsewhere(folder: Path) -> None:
    """As if the runs had been made on another machine, long ago, in 100 s each."""
    paths = list((folder / "runs").rglob("history.json"))
    assert len(paths) == 2
    for path in paths:
        history = History.from_json(path.read_bytes())
        made = Provenance("0.1.7", "2025-03-01", "elsewhere", 100.0)
        path.write_text(replace(history, made=made).to_json(), encoding="utf-8")


def test_an_experiment_takes_as_long_as_its_runs_did(asked, tmp_path):
    begun = time.monotonic()
    first = measure(tmp_path)
    now, took = Provenance.now(), time.monotonic() - begun
    assert (first.version, first.date, first.machine) == (now.version, now.date, now.machine)
    runs = {run.path: run.history.made.seconds for run in asked[0].runs}
    assert len(runs) == 2
    waited = sum(asked[0].waited)
    assert sum(runs.values()) - 0.1 <= first.seconds <= sum(runs.values()) + took - waited + 0.1  # each second once
    say_elsewhere(tmp_path)
    begun = time.monotonic()
    again = measure(tmp_path)
    assert 200 <= again.seconds <= 200 + time.monotonic() - begun + 0.1  # runs that are only read


def test_an_experiment_that_reads_its_runs_says_who_made_them(asked, tmp_path):
    measure(tmp_path)
    say_elsewhere(tmp_path)
    found = measure(tmp_path)
    assert (found.version, found.date, found.machine) == ("0.1.7", "2025-03-01", "elsewhere")
    page = (tmp_path / "table-9" / "report.html").read_text(encoding="utf-8")
    assert "elsewhere; bitreplay 0.1.7; 2025-03-01" in page


def test_all_goes_on_where_it_was_interrupted(calls, capsys, tmp_path, monkeypatch):
    made = dict(reproduction.EXPERIMENTS)

    def interrupted(request: Request) -> Outcome:
        raise KeyboardInterrupt

    def without_data(request: Request) -> Outcome:
        raise InputError("the third one needs data that is not here")

    broken = {"second": replace(made["second"], run=interrupted), "third": replace(made["third"], run=without_data)}
    monkeypatch.setattr(reproduction, "EXPERIMENTS", {**made, **broken})
    with pytest.raises(KeyboardInterrupt):
        reproduction.reproduce("all", output=tmp_path)
    assert (tmp_path / "first" / "outcome.json").exists()
    assert not (tmp_path / "report.html").exists()

    (tmp_path / "second").mkdir()  # as an interrupted writing leaves it
    (tmp_path / "second" / "numbers.csv").touch()
    monkeypatch.setattr(reproduction, "EXPERIMENTS", {**made, "third": broken["third"]})
    reproduction.reproduce("all", output=tmp_path)
    assert [len(calls[name]) for name in calls] == [1, 1, 0]  # the first is not measured again
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.index('id="first"') < page.index('id="second"') < page.index("Not measured")
    assert "<dt>third</dt><dd>the third one needs data that is not here</dd>" in page
    printed = capsys.readouterr().out
    assert f"delete {tmp_path / 'first'} to measure it again" in printed
    assert "third: the third one needs data that is not here" in printed

    monkeypatch.setattr(reproduction, "EXPERIMENTS", made)  # now the data is here
    reproduction.reproduce("all", output=tmp_path)
    assert [len(calls[name]) for name in calls] == [1, 1, 1]
    assert "Not measured" not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("other", [{"seeds": [1]}, {"scale": "paper"}])
def test_all_measures_again_what_was_asked_for_otherwise(calls, tmp_path, other):
    reproduction.reproduce("all", output=tmp_path)
    reproduction.reproduce("all", output=tmp_path, **other)
    reproduction.reproduce("all", output=tmp_path, **other)
    assert [len(asked) for asked in calls.values()] == [2, 2, 2]


def test_other_scales_have_folders_of_their_own(calls, tmp_path):
    for scale in ("cpu", "full"):
        reproduction.reproduce("second", scale=scale, output=tmp_path / "out", results=tmp_path / "results")
    assert [request.scale for request in calls["second"]] == ["cpu", "full"]
    assert {request.output for request in calls["second"]} == {tmp_path / "out" / "runs"}  # runs are shared
    found = {read_outcome(path).scale for path in (tmp_path / "out").rglob("outcome.json")}
    assert found == {"cpu", "full"}
    names = sorted(str(path.relative_to(tmp_path / "results")) for path in (tmp_path / "results").rglob("*.*"))
    assert names == ["full/second-curve.svg", "full/second.json", "second-curve.svg", "second.json"]


def test_a_network_given_is_named_and_stays_the_same_wherever_it_is(calls, network, tmp_path, monkeypatch):
    made = {name: replace(one, networks=({},)) for name, one in reproduction.EXPERIMENTS.items()}
    monkeypatch.setattr(reproduction, "EXPERIMENTS", made)
    for _ in range(2):
        reproduction.reproduce("all", scale="full", output=tmp_path, network=network)
    assert [len(asked) for asked in calls.values()] == [1, 1, 1]  # the second time they are found
    [request] = calls["first"]
    assert request.network == network
    first = read_outcome(tmp_path / "full" / "first" / "outcome.json")
    assert first.command == f"bitreplay reproduce first --scale full --network {network.name}"
    assert "given with --network (SHA-256 " in first.remarks[0]
    assert [row[0] for row in first.tables[-1].rows] == ["5 classes, small_cnn, no binarizer"]
    other = save_network(tmp_path / "other" / network.name, seed=1)  # the same name, but another network
    reproduction.reproduce("all", scale="full", output=tmp_path, network=other)
    assert [len(asked) for asked in calls.values()] == [2, 2, 2]


@pytest.mark.parametrize(
    ("scale", "folder", "message"),
    [
        ("cpu", None, "it needs --scale full"),
        ("full", Path("nowhere"), "nowhere has no network.safetensors"),
        ("full", None, "first has networks of its own"),
        ("paper", None, "first has networks of its own"),
    ],
)
def test_a_network_that_cannot_stand_for_another_is_refused(calls, network, tmp_path, scale, folder, message):
    with pytest.raises(InputError, match=message):
        reproduction.reproduce("first", scale=scale, output=tmp_path, network=folder or network)
    assert not calls["first"]


def test_before_it_starts_it_says_how_long_trainings_take(calls, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "missing_seconds", lambda request, networks: [3600.0, 1800.0])
    reproduction.reproduce("first", scale="full", output=tmp_path)
    assert "2 phases of training are missing: about 90 min on this machine" in capsys.readouterr().out


def test_all_names_a_damaged_outcome(calls, capsys, tmp_path):
    (tmp_path / "second").mkdir(parents=True)
    (tmp_path / "second" / "outcome.json").write_text('{"name": "second", ', encoding="utf-8")
    assert main(["reproduce", "all", "--output", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path / 'second' / 'outcome.json'} is not the outcome of an experiment")
    assert "delete it" in error


def test_learners_that_are_chosen_are_named_in_the_command(calls, tmp_path, monkeypatch):
    made = {**reproduction.EXPERIMENTS, "first": replace(reproduction.EXPERIMENTS["first"], takes_learners=True)}
    monkeypatch.setattr(reproduction, "EXPERIMENTS", made)
    reproduction.reproduce("first", output=tmp_path, learners=["PASS", "EWC:strength=5", "PASS"], seeds=[0])
    [request] = calls["first"]
    assert request.learners == ("PASS", "EWC:strength=5")  # each once
    found = read_outcome(tmp_path / "first" / "outcome.json")
    assert found.command == "bitreplay reproduce first --scale cpu --learners PASS EWC:strength=5 --seeds 0"


def test_of_what_is_finished_the_table_is_made_by_name(calls, tmp_path, monkeypatch, capsys):
    made = {**reproduction.EXPERIMENTS, "first": replace(reproduction.EXPERIMENTS["first"], takes_learners=True)}
    monkeypatch.setattr(reproduction, "EXPERIMENTS", made)
    reproduction.reproduce("first", output=tmp_path, finished=True)
    assert [request.finished for request in calls["first"]] == [True]
    assert "This takes" not in capsys.readouterr().out
    assert read_outcome(tmp_path / "first" / "outcome.json").command.endswith("first --scale cpu --finished")
    for name in ("second", "all"):
        with pytest.raises(InputError, match=f"{name} runs all of its learners; --finished goes with first"):
            reproduction.reproduce(name, output=tmp_path / "none", finished=True)
    assert not (tmp_path / "none").exists()


def test_the_arithmetic_of_trainings_reaches_every_setting_and_is_named_in_the_command(
    calls, network, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(reproduction.EXPERIMENTS, "second", replace(reproduction.EXPERIMENTS["second"], networks=({},)))
    command = ["reproduce", "all", "--precision", "bf16-mixed", "--output", str(tmp_path)]
    assert main(command) == 0
    assert not calls["first"]  # trains nothing
    assert "first trains no networks that its methods stand on: it goes without --precision" in capsys.readouterr().out
    [request] = calls["second"]
    assert Setting(**request.setting).precision == "bf16-mixed"
    found = read_outcome(tmp_path / "second" / "outcome.json")
    assert found.command == "bitreplay reproduce second --scale cpu --precision bf16-mixed"
    assert main(command) == 0
    assert len(calls["second"]) == 1  # found again
    reproduction.reproduce("all", output=tmp_path)
    assert len(calls["second"]) == 2  # what was measured in another arithmetic does not stand for it
    assert "precision" not in calls["second"][1].setting  # one option less in every command so far
    with pytest.raises(InputError, match="--precision bf16-mixed is how networks are trained; with --network none is"):
        reproduction.reproduce("first", scale="full", output=tmp_path, network=network, precision="bf16-mixed")


@pytest.mark.parametrize(
    ("experiment", "learners", "message"),
    [
        ("table-4", ["PASS"], "table-4 runs all of its learners; --learners goes with table-1"),
        ("all", ["PASS"], "all runs all of its learners"),
        (
            "table-1",
            ["PASS", "GBM:prototypes=2"],
            "GBM:prototypes=2 does not: table-1 runs all of its own methods on frozen networks",
        ),
        ("table-1", ["PAS"], "PASS"),
    ],
)
def test_learners_that_cannot_be_chosen_are_refused_before_anything_begins(tmp_path, experiment, learners, message):
    with pytest.raises(InputError, match=message):
        reproduction.reproduce(experiment, output=tmp_path / "none", learners=learners)
    assert not (tmp_path / "none").exists()
