"""`bitreplay show`, `forget` and `merge` of memories, `data` and `cache`, as a user types them."""

from __future__ import annotations

import json
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
    assert main(["show", str(file)]) == 0
    printed = capsys.readouterr().out
    assert BinaryMemory.load(file).summary() in printed
    assert "1,920 bits as the paper counts" in printed  # 10 classes x 2 prototypes x 32 bits x q = 3
    output = tmp_path / "less.safetensors"
    assert main(["forget", str(file), "3", "8", "--output", str(output)]) == 0
    left = BinaryMemory.load(output)
    assert sorted(left.labels) == [0, 1, 2, 4, 5, 6, 7, 9]
    assert main(["merge", str(output), str(file), "--output", str(tmp_path / "more.safetensors")]) == 0
    assert sorted(BinaryMemory.load(tmp_path / "more.safetensors").labels) == list(range(10))


def test_a_classifier_has_a_memory_too(classifier: Path, tmp_path: Path, capsys: Capture) -> None:
    memory = tmp_path / "memory.safetensors"
    assert main(["show", str(classifier)]) == 0
    printed, size = capsys.readouterr().out.split("the whole file: ")
    assert size == f"{classifier.stat().st_size:,} bytes\n"
    assert main(["show", str(memory)]) == 0
    assert capsys.readouterr().out.startswith(printed)
    assert "mug" in printed
    for file in (classifier, memory):
        assert main(["forget", str(file), "mug", "3"]) == 0
        assert list(BinaryMemory.load(file).labels) == ["cup"]
    assert GBMClassifier.load(classifier).classes_.tolist() == ["cup"]
    capsys.readouterr()
    assert main(["show", "--json", str(classifier)]) == 0
    assert json.loads(capsys.readouterr().out)["classes"] == [{"name": "cup", "samples": 20}]


def test_what_cannot_be_done_with_a_memory(classifier: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "text").write_text("no memory")
    before = classifier.read_bytes()
    for arguments, said in (
        (["forget", str(classifier), "plate"], "has no class 'plate'; it has"),
        (["show", str(tmp_path / "absent")], "there is no model"),
        (["show", str(tmp_path / "text")], "is not a bitreplay file"),
        (["merge", str(classifier), str(tmp_path / "text")], "is not a bitreplay file"),
        (["predict", str(classifier), str(tmp_path / "text")], "holds no classifier of images"),
    ):
        assert main(arguments) == 2
        assert said in capsys.readouterr().err
    assert classifier.read_bytes() == before


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
