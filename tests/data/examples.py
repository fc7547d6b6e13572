"""Small data sets for the tests: images whose first pixel says which they are."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from bitreplay.data import ImageDataset, from_arrays


def pixels(number: int, height: int = 6, width: int = 6) -> npt.NDArray[np.uint8]:
    """A random image of which the first pixel is (number, number // 256, 77)."""
    image = np.random.default_rng(number).integers(0, 256, (height, width, 3), dtype=np.uint8)
    image[0, 0] = number % 256, number // 256, 77
    return image


def encode(image: npt.NDArray[np.uint8], kind: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, kind, **options)
    return stream.getvalue()


def numbers(images: npt.NDArray[np.uint8]) -> list[int]:
    """Which images of :func:`pixels` these are; fails for others."""
    assert (images[:, 0, 0, 2] == 77).all()
    return [int(first) + 256 * int(second) for first, second in images[:, 0, 0, :2]]


def write_image(path: Path, image: npt.NDArray[np.uint8] | int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(pixels(image) if isinstance(image, int) else image))


def write_table(
    path: Path,
    images: Sequence[int],
    labels: Sequence[Any],
    names: Sequence[str] | None = None,
    columns: tuple[str, str] = ("image", "label"),
    others: dict[str, tuple[Sequence[Any], dict[str, Any]]] | None = None,
) -> None:
    """A parquet file with Hugging Face's note in its schema, or without it if `names` is None."""
    table = pa.table(
        {
            columns[0]: pa.array([{"bytes": encode(pixels(number)), "path": None} for number in images]),
            columns[1]: pa.array(labels),
            **{name: pa.array(values) for name, (values, _) in (others or {}).items()},
        }
    )
    if names is not None:
        features: dict[str, Any] = {
            columns[0]: {"_type": "Image"},
            columns[1]: {"names": list(names), "_type": "ClassLabel"},
            **{name: feature for name, (_, feature) in (others or {}).items()},
        }
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=3)


def tiny_dataset(n_classes: int, per_class: int = 3, tests: int = 2) -> ImageDataset:
    """`n_classes` classes of `per_class` training and `tests` test images each, in mixed order."""
    generator = np.random.default_rng(n_classes)
    train = generator.permutation(np.repeat(np.arange(n_classes), per_class))
    test = generator.permutation(np.repeat(np.arange(n_classes), tests))
    images = generator.integers(0, 256, (len(train) + len(test), 2, 2, 1), dtype=np.uint8)
    return from_arrays(images[: len(train)], train, images[len(train) :], test)
