"""Splitting by seed, and digits, which are split so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from bitreplay.data import load_dataset
from bitreplay.data._split import classes_in_both, split_by_seed
from bitreplay.errors import InputError

NAMES = [f"class {label}" for label in range(10)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(2, 40), min_size=1, max_size=6), st.floats(0.01, 0.99), st.integers(0, 9))
def test_every_class_is_split_alike(sizes: list[int], fraction: float, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    train, test = split_by_seed(labels, NAMES, fraction, seed)
    assert sorted([*train, *test]) == list(range(len(labels)))
    assert (np.diff(train) > 0).all()
    assert (np.diff(test) > 0).all()
    for label, size in enumerate(sizes):
        count = int((labels[test] == label).sum())
        assert 1 <= count <= size - 1
        assert abs(count - fraction * size) <= 0.5 or count in (1, size - 1)
    again = split_by_seed(labels, NAMES, fraction, seed)
    np.testing.assert_array_equal(again[1], test)


def test_another_seed_gives_other_samples_and_one_sample_is_too_few() -> None:
    labels = np.repeat([0, 1], 50)
    assert not np.array_equal(split_by_seed(labels, NAMES, 0.2, 0)[1], split_by_seed(labels, NAMES, 0.2, 1)[1])
    with pytest.raises(InputError, match="'class 2' has one sample"):
        split_by_seed(np.array([0, 0, 2]), NAMES, 0.2, 0)


def test_classes_are_numbered_without_gaps() -> None:
    train, test, names, remark = classes_in_both(np.array([4, 1, -1, 2, 4]), np.array([2, 4, 3]), NAMES[:5])
    assert (train.tolist(), test.tolist()) == ([1, -1, -1, 0, 1], [0, 1, -1])
    assert names == ("class 2", "class 4")
    assert remark == "2 of 5 classes"


def test_digits_are_scikit_learns_at_full_contrast() -> None:
    dataset = load_dataset("digits")
    assert dataset.image_shape == (8, 8, 1)
    images = np.concatenate([dataset.train.images, dataset.test.images])[..., 0]
    assert (images.min(), images.max(), len(images)) == (0, 255, 1797)
    raw = load_digits()
    where = {image.tobytes(): label for image, label in zip(raw.images, raw.target, strict=True)}
    back = np.round(images / 255 * 16)
    labels = np.concatenate([dataset.train.labels, dataset.test.labels])
    assert [where[image.tobytes()] for image in back] == labels.tolist()
    assert len({image.tobytes() for image in back}) == len(where)


def test_digits_are_split_by_the_seed() -> None:
    one, two, other = (load_dataset("digits", seed=seed) for seed in (0, 0, 1))
    assert one.fingerprint == two.fingerprint != other.fingerprint
    assert len(load_dataset("digits", test_fraction=0.5).test) == pytest.approx(1797 / 2, abs=10)
