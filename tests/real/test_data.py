"""Real data: what `load_dataset` gives is what the files hold. Decoded into the cache that `$BITREPLAY_CACHE` names."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

from bitreplay.data import available, load_dataset, make_scenario

ROOT = Path(os.environ.get("BITREPLAY_DATA", ""))
WHOLE = {"cifar100": (100, 32, "img", "fine_label"), "tiny_imagenet": (200, 64, "image", "label")}


def need(name: str) -> None:
    if not os.environ.get("BITREPLAY_DATA"):
        pytest.skip("$BITREPLAY_DATA is not set")
    if not list((ROOT / name).glob("*.parquet")):
        pytest.skip(f"no parquet files in $BITREPLAY_DATA/{name}")
    pytest.importorskip("pyarrow")


@pytest.mark.parametrize("name", WHOLE)
def test_images_and_labels_are_those_of_the_files(name: str) -> None:
    need(name)
    import pyarrow.parquet as pq
    from PIL import Image

    n_classes, side, image, label = WHOLE[name]
    dataset = load_dataset(name)
    if dataset.n_classes != n_classes:
        pytest.skip(f"only a part of {name} is here: {dataset.source}")
    assert dataset.image_shape == (side, side, 3)
    for pattern, split in (("train-*", dataset.train), ("[tv][ea][sl]*", dataset.test)):
        table = pq.read_table(sorted((ROOT / name).glob(f"{pattern}.parquet")))
        np.testing.assert_array_equal(split.labels, table[label].to_numpy())
        assert len(set(np.bincount(split.labels))) == 1
        for row in np.random.default_rng(0).integers(0, len(split), 200).tolist():
            with Image.open(io.BytesIO(table[image][row].as_py()["bytes"])) as expected:
                np.testing.assert_array_equal(split.images[row], np.asarray(expected.convert("RGB")))
    row = next(row for row in available() if row.name == name)
    assert (row.present, row.classes, row.samples) == (True, n_classes, len(dataset.train) + len(dataset.test))


def test_the_splits_of_cifar100() -> None:
    need("cifar100")
    dataset = load_dataset("cifar100")
    for tasks, base, increment in ((5, 50, 10), (10, 50, 5), (20, 40, 3)):
        scenario = make_scenario(dataset, tasks)
        assert [len(task.classes) for task in scenario] == [base] + [increment] * tasks
        assert scenario[0].classes[:5].tolist() == [68, 56, 78, 8, 23]
        assert [len(task.train) for task in scenario] == [500 * base] + [500 * increment] * tasks
    assert dataset.class_names[68] == "road"


def test_eth80_is_split_by_object() -> None:
    need("eth80")
    import pyarrow.parquet as pq

    dataset = load_dataset("eth80")
    assert (len(dataset.train), len(dataset.test), dataset.n_classes) == (8 * 7 * 41, 8 * 3 * 41, 8)
    for part, objects in (("train", set(range(7))), ("test", {7, 8, 9})):
        table = pq.read_table(sorted((ROOT / "eth80").glob(f"{part}-*.parquet")), columns=["label", "object"])
        np.testing.assert_array_equal(dataset.split(part).labels, table["label"].to_numpy())
        assert set(table["object"].to_pylist()) == objects
        # As the stand-in for table 5 takes for granted: the views of an object come one after another.
        assert (np.diff(10 * table["label"].to_numpy() + table["object"].to_numpy()) >= 0).all()
