"""`bitreplay reproduce`: the list, what is missing, and that names fit together."""

from typing import get_args

import pytest

from bitreplay.cli import main
from bitreplay.experiments import EXPERIMENTS, ExperimentName


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
    assert error.startswith("error: table-5 needs what is not here")
    assert "core50_128x128.zip" in error
    assert "quicknet_large_weights.h5" in error
    assert not (tmp_path / "runs").exists()


def test_unknown_experiments(capsys):
    assert main(["reproduce", "table-99"]) == 2
    assert "table-99" in capsys.readouterr().err
