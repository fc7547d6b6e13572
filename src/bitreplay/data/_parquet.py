"""Images in tables in Hugging Face's layout: local parquet files, or data downloaded by its library.

A table has one column with encoded images and one with labels; the schema says which.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.data._decoded import EncodedDataset, EncodedSplit
from bitreplay.data._images import Encoded
from bitreplay.data._split import classes_in_both, split_by_seed
from bitreplay.errors import FileFormatError, InputError

Integers = npt.NDArray[np.int64]

TRAIN = "train"
TEST_SPLITS = ("test", "validation", "valid", "val")  # the first of these that has labels
LABEL_COLUMNS = ("label", "labels", "fine_label", "class", "target")  # if there are several to choose from
BLOCK = 512  # rows read at once


@dataclass(frozen=True)
class ImageTable:
    """One split: its arrow schema, and a function that yields one of its columns, piece by piece."""

    name: str
    schema: Any
    column: Callable[[str], Iterator[Any]]


def find_parquet(folder: Path) -> dict[str, list[Path]]:
    """The parquet files of a folder by split, according to their names or folders."""
    splits: dict[str, list[Path]] = {}
    for file in sorted([*folder.glob("*.parquet"), *folder.glob("*/*.parquet")]):
        for text in (file.stem, file.parent.name):  # train-00000-of-00001.parquet, train/0000.parquet
            if match := re.match(rf"({TRAIN}|{'|'.join(TEST_SPLITS)})(?![a-z])", text.lower()):
                splits.setdefault(match[1], []).append(file)
                break
    return splits


def local_tables(splits: Mapping[str, list[Path]]) -> dict[str, ImageTable]:
    """Tables of parquet files, by split."""
    pq = _pyarrow_parquet()
    tables = {}
    for split, files in splits.items():
        with _naming(files[0]), pq.ParquetFile(files[0]) as first:
            schema = first.schema_arrow

        def column(name: str, files: list[Path] = files) -> Iterator[Any]:
            for file in files:
                with _naming(file), pq.ParquetFile(file) as parquet:
                    for batch in parquet.iter_batches(BLOCK, columns=[name]):
                        yield batch.column(0)

        tables[split] = ImageTable(" and ".join(file.name for file in files[:2]), schema, column)
    return tables


def encoded_from_tables(
    tables: Mapping[str, ImageTable], source: str, label_column: str | None, test_fraction: float, seed: int
) -> EncodedDataset:
    """Training and test samples of tables by split; without a labelled test split, a share of `train` becomes one.

    Classes that are in only one of the splits are left out, the others are numbered without gaps; `source` says so.
    """
    if TRAIN not in tables:
        raise InputError(
            f"no training split in {source}: expected {TRAIN}*.parquet, found {sorted(tables) or 'nothing'}"
        )
    train = tables[TRAIN]
    image_column, label_column = _find_columns(train, label_column)
    labelled = [
        tables[split] for split in TEST_SPLITS if split in tables and label_column in tables[split].schema.names
    ]
    values, names = _read_labels([train, *labelled], label_column)
    test, test_labels = next(
        ((table, labels) for table, labels in zip(labelled, values[1:], strict=True) if (labels >= 0).any()),
        (None, values[0]),
    )
    train_labels = values[0]
    if test is None:
        test, source = train, f"{source}, {test_fraction:g} of it for testing"
        usable = np.flatnonzero(train_labels >= 0)
        rows = usable[split_by_seed(train_labels[usable], names, test_fraction, seed)[1]]
        test_labels = np.full_like(train_labels, -1)
        test_labels[rows], train_labels[rows] = train_labels[rows], -1
    train_labels, test_labels, kept, remark = classes_in_both(train_labels, test_labels, names)
    return EncodedDataset(
        _encoded(train, image_column, train_labels),
        _encoded(test, image_column, test_labels),
        kept,
        f"{source} ({remark})" if remark else source,
    )


def _encoded(table: ImageTable, column: str, labels: Integers) -> EncodedSplit:
    """The rows of a table that have a label, as samples."""

    def images() -> Iterator[Encoded]:
        row = 0
        for piece in table.column(column):
            for value in piece:
                if labels[row] >= 0:
                    yield Encoded(f"{table.name}, row {row}", _content(value.as_py(), table, row))
                row += 1

    return EncodedSplit(labels[labels >= 0], images)


def _content(value: Any, table: ImageTable, row: int) -> Path | bytes:
    """Hugging Face stores an image as its bytes, or as a path, or both."""
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return Path(value)
    raise FileFormatError(f"no image in {table.name}, row {row}")


def _find_columns(table: ImageTable, label: str | None) -> tuple[str, str]:
    """Names of the image and of the label column."""
    features = _features(table.schema)
    images = [name for name, feature in features.items() if feature["_type"] == "Image"]
    image = next((name for name in ("image", "img") if name in images), images[0] if len(images) == 1 else None)
    if image is None:
        raise InputError(f"expected one column of images in {table.name}; its columns are {', '.join(features)}")
    if label is None:
        classes = [name for name, feature in features.items() if feature["_type"] == "ClassLabel"]
        plain = [name for name in LABEL_COLUMNS if name in features and features[name]["_type"] == "Value"]
        named = [name for name in LABEL_COLUMNS if name in classes]
        label = next(iter([*named, *classes, *plain]), None) if len(classes) < 2 or named else None
    if label not in features:
        raise InputError(
            f"expected a column of labels in {table.name}, called one of {', '.join(LABEL_COLUMNS)}; "
            f"its columns are {', '.join(features)}"
        )
    return image, label


def _features(schema: Any) -> dict[str, dict[str, Any]]:
    """What each column holds: from Hugging Face's note in the schema, or inferred from its type."""
    import pyarrow as pa

    features: dict[str, dict[str, Any]] = {}
    with contextlib.suppress(ValueError, KeyError, TypeError):
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    for field in schema:
        kind = field.type
        encoded = pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0
        guess = "Image" if encoded or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "Value"
        if not (isinstance(features.get(field.name), dict) and "_type" in features[field.name]):
            features[field.name] = {"_type": guess}
    return {name: features[name] for name in schema.names}


def _read_labels(tables: list[ImageTable], column: str) -> tuple[list[Integers], list[str]]:
    """Labels of all rows of some tables, -1 for none, and the names of the classes."""
    names = _features(tables[0].schema)[column].get("names")
    raw = [[value for piece in table.column(column) for value in piece.to_pylist()] for table in tables]
    if names is None:
        distinct = sorted({value for values in raw for value in values if value is not None and value != -1})
        number = {value: label for label, value in enumerate(distinct)}
        raw = [[number.get(value, -1) for value in values] for values in raw]
        names = [str(value) for value in distinct]
    labels = [np.array([-1 if value is None else value for value in values], dtype=np.int64) for values in raw]
    for table, values in zip(tables, labels, strict=True):
        if len(values) and values.max() >= len(names):
            raise FileFormatError(f"{table.name} has label {values.max()}, but names only {len(names)} classes")
        values[values < 0] = -1
    return labels, list(names)


def _pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError("reading parquet files needs pyarrow: pip install 'bitreplay[data]'") from None
    return pyarrow.parquet


@contextlib.contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Name the file in errors when it cannot be read."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"cannot read {file}: {error}") from None
