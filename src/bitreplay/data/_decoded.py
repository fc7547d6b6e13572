"""Encoded images are decoded to `uint8` arrays once, in the cache, and memory-mapped from there.

This is the step from the files of a source (parquet, folders, CORe50) to the :class:`ImageDataset` that everything
else works on.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay import caches
from bitreplay._floor.arrays import write_array
from bitreplay._floor.progress import progress
from bitreplay.data._dataset import ImageDataset, Part, Split, begin_fingerprint
from bitreplay.data._images import Encoded, common_size, decode, need_pillow
from bitreplay.errors import FileFormatError, InputError

KIND = "datasets"  # of cache entries
VERSION = 1  # of the files in the cache and of the way they are made: another number, other entries
BLOCK = 512  # images decoded at once: enough for all threads, and little memory
THREADS = 4  # Pillow decodes without Python's lock; more threads than this wait for the writing
PARTS: tuple[Part, Part] = ("train", "test")


@dataclass(frozen=True)
class EncodedSplit:
    """Samples that are still files or bytes.

    `images` restarts at each call and yields them in the order of the labels, so that they need not all be in memory.
    """

    labels: npt.NDArray[np.int64]
    images: Callable[[], Iterator[Encoded]]
    groups: npt.NDArray[np.int64] | None = None

    @classmethod
    def of_files(
        cls, files: Sequence[Path], labels: npt.NDArray[np.int64], groups: npt.NDArray[np.int64] | None = None
    ) -> EncodedSplit:
        """Samples that are one file each."""
        return cls(labels, lambda: (Encoded(str(file), file) for file in files), groups)


@dataclass(frozen=True)
class EncodedDataset:
    """The samples found by a source."""

    train: EncodedSplit
    test: EncodedSplit
    class_names: tuple[str, ...]
    source: str  # in readable form


def load_decoded(
    name: str, open_source: Callable[[], EncodedDataset], image_size: int | None, **identity: Any
) -> ImageDataset:
    """The data set from the cache; decoded into it first if missing or damaged.

    `open_source` is called only if images must be decoded; `identity` is what else determines the result.
    """
    key = decoded_key(name, image_size, **identity)
    for _ in range(2):  # an entry may be damaged, or be cleaned away while it is opened
        if (path := caches.find(KIND, key)) is not None:
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, EOFError):
                return _open(name, path)
            caches.clean(KIND, keys=[key])
        need_pillow()
        source = open_source()
        with caches.building(KIND, key, f"{name}: {source.source}") as path:
            _decode_into(path, name, source, image_size)
    if (path := caches.find(KIND, key)) is not None:
        return _open(name, path)
    raise FileFormatError(f"{name} was decoded, but cannot be read from the cache {caches.cache_root()}")


def decoded_key(name: str, image_size: int | None, **identity: Any) -> str:
    """The key of the entry that :func:`load_decoded` with the same arguments uses."""
    return caches.key(version=VERSION, name=name, image_size=image_size, **identity)


def _open(name: str, path: Path) -> ImageDataset:
    content = json.loads((path / "dataset.json").read_text(encoding="utf-8"))
    splits = {}
    for part in PARTS:
        groups = path / f"{part}_groups.npy"
        splits[part] = Split(
            np.load(path / f"{part}_images.npy", mmap_mode="r"),
            np.load(path / f"{part}_labels.npy"),
            np.load(groups) if groups.exists() else None,
        )
    return ImageDataset(
        name,
        splits["train"],
        splits["test"],
        tuple(content["class_names"]),
        content["source"],
        content["fingerprint"],
    )


def _decode_into(path: Path, name: str, source: EncodedDataset, image_size: int | None) -> None:
    total = len(source.train.labels) + len(source.test.labels)
    for part, split in zip(PARTS, (source.train, source.test), strict=True):
        if not len(split.labels):
            raise InputError(f"{name} has no {part} samples ({source.source})")
    if image_size is None:
        with progress(f"Measuring the images of {name}", total) as advance:
            height, width = common_size([source.train.images, source.test.images], advance)
    else:
        height = width = image_size
    shapes = [(len(split.labels), height, width, 3) for split in (source.train, source.test)]
    digest = begin_fingerprint(*shapes)
    with progress(f"Decoding {name}", total) as advance, ThreadPoolExecutor(THREADS) as threads:
        for part, split, shape in zip(PARTS, (source.train, source.test), shapes, strict=True):
            _write_images(path / f"{part}_images.npy", split, shape, digest, threads, advance)
            digest.update(split.labels.astype("<i8").tobytes())
            write_array(path / f"{part}_labels.npy", split.labels)
            if split.groups is not None:
                write_array(path / f"{part}_groups.npy", split.groups)
    content = {
        "name": name,
        "class_names": list(source.class_names),
        "source": source.source,
        "fingerprint": digest.hexdigest()[:32],
    }
    (path / "dataset.json").write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _write_images(
    file: Path,
    split: EncodedSplit,
    shape: tuple[int, int, int, int],
    digest: hashlib._Hash,
    threads: ThreadPoolExecutor,
    advance: Callable[[int], None],
) -> None:
    """Decode block by block, with plain writes: on a full disk a memory map would kill the process."""
    done = 0
    images = split.images()
    with file.open("xb") as stream:
        header = {"descr": "|u1", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(stream, header)
        while block := list(islice(images, BLOCK)):
            pixels = b"".join(threads.map(lambda encoded: decode(encoded, shape[1], shape[2]).tobytes(), block))
            stream.write(pixels)
            digest.update(pixels)
            done += len(block)
            advance(len(block))
    if done != shape[0]:
        raise FileFormatError(f"expected {shape[0]} images, one per label, but found {done}")
