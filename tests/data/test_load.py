"""Names: which data set they mean, and what is said when there is none."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay._floor.progress import progress
from bitreplay.data import Available, available, load_dataset
from bitreplay.data._decoded import EncodedDataset, EncodedSplit, load_decoded
from bitreplay.data._images import Encoded
from bitreplay.data._load import hub_identity
from bitreplay.errors import InputError
from tests.data.examples import encode, pixels, write_image, write_table


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No network, and nothing that was downloaded before."""
    datasets = pytest.importorskip("datasets")
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "huggingface")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path / "huggingface"))
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("name", "repository"),
    [
        ("cifar100", "uoft-cs/cifar100"),
        ("tiny_imagenet", "zh-plus/tiny-imagenet"),
        ("nobody-at-all/nothing", "nobody-at-all/nothing"),
    ],
)
def test_missing_data_says_where_to_put_it_and_what_would_download_it(data: Path, name: str, repository: str) -> None:
    with pytest.raises(InputError) as error:
        load_dataset(name)
    message = str(error.value)
    assert f"cannot reach the Hugging Face Hub to download {repository}" in message
    assert f"$BITREPLAY_DATA/{name} ({data / name})" in message
    assert "pip install 'bitreplay[data]'" in message


@pytest.mark.usefixtures("offline")
def test_missing_data_where_no_folder_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITREPLAY_DATA")
    with pytest.raises(InputError, match=r"\$BITREPLAY_DATA is not set"):
        load_dataset("cifar100")


def test_missing_libraries_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install 'bitreplay\[data\]'"):
        load_dataset("cifar100")
    for number in range(4):
        write_image(tmp_path / "pets" / "cat" / f"{number}.png", number)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(InputError, match=r"Pillow: pip install 'bitreplay\[data\]'"):
        load_dataset(tmp_path / "pets")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("cifar-100", "cifar100"), ("TinyImageNet", "tiny_imagenet"), ("digit", "digits"), ("mne", "mine")],
)
def test_a_misspelt_name_is_met_with_the_nearest(data: Path, name: str, meant: str) -> None:
    (data / "mine").mkdir()
    with pytest.raises(InputError, match=f"did you mean '{meant}'"):
        load_dataset(name)


def test_names_that_mean_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected the path of a folder"):
        load_dataset("zzzz")
    for nothing in ("", None, 5):
        with pytest.raises(InputError, match="name must be"):
            load_dataset(nothing)  # type: ignore[arg-type]
    for path in (tmp_path / "nowhere", "./nowhere", "~/nowhere/at/all"):
        with pytest.raises(InputError, match="there is no folder"):
            load_dataset(path)


def test_a_known_name_is_no_folder_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("core50", "pets"):
        for number in range(4):
            write_image(tmp_path / name / "cat" / f"{number}.png", number)
    assert load_dataset("pets").name == "pets"
    assert load_dataset("./core50").class_names == ("cat",)
    with pytest.raises(InputError, match="core50 is not available"):
        load_dataset("core50")


def test_the_data_folder_comes_first(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, name in ((data, "cat"), (tmp_path, "dog")):
        for number in range(4):
            write_image(folder / "pets" / name / f"{number}.png", number)
    assert load_dataset("pets").class_names == ("cat",)
    assert load_dataset("./pets").class_names == ("dog",)
    assert load_dataset(data / "pets").name == load_dataset("pets").name == "pets"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image_size": 0}, "image_size"),
        ({"image_size": 32}, "digits are 8 x 8"),
        ({"test_fraction": 0}, "test_fraction"),
        ({"test_fraction": 1.0}, "test_fraction"),
        ({"test_fraction": "0.2"}, "test_fraction"),
        ({"seed": -1}, "seed"),
        ({"seed": 0.5}, "seed"),
        ({"every": 0}, "every"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_dataset("digits", **options)


def test_what_is_available(data: Path) -> None:
    write_table(data / "tiny_imagenet" / "train-0.parquet", [0, 1, 2], [0, 1, 1], ["a", "b", "c"])
    write_table(data / "tiny_imagenet" / "valid-0.parquet", [3, 4], [0, 1], ["a", "b", "c"])
    for number in range(4):
        write_image(data / "pets" / "cat" / f"{number}.png", number)
    (data / "empty").mkdir()
    rows = {row.name: row for row in available()}
    assert list(rows) == ["digits", "cifar100", "tiny_imagenet", "core50", "eth80", "empty", "pets"]
    assert rows["digits"] == Available("digits", True, "scikit-learn", 10, 1797, "")
    assert rows["tiny_imagenet"] == Available("tiny_imagenet", True, str(data / "tiny_imagenet"), 2, 5, "")
    assert rows["pets"] == Available("pets", True, str(data / "pets"), 1, 4, "")
    assert (rows["cifar100"].present, rows["cifar100"].classes, rows["cifar100"].samples) == (False, 100, 60_000)
    assert "uoft-cs/cifar100" in rows["cifar100"].how
    assert not rows["empty"].present
    assert "no class folders" in rows["empty"].how
    assert "core50_128x128.zip" in rows["core50"].how


def test_what_was_decoded_once_works_without_network_and_library(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.array([0, 1])
    split = EncodedSplit(labels, lambda: (Encoded("image", encode(pixels(number))) for number in range(2)))
    found = EncodedDataset(split, split, ("a", "b"), "the Hub")
    once = load_decoded("cifar100", lambda: found, None, **hub_identity("cifar100", 0.2, 0))
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert load_dataset("cifar100", seed=3).fingerprint == once.fingerprint
    assert next(row for row in available() if row.name == "cifar100").where == "cache"


def test_available_without_a_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_DATA", "/nowhere/at/all")
    assert [row.name for row in available() if row.present] == ["digits"]
    monkeypatch.delenv("BITREPLAY_DATA")
    assert [row.name for row in available() if row.present] == ["digits"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress("Decoding pets", 4) as advance:
            for _ in range(4):
                advance(1)
        assert ("Decoding pets" in stream.getvalue()) == shown
        assert ("100%" in stream.getvalue()) == shown
