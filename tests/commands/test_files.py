"""`bitreplay memory`, `data` and `cache`, as a user types them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitreplay import GBMClassifier, caches
from bitreplay.cli import main
from bitreplay.memory import BinaryMemory
from bitreplay.runs import Specification, run_learner
from tests.runs.problems import digits

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    """A classifier of three classes, one of them a number in words."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["cup", "mug", "3"], 20)
    features = rng.normal(size=(60, 8)) + 3 * (labels == "cup")[:, None]
    made = GBMClassifier(prototypes=2, random_state=0).partial_fit(features, labels)
    made.save(tmp_path / "classifier.safetensors")
    made.memory_.save(tmp_path / "memory.safetensors")
    return tmp_path / "classifier.safetensors"


def test_the_memory_of_a_run_can_be_read_and_changed(network: Path, tmp_path: Path, capsys: Capture) -> None:
    run = run_learner(digits(network), Specification.parse("GBM:prototypes=2"), 0, tmp_path / "runs")
    file = run.path / "memory.safetensors"
    assert main(["memory", str(file)]) == 0
    printed = capsys.readouterr().out
    assert BinaryMemory.load(file).summary() in printed
    assert "1,920 bits as the paper counts" in printed  # 10 classes x 2 prototypes x 32 bits x q = 3
    output = tmp_path / "less.safetensors"
    assert main(["memory", str(file), "--remove", "3", "8", "--output", str(output)]) == 0
    left = BinaryMemory.load(output)
    assert sorted(left.labels) == [0, 1, 2, 4, 5, 6, 7, 9]
    assert main(["memory", str(output), "--merge", str(file), "--output", str(tmp_path / "more.safetensors")]) == 0
    assert sorted(BinaryMemory.load(tmp_path / "more.safetensors").labels) == list(range(10))


def test_a_classifier_has_a_memory_too(classifier: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["memory", str(classifier)]) == 0
    printed = capsys.readouterr().out
    assert main(["memory", str(tmp_path / "memory.safetensors")]) == 0
    assert capsys.readouterr().out == printed
    assert "mug" in printed
    assert main(["memory", str(classifier), "--remove", "mug", "3", "--output", str(tmp_path / "out")]) == 0
    assert list(BinaryMemory.load(tmp_path / "out").labels) == ["cup"]


def test_what_a_memory_cannot_do(classifier: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text").write_text("no memory")
    for options, said in (
        ([str(classifier), "--remove", "mug"], "need --output FILE for the changed memory"),
        ([str(classifier), "--remove", "plate", "--output", str(tmp_path / "out")], "has no class 'plate'; it has"),
        ([str(tmp_path / "absent")], "there is no file"),
        ([str(tmp_path / "text")], "is not a bitreplay file"),
    ):
        assert main(["memory", *options]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_data_that_is_here_and_data_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["data"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("digits") and "scikit-learn" in line for line in lines)
    assert any(line.startswith("cifar100") and "not here" in line for line in lines)


def test_the_cache_is_listed_and_cleaned(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["cache"]) == 0
    assert f"0 bytes in {tmp_path / 'cache'}" in capsys.readouterr().out
    for kind in ("bits", "features"):
        with caches.building(kind, "key", f"{kind} of [digits]") as part:
            (part / "file").write_bytes(bytes(5000))
    assert main(["cache", "list"]) == 0
    printed = capsys.readouterr().out
    assert "bits of [digits]" in printed
    assert "features of [digits]" in printed
    assert main(["cache", "--kind", "bits"]) == 0
    printed = capsys.readouterr().out
    assert "bits of [digits]" in printed
    assert "features of [digits]" not in printed
    assert main(["cache", "clean", "--older_than_days", "1"]) == 0
    assert "removed 0 bytes" in capsys.readouterr().out
    assert main(["cache", "clean", "--kind", "bits"]) == 0
    assert "removed 5.1 kB from" in capsys.readouterr().out
    assert [entry.kind for entry in caches.entries()] == ["features"]
    assert main(["cache", "clean"]) == 0
    assert caches.entries() == []
    assert main(["cache", "clean", "--older_than_days", "-1"]) == 2
    assert "older_than_days" in capsys.readouterr().err
