"""One function that loads a data set from any source: by a known name, from a folder, or from the Hub."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from bitreplay._floor.arguments import integer
from bitreplay._floor.folders import data_root
from bitreplay.data._core50 import core50_frames, core50_root, encoded_core50
from bitreplay.data._dataset import ImageDataset, from_arrays
from bitreplay.data._decoded import EncodedDataset, load_decoded
from bitreplay.data._folder import encoded_folder, image_files, split_folders
from bitreplay.data._huggingface import hub_tables
from bitreplay.data._known import KNOWN, advice, is_path, local_folder
from bitreplay.data._parquet import encoded_from_tables, find_parquet, local_tables
from bitreplay.data._split import every_nth, split_by_seed
from bitreplay.errors import InputError


def load_dataset(
    name: str | os.PathLike[str],
    *,
    image_size: int | None = None,
    test_fraction: float = 0.2,  # ours: scikit-learn's habit is 0.25; few images per class should rather be learned
    seed: int = 0,
    every: int = 1,
) -> ImageDataset:
    """Load a data set; images are decoded once and memory-mapped from the cache after that.

    Parameters
    ----------
    name : str or path
        `"digits"`; a known name (`"cifar100"`, `"tiny_imagenet"`, `"core50"`); the path of a folder; or the name of an
        image data set on the Hugging Face Hub, `"user/name"`. `$BITREPLAY_DATA/<name>` takes precedence if it exists. A
        folder may hold parquet files as on the Hub, `train/` and `test/` with one folder of images per class, or
        just one folder per class.
    image_size : int, optional
        Side of the square to which images are resized: the shorter side is resized, the centre is cropped. By default
        they stay unchanged if all have the same size of at most 256 pixels, and become 128 x 128 otherwise.
    test_fraction : float
        Share of each class that is held out if a data set has no test split.
    seed : int
        Determines which samples are held out.
    every : int
        Of CORe50's videos, use every n-th frame; of other data sets, every n-th training sample of each class.

    Raises
    ------
    InputError
        If there is no such data; the message says which path or command would provide it.

    Examples
    --------
    >>> load_dataset("digits")
    ImageDataset('digits', 10 classes, 1438 training and 359 test images of 8 x 8 x 1)
    >>> load_dataset("digits", every=4)
    ImageDataset('digits', 10 classes, 364 training and 359 test images of 8 x 8 x 1)
    """
    name = _checked(name, image_size, test_fraction, seed, every)
    if name == "digits":
        if image_size not in (None, 8):
            raise InputError(f"digits are 8 x 8 pixels; leave image_size out (got {image_size})")
        return every_nth(_digits(test_fraction, seed), every)
    found = local_folder(name)
    if found is None:
        return every_nth(_from_hub(name, image_size, test_fraction, seed), every)
    folder, called = found
    label = KNOWN[name].label if name in KNOWN else None
    files, options, open_source = find_source(folder, label, test_fraction, seed, every)
    # Where data lies is part of the key: equal names, sizes and times may be chance, and other data would be silent.
    identity = [
        (file.relative_to(folder).as_posix(), (stat := file.stat()).st_size, stat.st_mtime_ns) for file in files
    ]
    dataset = load_decoded(called, open_source, image_size, folder=folder, files=identity, **options)
    return dataset if "every" in options else every_nth(dataset, every)


def find_source(
    folder: Path, label: str | None, test_fraction: float, seed: int, every: int
) -> tuple[list[Path], dict[str, Any], Callable[[], EncodedDataset]]:
    """The content of a folder: its files, the relevant options, and a function that reads it."""
    chosen = {"test_fraction": test_fraction, "seed": seed}
    if splits := find_parquet(folder):
        files = [file for split in splits.values() for file in split]
        return (
            files,
            {} if label and len(splits) > 1 else chosen,  # a known data set with its own test split
            lambda: encoded_from_tables(local_tables(splits), str(folder), label, test_fraction, seed),
        )
    if root := core50_root(folder):
        frames = core50_frames(root, every)
        return [file for _, _, file in frames], {"every": every}, lambda: encoded_core50(root, frames, every)
    return (
        image_files(folder),
        {} if split_folders(folder)[1] else chosen,
        lambda: encoded_folder(folder, test_fraction, seed),
    )


def hub_identity(name: str, test_fraction: float, seed: int) -> dict[str, Any]:
    """What determines a data set from the Hub. Its revision is not included: once decoded, it works offline."""
    if name in KNOWN:  # these have their own test splits
        return {"repository": KNOWN[name].repository}
    return {"repository": name, "test_fraction": test_fraction, "seed": seed}


def _from_hub(name: str, image_size: int | None, test_fraction: float, seed: int) -> ImageDataset:
    repository = KNOWN[name].repository if name in KNOWN else name
    if repository is None:
        raise InputError(f"{name} is not available: {advice(name)}")
    if not re.fullmatch(r"[\w-][\w.-]*/[\w-][\w.-]*", repository):
        raise InputError(_unknown(name))
    label = KNOWN[name].label if name in KNOWN else None

    def open_source() -> EncodedDataset:
        tables = hub_tables(repository, advice(name))
        return encoded_from_tables(tables, f"{repository} on the Hugging Face Hub", label, test_fraction, seed)

    return load_decoded(name, open_source, image_size, **hub_identity(name, test_fraction, seed))


def _checked(name: str | os.PathLike[str], image_size: int | None, test_fraction: float, seed: int, every: int) -> str:
    """The name as text, replaced by our name if it is the Hub's name of a known data set."""
    if not isinstance(name, str | os.PathLike) or not (name := os.fspath(name)):
        raise InputError(f"name must be that of a data set, or the path of a folder; got {name!r}")
    if image_size is not None:
        integer("image_size", image_size, 1)
    if isinstance(test_fraction, bool) or not isinstance(test_fraction, float | int) or not 0 < test_fraction < 1:
        raise InputError(f"test_fraction must be a number between 0 and 1; got {test_fraction!r}")
    integer("seed", seed, 0)
    integer("every", every, 1)
    return {known.repository: ours for ours, known in KNOWN.items()}.get(name, name)


def _unknown(name: str) -> str:
    """The message for a name that is neither known nor a folder."""
    if is_path(name) or os.sep in name:
        return f"there is no folder {name!r}"
    root = data_root()
    names = [*KNOWN, *(path.name for path in root.iterdir() if path.is_dir())] if root and root.is_dir() else [*KNOWN]
    near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.5)
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else "expected the path of a folder, or 'user/name' on the Hugging Face Hub"
    )
    return f"there is no data set {name!r} among {', '.join(sorted(set(names)))}; {hint}"


def _digits(test_fraction: float, seed: int) -> ImageDataset:
    """1797 grey images of ten digits; a share of each class, chosen by `seed`, becomes the test split."""
    raw = load_digits()
    images = np.round(raw.images * (255 / 16)).astype(np.uint8)  # scikit-learn's pixels go from 0 to 16
    labels = raw.target.astype(np.int64)
    names = [str(name) for name in raw.target_names]
    train, test = split_by_seed(labels, names, test_fraction, seed)
    dataset = from_arrays(images[train], labels[train], images[test], labels[test], names, "digits")
    return replace(dataset, source="scikit-learn")
