"""Which samples are for training and which for testing, if a data set does not define it; and fewer of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from bitreplay.data._dataset import ImageDataset, Split
from bitreplay.errors import InputError

Integers = npt.NDArray[np.int64]


def split_by_seed(
    labels: Integers, class_names: Sequence[str], test_fraction: float, seed: int
) -> tuple[Integers, Integers]:
    """Indices of training and test samples, each ascending: the same share of every class, and at least one of each.

    The choice within a class depends on the seed, its number and its size, not on the other classes.

    Examples
    --------
    >>> train, test = split_by_seed(np.array([0, 0, 0, 0, 1, 1]), ["mug", "cup"], 0.25, seed=0)
    >>> len(train), len(test)
    (4, 2)
    """
    tests = []
    for label in np.unique(labels).tolist():
        mine = np.flatnonzero(labels == label)
        if len(mine) < 2:
            raise InputError(
                f"class {class_names[label]!r} has one sample; two are needed, one to learn from and one to test"
            )
        count = min(max(1, round(test_fraction * len(mine))), len(mine) - 1)
        tests.append(np.random.default_rng([seed, label]).choice(mine, count, replace=False))
    test = np.sort(np.concatenate(tests)) if tests else np.empty(0, dtype=np.int64)
    return np.setdiff1d(np.arange(len(labels)), test), test


def classes_in_both(
    train: Integers, test: Integers, class_names: Sequence[str]
) -> tuple[Integers, Integers, tuple[str, ...], str]:
    """Number the classes that have training and test samples from 0, without gaps.

    Returns the new labels of both (-1 if the class is left out), the names of the remaining classes, and a remark,
    empty if nothing was left out.

    Examples
    --------
    >>> train, test, names, remark = classes_in_both(np.array([0, 2, 2]), np.array([2, 0]), ["mug", "cup", "jug"])
    >>> train.tolist(), test.tolist(), names, remark
    ([0, 1, 1], [1, 0], ('mug', 'jug'), '2 of 3 classes')
    """
    kept = np.intersect1d(train, test)
    kept = kept[kept >= 0]
    number = np.full(len(class_names) + 1, -1, dtype=np.int64)  # the last is where label -1, no label, looks
    number[kept] = np.arange(len(kept))
    names = tuple(class_names[label] for label in kept)
    remark = "" if len(kept) == len(class_names) else f"{len(kept)} of {len(class_names)} classes"
    return number[train], number[test], names, remark


def every_nth(dataset: ImageDataset, n: int) -> ImageDataset:
    """Every n-th training sample of each class, beginning with its first; all test samples.

    Examples
    --------
    >>> from bitreplay.data import from_arrays
    >>> images = np.arange(5, dtype=np.uint8).reshape(5, 1, 1)
    >>> thin = every_nth(from_arrays(images, [0, 1, 0, 0, 1], images, [0, 1, 0, 1, 0]), 2)
    >>> thin.train.images.ravel().tolist(), thin.train.labels.tolist(), len(thin.test)
    ([0, 1, 3], [0, 1, 0], 5)
    """
    if n == 1:
        return dataset
    whole = dataset.train
    rows = np.sort(np.concatenate([np.flatnonzero(whole.labels == label)[::n] for label in range(dataset.n_classes)]))
    groups = None if whole.groups is None else whole.groups[rows]
    train = Split(np.asarray(whole.images[rows]), whole.labels[rows], groups)
    digest = hashlib.sha256(f"{dataset.fingerprint} 1 in {n}".encode())
    source = f"{dataset.source} (1 training sample in {n})"
    return replace(dataset, train=train, source=source, fingerprint=digest.hexdigest()[:32])
