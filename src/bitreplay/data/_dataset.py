"""Labelled images in two splits, and selections of them.

This is the starting point: wherever images came from, from here on they are `uint8` arrays (N, H, W, C), usually
memory-mapped, with labels 0 to C-1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import text
from bitreplay.errors import InputError

Part = Literal["train", "test"]
Images = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

BLOCK = 4096  # images hashed at once, to bound the memory of arrays that are not contiguous


@dataclass(frozen=True, eq=False)
class Split:
    """All training or all test samples of a data set.

    Examples
    --------
    >>> Split(np.zeros((4, 2, 2, 3), dtype=np.uint8), np.array([0, 1, 1, 0]))
    Split(4 images of 2 x 2 x 3)
    """

    images: Images  # (N, H, W, C), grey (C = 1) or RGB (C = 3); usually a read-only memory map
    labels: Integers  # (N,) classes 0 to n_classes - 1
    groups: Integers | None = None  # (N,) such as CORe50's sessions

    def __post_init__(self) -> None:
        if self.images.dtype != np.uint8 or self.images.ndim != 4 or self.images.shape[3] not in (1, 3):
            raise InputError(
                "images must be uint8 of shape (samples, height, width, 1 or 3); "
                f"got {self.images.dtype} of shape {self.images.shape}"
            )
        for name, values in (("labels", self.labels), ("groups", self.groups)):
            if values is not None and (values.dtype != np.int64 or values.shape != (len(self.images),)):
                raise InputError(
                    f"{name} must be {len(self.images)} values of int64, one per image; "
                    f"got {values.dtype} of shape {values.shape}"
                )

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return f"Split({len(self)} images of {' x '.join(map(str, self.images.shape[1:]))})"


@dataclass(frozen=True, eq=False)
class ImageDataset:
    """A labelled image data set with its training and test splits.

    Parameters
    ----------
    name : str
        Its name, such as `"cifar100"`.
    train, test : Split
        All images have the same shape.
    class_names : tuple of str
        Name of class 0, of class 1, and so on.
    source : str
        Where it came from, in readable form.
    fingerprint : str
        Hexadecimal hash of its content, used as a cache key. It does not depend on the location of the data.

    Examples
    --------
    >>> split = Split(np.zeros((4, 2, 2, 3), dtype=np.uint8), np.array([0, 1, 1, 0]))
    >>> dataset = ImageDataset("mine", split, split, ("mug", "cup"), "drawn by hand", "7f00")
    >>> dataset.n_classes, dataset.image_shape, dataset.samples("test")
    (2, (2, 2, 3), Samples(4 of the test samples of mine))
    """

    name: str
    train: Split
    test: Split
    class_names: tuple[str, ...]
    source: str
    fingerprint: str

    def __post_init__(self) -> None:
        for what, name in (("the data set's name", self.name), *(("a class name", name) for name in self.class_names)):
            text(what, name)
        if self.train.images.shape[1:] != self.test.images.shape[1:]:
            raise InputError(
                f"training and test images of {self.name} must have one shape; "
                f"got {self.train.images.shape[1:]} and {self.test.images.shape[1:]}"
            )
        for part, split in (("training", self.train), ("test", self.test)):
            if len(split) and not (split.labels.min() >= 0 and split.labels.max() < self.n_classes):
                raise InputError(
                    f"{part} labels of {self.name} must lie in 0..{self.n_classes - 1}, as it has {self.n_classes} "
                    f"classes; found {split.labels.min()} to {split.labels.max()}"
                )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width and channels of every image."""
        height, width, channels = self.train.images.shape[1:]
        return height, width, channels

    def split(self, part: Part) -> Split:
        """The split called `part`."""
        if part not in ("train", "test"):
            raise InputError(f"a data set has the parts 'train' and 'test'; got {part!r}")
        return self.train if part == "train" else self.test

    def samples(self, part: Part) -> Samples:
        """All samples of one part."""
        return Samples(self, part, np.arange(len(self.split(part)), dtype=np.int64))

    def __repr__(self) -> str:
        return (
            f"ImageDataset({self.name!r}, {self.n_classes} classes, {len(self.train)} training and {len(self.test)} "
            f"test images of {' x '.join(map(str, self.image_shape))})"
        )


@dataclass(frozen=True, eq=False)
class Samples:
    """Some samples of one split, by their index; images are read on demand.

    Examples
    --------
    >>> images = np.zeros((4, 2, 2, 1), dtype=np.uint8)
    >>> dataset = from_arrays(images, [0, 1, 1, 0], images[:2], [0, 1])
    >>> ones = Samples(dataset, "train", np.array([1, 2]))
    >>> len(ones), ones.labels.tolist(), ones.images.shape
    (2, [1, 1], (2, 2, 2, 1))
    >>> ones.subset([1]).indices.tolist()
    [2]
    """

    dataset: ImageDataset
    part: Part
    indices: Integers

    def __post_init__(self) -> None:
        n = len(self.dataset.split(self.part))
        indices = np.asarray(self.indices)
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise InputError(f"indices must be a list of integers; got {indices.dtype} of shape {indices.shape}")
        if len(indices) and not (indices.min() >= 0 and indices.max() < n):
            raise InputError(f"indices of the {self.part} samples of {self.dataset.name} must lie in 0..{n - 1}")
        object.__setattr__(self, "indices", indices.astype(np.int64, copy=False))

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def images(self) -> Images:
        """Images (N, H, W, C), gathered into a new array."""
        return np.asarray(self.dataset.split(self.part).images[self.indices])

    @property
    def labels(self) -> Integers:
        """Class numbers of the data set."""
        return np.asarray(self.dataset.split(self.part).labels[self.indices])

    @property
    def groups(self) -> Integers | None:
        """Groups, if the data set has any."""
        groups = self.dataset.split(self.part).groups
        return None if groups is None else np.asarray(groups[self.indices])

    @property
    def fingerprint(self) -> str:
        """Hexadecimal hash of which samples these are, in this order: for the keys of caches."""
        digest = hashlib.sha256(f"{self.dataset.fingerprint} {self.part} ".encode())
        digest.update(self.indices.astype("<i8").tobytes())
        return digest.hexdigest()[:32]

    def subset(self, rows: Sequence[int] | npt.NDArray[np.integer | np.bool_] | slice) -> Samples:
        """The samples at positions `rows` (a list, slice or boolean mask) of this selection."""
        if not isinstance(rows, slice):
            rows = np.asarray(rows, dtype=np.int64 if not len(rows) else None)
        try:
            return Samples(self.dataset, self.part, self.indices[rows])
        except IndexError as error:
            raise InputError(f"rows must be positions in {len(self)} samples, or a mask of them: {error}") from None

    @staticmethod
    def join(parts: Sequence[Samples]) -> Samples:
        """Several selections of one split, concatenated."""
        if not parts:
            raise InputError("nothing to join: expected at least one selection of samples")
        first = parts[0]
        if any(part.dataset is not first.dataset or part.part != first.part for part in parts):
            raise InputError("only samples of one split of one data set can be joined")
        return Samples(first.dataset, first.part, np.concatenate([part.indices for part in parts]))

    def __repr__(self) -> str:
        return f"Samples({len(self)} of the {self.part} samples of {self.dataset.name})"


def from_arrays(
    train_images: npt.ArrayLike,
    train_labels: npt.ArrayLike,
    test_images: npt.ArrayLike,
    test_labels: npt.ArrayLike,
    class_names: Sequence[str] | None = None,
    name: str = "arrays",
) -> ImageDataset:
    """A data set from arrays in memory.

    Parameters
    ----------
    train_images, test_images : array-like of uint8, shape (N, H, W), (N, H, W, 1) or (N, H, W, 3)
        Pixels from 0 to 255; without a last axis, they are grey. They are not copied: do not change them afterwards.
    train_labels, test_labels : array-like of int, shape (N,)
        Classes 0 to C-1.
    class_names : sequence of str, optional
        One name per class; by default the class numbers.
    name : str
        Name of the data set.

    Examples
    --------
    >>> images = np.arange(32, dtype=np.uint8).reshape(2, 4, 4)
    >>> from_arrays(images, [0, 1], images, [0, 1], class_names=["mug", "cup"])
    ImageDataset('arrays', 2 classes, 2 training and 2 test images of 4 x 4 x 1)
    """
    train = Split(_as_images(train_images, "train_images"), _as_labels(train_labels, "train_labels"))
    test = Split(_as_images(test_images, "test_images"), _as_labels(test_labels, "test_labels"))
    if class_names is None:
        n_classes = 1 + max((int(split.labels.max()) for split in (train, test) if len(split)), default=-1)
        class_names = [str(label) for label in range(n_classes)]
    return from_splits(name, train, test, tuple(class_names), "arrays in memory")


def from_splits(name: str, train: Split, test: Split, class_names: tuple[str, ...], source: str) -> ImageDataset:
    """A data set of two splits, with the fingerprint of their content."""
    digest = begin_fingerprint(train.images.shape, test.images.shape)
    for split in (train, test):
        for begin in range(0, len(split), BLOCK):
            digest.update(split.images[begin : begin + BLOCK].tobytes())
        digest.update(split.labels.astype("<i8").tobytes())
    return ImageDataset(name, train, test, class_names, source, digest.hexdigest()[:32])


def begin_fingerprint(train: tuple[int, ...], test: tuple[int, ...]) -> hashlib._Hash:
    """A hash that includes the shapes; over images and labels of training, then of test, it is a fingerprint."""
    return hashlib.sha256(repr((train, test)).encode())


def _as_images(values: npt.ArrayLike, name: str) -> Images:
    images = np.asarray(values)
    if images.dtype != np.uint8:
        raise InputError(f"{name} must be uint8, pixels from 0 to 255; got {images.dtype}")
    return images[..., None] if images.ndim == 3 else images


def _as_labels(values: npt.ArrayLike, name: str) -> Integers:
    labels = np.asarray(values)
    if labels.dtype.kind not in "iu":
        raise InputError(f"{name} must be integers, classes counted from 0; got {labels.dtype}")
    return labels.astype(np.int64)
