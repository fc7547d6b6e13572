"""Tables of images: local parquet files, and the same through the Hugging Face library."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bitreplay.data import ImageDataset, load_dataset
from bitreplay.data._decoded import load_decoded
from bitreplay.data._huggingface import hub_tables
from bitreplay.data._parquet import encoded_from_tables
from bitreplay.errors import FileFormatError, InputError
from tests.data.examples import encode, numbers, pixels, write_table

NAMES = ["apple", "bear", "cup"]


def content(dataset: ImageDataset) -> list[dict[int, str]]:
    return [
        {
            number: dataset.class_names[label]
            for number, label in zip(numbers(split.images), split.labels.tolist(), strict=True)
        }
        for split in (dataset.train, dataset.test)
    ]


def test_a_known_data_set_of_two_files(data: Path) -> None:
    coarse = {"coarse_label": ([0, 0, 0, 0], {"names": ["thing"], "_type": "ClassLabel"})}
    folder = data / "cifar100"
    columns = ("img", "fine_label")
    write_table(folder / "train-00000-of-00002.parquet", [0, 1, 2, 3], [2, 0, 1, 2], NAMES, columns, coarse)
    write_table(folder / "train-00001-of-00002.parquet", [4, 5, 6, 7], [0, 0, 1, 1], NAMES, columns, coarse)
    write_table(folder / "test-00000-of-00001.parquet", [8, 9, 10, 11], [2, 1, 0, 0], NAMES, columns, coarse)
    dataset = load_dataset("cifar100")
    assert numbers(dataset.train.images) == list(range(8))
    assert dataset.train.labels.tolist() == [2, 0, 1, 2, 0, 0, 1, 1]
    assert dataset.test.labels.tolist() == [2, 1, 0, 0]
    np.testing.assert_array_equal(dataset.test.images[1], pixels(9))
    assert (dataset.name, dataset.class_names, dataset.source) == ("cifar100", tuple(NAMES), str(folder))
    assert load_dataset("uoft-cs/cifar100").fingerprint == dataset.fingerprint
    assert load_dataset("cifar100", seed=1, test_fraction=0.5).fingerprint == dataset.fingerprint


def test_eth80_has_the_split_of_its_files_and_its_categories(data: Path) -> None:
    with pytest.raises(InputError, match=r"split by object .* https://github.com/Kai-Xuan/ETH-80"):
        load_dataset("eth80")
    number = {"_type": "Value", "dtype": "int64"}
    for part, objects in (("train", [0, 6]), ("test", [7])):
        rows = [(label, thing, view) for label in range(3) for thing in objects for view in range(4)]
        labels, things, views = (list(column) for column in zip(*rows, strict=True))
        others = {"object": (things, number), "view": (views, number)}
        images = [100 * label + 10 * thing + view for label, thing, view in rows]
        write_table(data / "eth80" / f"{part}-00000-of-00001.parquet", images, labels, NAMES, others=others)
    dataset = load_dataset("eth80")
    assert dataset.class_names == tuple(NAMES)
    assert [number // 100 for number in numbers(dataset.train.images)] == dataset.train.labels.tolist()
    assert {number // 10 % 10 for number in numbers(dataset.train.images)} == {0, 6}
    assert {number // 10 % 10 for number in numbers(dataset.test.images)} == {7}


def test_every_third_training_sample_of_each_class(data: Path) -> None:
    labels = [0, 1, 1, 0, 1, 1, 0, 0, 1, 0]
    write_table(data / "fruit" / "train-0.parquet", list(range(10)), labels, NAMES[:2])
    write_table(data / "fruit" / "test-0.parquet", [10, 11, 12], [0, 1, 0], NAMES[:2])
    whole, third = load_dataset("fruit"), load_dataset("fruit", every=3)
    assert numbers(third.train.images) == [0, 1, 5, 7]  # of 0, 3, 6, 7, 9 and of 1, 2, 4, 5, 8
    assert third.train.labels.tolist() == [0, 1, 1, 0]
    np.testing.assert_array_equal(third.test.images, whole.test.images)
    assert third.fingerprint not in (whole.fingerprint, load_dataset("fruit", every=2).fingerprint)
    assert third.source.endswith("(1 training sample in 3)")


@pytest.mark.parametrize("name", ["data/train-0.parquet", "train.parquet", "train/0000.parquet", "Train_x.parquet"])
@pytest.mark.parametrize("test", ["validation-0.parquet", "valid/0.parquet", "val.parquet"])
def test_where_files_may_lie(data: Path, name: str, test: str) -> None:
    write_table(data / "fruit" / name, [0, 1], [0, 1], NAMES[:2])
    write_table(data / "fruit" / test, [2, 3], [1, 0], NAMES[:2])
    assert content(load_dataset("fruit")) == [{0: "apple", 1: "bear"}, {2: "bear", 3: "apple"}]


def test_missing_classes_leave_no_gaps_and_are_told(data: Path) -> None:
    write_table(data / "part" / "train-0.parquet", [0, 1, 2, 3], [4, 1, 4, 3], [*NAMES, "dog", "eel"])
    write_table(data / "part" / "test-0.parquet", [4, 5, 6], [0, 1, 4], [*NAMES, "dog", "eel"])
    dataset = load_dataset("part")
    assert content(dataset) == [{0: "eel", 1: "bear", 2: "eel"}, {5: "bear", 6: "eel"}]
    assert dataset.train.labels.tolist() == [1, 0, 1]
    assert dataset.source == f"{data / 'part'} (2 of 5 classes)"


def test_without_test_split_a_share_is_held_out(data: Path) -> None:
    write_table(data / "alone" / "train-0.parquet", list(range(20)), [0, 1] * 10, NAMES[:2])
    train, test = content(load_dataset("alone", test_fraction=0.3))
    assert len(test) == 6
    assert {**train, **test} == {number: NAMES[number % 2] for number in range(20)}
    assert content(load_dataset("alone", test_fraction=0.3, seed=1))[1] != test


def test_a_test_split_without_labels_is_passed_over(data: Path) -> None:
    write_table(data / "hidden" / "train-0.parquet", [0, 1], [0, 1], NAMES[:2])
    write_table(data / "hidden" / "test-0.parquet", [2, 3], [-1, -1], NAMES[:2])
    write_table(data / "hidden" / "validation-0.parquet", [4, 5, 6], [1, None, 0], NAMES[:2])
    assert content(load_dataset("hidden"))[1] == {4: "bear", 6: "apple"}


@pytest.mark.parametrize(
    ("labels", "expected"), [([7, 3, 7, 3], ["7", "3"]), (["mug", "cup", "mug", "cup"], ["mug", "cup"])]
)
def test_labels_without_names(data: Path, labels: list[object], expected: list[str]) -> None:
    for part, some in (("train", (0, 1)), ("test", (2, 3))):
        write_table(data / "plain" / f"{part}.parquet", some, labels[:2])
    dataset = load_dataset("plain")
    assert content(dataset)[0] == dict(enumerate(expected))
    assert sorted(dataset.class_names) == list(dataset.class_names)


def test_images_may_be_plain_bytes(data: Path) -> None:
    for part in ("train", "test"):
        (data / "bytes").mkdir(exist_ok=True)
        table = pa.table({"picture": [encode(pixels(1)), encode(pixels(2))], "target": [0, 1]})
        pq.write_table(table, data / "bytes" / f"{part}.parquet")
    assert numbers(load_dataset("bytes").train.images) == [1, 2]


def test_what_is_wrong_with_tables_is_said(data: Path) -> None:
    coarse = {"other": ([0, 0], {"names": ["thing"], "_type": "ClassLabel"})}
    write_table(data / "two" / "train.parquet", [0, 1], [0, 1], NAMES[:2], ("image", "kind"), coarse)
    with pytest.raises(InputError, match=r"expected a column of labels.*image, kind, other"):
        load_dataset("two")
    second = {"mask": ([{"bytes": b"", "path": None}] * 2, {"_type": "Image"})}
    write_table(data / "masks" / "train.parquet", [0, 1], [0, 1], NAMES[:2], ("front", "label"), second)
    with pytest.raises(InputError, match="expected one column of images"):
        load_dataset("masks")
    write_table(data / "untrained" / "test.parquet", [0, 1], [0, 1], NAMES[:2])
    with pytest.raises(InputError, match=r"no training split .* found \['test'\]"):
        load_dataset("untrained")
    write_table(data / "apart" / "train.parquet", [0, 1], [0, 0], NAMES[:2])
    write_table(data / "apart" / "test.parquet", [0, 1], [1, 1], NAMES[:2])
    with pytest.raises(InputError, match="no train samples"):
        load_dataset("apart")
    write_table(data / "beyond" / "train.parquet", [0, 1], [0, 5], NAMES[:2])
    with pytest.raises(FileFormatError, match="label 5, but names only 2"):
        load_dataset("beyond")


def test_a_damaged_file_is_named(data: Path) -> None:
    for part in ("train", "test"):
        write_table(data / "fruit" / f"{part}.parquet", [0, 1, 2, 3], [0, 1, 1, 0], NAMES[:2])
    good = (data / "fruit" / "test.parquet").read_bytes()
    for bad in (b"no parquet", good[:-10], b"", good[:4] + bytes(400) + good[404:]):
        (data / "fruit" / "test.parquet").write_bytes(bad)
        with pytest.raises(FileFormatError, match=r"test\.parquet"):
            load_dataset("fruit")


def test_an_undecodable_row_is_named(data: Path) -> None:
    (data / "broken").mkdir()
    images = [encode(pixels(0)), b"no image", encode(pixels(2))]
    pq.write_table(pa.table({"image": images, "label": [0, 0, 0]}), data / "broken" / "train.parquet")
    with pytest.raises(FileFormatError, match=r"train\.parquet, row 1"):
        load_dataset("broken")


def test_the_hub_gives_what_the_files_give(tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "huggingface")
    datasets.disable_progress_bars()
    for part, some in (("train", range(7)), ("test", range(7, 10))):
        labels = [number % 3 for number in some]
        write_table(data / "user" / "fruit" / "data" / f"{part}-00000-of-00001.parquet", list(some), labels, NAMES)
    local = load_dataset("user/fruit")

    def through_the_library() -> object:
        tables = hub_tables(str(data / "user" / "fruit"), "advice")
        return encoded_from_tables(tables, "the Hub", None, 0.2, 0)

    hub = load_decoded("fruit", through_the_library, None)  # type: ignore[arg-type]
    assert content(hub) == content(local)
    assert hub.fingerprint == local.fingerprint
    assert hub.class_names == tuple(NAMES)


def test_the_note_in_the_schema_may_be_damaged(data: Path) -> None:
    for part in ("train", "test"):
        write_table(data / "fruit" / f"{part}.parquet", [0, 1], [0, 1], NAMES[:2])
        file = data / "fruit" / f"{part}.parquet"
        for note in ("{", "[]", json.dumps({"info": {"features": {"image": []}}})):
            pq.write_table(pq.read_table(file).replace_schema_metadata({"huggingface": note}), file)
    assert content(load_dataset("fruit"))[0] == {0: "0", 1: "1"}
