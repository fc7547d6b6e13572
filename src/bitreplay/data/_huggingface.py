"""Image data sets from the Hugging Face Hub, by name, through its `datasets` library.

The library keeps what it downloads in its own cache; we take the tables from it and treat them like local parquet
files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bitreplay.data._parquet import BLOCK, ImageTable
from bitreplay.errors import InputError


def hub_tables(repository: str, advice: str) -> dict[str, ImageTable]:
    """Tables of a data set on the Hub, by split; downloaded if necessary; `advice` says how else to get it."""
    try:
        import datasets
    except ImportError:
        raise InputError(
            f"downloading {repository} needs the Hugging Face library: pip install 'bitreplay[data]'; {advice}"
        ) from None
    try:
        splits = datasets.load_dataset(repository)
    except datasets.exceptions.DatasetNotFoundError:
        raise InputError(f"there is no public data set {repository!r} on the Hugging Face Hub; {advice}") from None
    except ConnectionError:
        raise InputError(f"cannot reach the Hugging Face Hub to download {repository}; {advice}") from None
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise InputError(f"cannot load {repository} from the Hugging Face Hub: {error}; {advice}") from None
    return {split: _table(f"{repository}, split {split}", data) for split, data in splits.items()}


def _table(name: str, data: Any) -> ImageTable:
    def column(column: str) -> Iterator[Any]:
        for table in data.select_columns(column).with_format("arrow").iter(BLOCK):
            yield from table.column(0).chunks

    return ImageTable(name, data.features.arrow_schema, column)
