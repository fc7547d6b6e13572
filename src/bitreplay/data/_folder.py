"""A folder of image files, one folder per class: the user's own data.

Either `train/` and `test/` hold the class folders, or there are only class folders and a share of each becomes the
test split.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from bitreplay._floor.arguments import text
from bitreplay.data._decoded import EncodedDataset, EncodedSplit
from bitreplay.data._split import split_by_seed
from bitreplay.errors import InputError

TEST_FOLDERS = ("test", "valid", "val")  # the first that exists
ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
EXPECTED = "expected folders train/ and test/ with one folder of images per class in each, or one folder per class"


def split_folders(root: Path) -> tuple[Path, Path | None]:
    """Parents of the class folders for training and for test; None if test samples must be chosen by seed."""
    test = next((root / name for name in TEST_FOLDERS if (root / name).is_dir()), None)
    train = root / "train"
    if not train.is_dir() or (test is None and not any(inside.is_dir() for inside in train.iterdir())):
        return root, None  # a folder of pictures may show trains
    return train, test


def image_files(root: Path) -> list[Path]:
    """All images that :func:`encoded_folder` would use."""
    folders = [folder for folder in split_folders(root) if folder is not None]
    return [file for folder in folders for files in images_by_class(folder).values() for file in files]


def encoded_folder(root: Path, test_fraction: float, seed: int) -> EncodedDataset:
    """Images of class folders; classes are numbered in the order of their names."""
    train_folder, test_folder = split_folders(root)
    train = images_by_class(train_folder)
    names = tuple(train)
    files = [file for mine in train.values() for file in mine]
    labels = np.repeat(np.arange(len(names)), [len(mine) for mine in train.values()])
    if test_folder is None:
        train_rows, test_rows = split_by_seed(labels, names, test_fraction, seed)
        return EncodedDataset(
            EncodedSplit.of_files([files[row] for row in train_rows], labels[train_rows]),
            EncodedSplit.of_files([files[row] for row in test_rows], labels[test_rows]),
            names,
            f"{root}, {test_fraction:g} of it for testing",
        )
    test = images_by_class(test_folder)
    if names != tuple(test):
        for some, others, where in ((train, test, test_folder), (test, train, train_folder)):
            missing = sorted(set(some) - set(others))
            if missing:
                raise InputError(f"{where} has no folder for the classes {', '.join(missing[:5])}")
    test_files = [file for mine in test.values() for file in mine]
    test_labels = np.repeat(np.arange(len(names)), [len(mine) for mine in test.values()])
    return EncodedDataset(
        EncodedSplit.of_files(files, labels), EncodedSplit.of_files(test_files, test_labels), names, str(root)
    )


def images_by_class(folder: Path, expected: str = EXPECTED) -> dict[str, list[Path]]:
    """Images of each class folder, in the order of names; classes without images and links to nothing are refused."""
    images = {text("a class folder's name", mine.name): images_below(mine) for mine in _class_folders(folder)}
    if not images:
        raise InputError(f"{folder} has no class folders; {expected}")
    empty = [name for name, files in images.items() if not files]
    if empty:
        raise InputError(f"no images ({', '.join(ENDINGS)}) in {folder / empty[0]}; {expected}")
    for file in (file for files in images.values() for file in files):
        if not file.exists():  # a link to nothing
            raise InputError(f"{file} is a link to {os.readlink(file)}, which is not there")
    return images


def images_below(folder: Path) -> list[Path]:
    """All images in a folder and its subfolders, sorted."""
    return sorted(file for file in folder.rglob("*") if _is_image(file))


def _class_folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _is_image(file: Path) -> bool:
    return file.suffix.lower() in ENDINGS and not file.name.startswith(".")
