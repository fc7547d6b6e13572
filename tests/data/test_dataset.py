"""Splits, data sets and selections of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bitreplay.data import ImageDataset, Samples, Split, from_arrays
from bitreplay.errors import InputError
from tests.data.examples import tiny_dataset

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 3, 4, 3), dtype=np.uint8)
LABELS = np.array([0, 1, 2, 0, 1, 2])


def test_arrays_come_through_unchanged() -> None:
    before = IMAGES.copy()
    dataset = from_arrays(IMAGES, LABELS, IMAGES[:3], LABELS[:3], class_names=["a", "b", "c"], name="mine")
    np.testing.assert_array_equal(dataset.train.images, IMAGES)
    np.testing.assert_array_equal(dataset.test.labels, [0, 1, 2])
    assert (dataset.name, dataset.n_classes, dataset.image_shape) == ("mine", 3, (3, 4, 3))
    np.testing.assert_array_equal(IMAGES, before)


def test_grey_images_get_a_channel_and_classes_get_numbers_as_names() -> None:
    dataset = from_arrays(IMAGES[..., 0], LABELS.astype(np.uint8), IMAGES[:3, :, :, 0], LABELS[:3])
    assert dataset.image_shape == (3, 4, 1)
    assert dataset.class_names == ("0", "1", "2")
    assert dataset.train.labels.dtype == np.int64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_images": IMAGES.astype(float)}, "train_images must be uint8"),
        ({"test_images": IMAGES[:3, :, :, :2]}, "1 or 3"),
        ({"test_images": IMAGES[:3, :2]}, "one shape"),
        ({"train_labels": LABELS[:5]}, "one per image"),
        ({"train_labels": LABELS.astype(float)}, "train_labels must be integers"),
        ({"train_labels": LABELS - 1}, "must lie in"),
        ({"class_names": ["a", "b"]}, "must lie in"),
    ],
)
def test_what_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    good = {"train_images": IMAGES, "train_labels": LABELS, "test_images": IMAGES[:3], "test_labels": LABELS[:3]}
    with pytest.raises(InputError, match=message):
        from_arrays(**{**good, **changes})


def test_the_fingerprint_is_that_of_the_content() -> None:
    reference = from_arrays(IMAGES, LABELS, IMAGES[:3], LABELS[:3]).fingerprint
    assert reference == from_arrays(np.asfortranarray(IMAGES), LABELS.tolist(), IMAGES[:3], [0, 1, 2]).fingerprint
    changed = IMAGES.copy()
    changed[-1, -1, -1, -1] ^= 1
    others = [
        from_arrays(changed, LABELS, IMAGES[:3], LABELS[:3]),
        from_arrays(IMAGES, LABELS[::-1], IMAGES[:3], LABELS[:3]),
        from_arrays(IMAGES, LABELS, IMAGES[:3], [0, 1, 1]),
        from_arrays(IMAGES[:3], LABELS[:3], IMAGES, LABELS),
        from_arrays(IMAGES.reshape(6, 4, 3, 3), LABELS, IMAGES[:3].reshape(3, 4, 3, 3), LABELS[:3]),
    ]
    assert len({reference, *(dataset.fingerprint for dataset in others)}) == 6


def test_samples_select_and_select_again() -> None:
    dataset = from_arrays(IMAGES, LABELS, IMAGES[:3], LABELS[:3])
    samples = Samples(dataset, "train", np.array([5, 0, 3]))
    np.testing.assert_array_equal(samples.images, IMAGES[[5, 0, 3]])
    assert samples.labels.tolist() == [2, 0, 0]
    assert samples.subset([2, 0]).indices.tolist() == [3, 5]
    assert samples.subset(slice(1, None)).indices.tolist() == [0, 3]
    assert samples.subset(samples.labels == 0).indices.tolist() == [0, 3]
    assert len(samples.subset([])) == 0
    assert samples.subset([]).images.shape == (0, 3, 4, 3)
    assert Samples.join([samples, samples.subset([0])]).indices.tolist() == [5, 0, 3, 5]
    assert len(dataset.samples("test")) == 3
    samples.images[:] = 0
    assert samples.images.any()


def test_groups_follow_their_samples() -> None:
    split = Split(IMAGES, LABELS, np.arange(6) * 10)
    dataset = ImageDataset("grouped", split, Split(IMAGES, LABELS), ("a", "b", "c"), "here", "0")
    groups = Samples(dataset, "train", np.array([4, 1])).groups
    assert groups is not None
    assert groups.tolist() == [40, 10]
    assert dataset.samples("test").groups is None


def test_samples_know_which_they_are() -> None:
    dataset = tiny_dataset(3)
    train = dataset.samples("train")
    same = Samples(tiny_dataset(3), "train", np.arange(len(train), dtype=np.int32))
    assert train.fingerprint == same.fingerprint
    others = [train.subset([0, 1]), train.subset([1, 0]), dataset.samples("test"), tiny_dataset(4).samples("train")]
    assert len({train.fingerprint, *(other.fingerprint for other in others)}) == 5


def test_impossible_selections_are_refused() -> None:
    dataset = tiny_dataset(3)
    for indices in ([9], [-1], [0.5], [[0]]):
        with pytest.raises(InputError, match="indices"):
            Samples(dataset, "train", np.array(indices))
    for rows in ([9], [0.5], [True]):
        with pytest.raises(InputError, match="positions in 9 samples"):
            dataset.samples("train").subset(rows)
    with pytest.raises(InputError, match="'train' and 'test'"):
        Samples(dataset, "valid", np.array([0]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one split of one data set"):
        Samples.join([dataset.samples("train"), dataset.samples("test")])
    with pytest.raises(InputError, match="at least one"):
        Samples.join([])
