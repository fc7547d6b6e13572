"""Which data sets are available, where they come from, and how to get the others: printed by `bitreplay data`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bitreplay import caches
from bitreplay._floor.folders import data_root
from bitreplay.data._decoded import KIND, decoded_key
from bitreplay.data._known import KNOWN, advice
from bitreplay.data._load import find_source, hub_identity
from bitreplay.errors import BitreplayError


@dataclass(frozen=True)
class Available:
    """A data set that can be loaded by `name`, or could be if it were here."""

    name: str
    present: bool
    where: str  # a folder, "scikit-learn", "cache", or empty
    classes: int | None
    samples: int | None
    how: str  # how to get it, or what is wrong with what is there; empty if it is ready


def available() -> list[Available]:
    """The known data sets, then everything else in `$BITREPLAY_DATA`.

    Examples
    --------
    >>> available()[0]
    Available(name='digits', present=True, where='scikit-learn', classes=10, samples=1797, how='')
    """
    root = data_root()
    folders = {path.name: path for path in sorted(root.iterdir()) if path.is_dir()} if root and root.is_dir() else {}
    others = [name for name in folders if name not in KNOWN and not name.startswith(".")]
    return [*(_known(name, folders.get(name)) for name in KNOWN), *(_in_folder(name, folders[name]) for name in others)]


def _known(name: str, folder: Path | None) -> Available:
    known = KNOWN[name]
    if name == "digits":
        return Available(name, True, "scikit-learn", known.classes, known.samples, "")
    if folder is not None:
        return _in_folder(name, folder)
    if known.repository and caches.find(KIND, decoded_key(name, None, **hub_identity(name, 0, 0)), verify=False):
        return Available(name, True, "cache", known.classes, known.samples, "")
    return Available(name, False, "", known.classes, known.samples, advice(name))


def _in_folder(name: str, folder: Path) -> Available:
    try:
        label = KNOWN[name].label if name in KNOWN else None
        source = find_source(folder, label, test_fraction=0.2, seed=0, every=1)[2]()
    except BitreplayError as error:
        return Available(name, False, str(folder), None, None, str(error))
    samples = len(source.train.labels) + len(source.test.labels)
    return Available(name, True, str(folder), len(source.class_names), samples, "")
