"""The data sets known by name, where local data is, and how to get what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bitreplay._floor.folders import DATA, data_root


@dataclass(frozen=True)
class Known:
    """A data set known by name; numbers refer to the whole set."""

    classes: int
    samples: int
    repository: str | None = None  # on the Hugging Face Hub
    label: str | None = None  # column of the labels, where there are several


KNOWN = {
    "digits": Known(10, 1797),
    "cifar100": Known(100, 60_000, "uoft-cs/cifar100", "fine_label"),  # the other labels are 20 coarse classes
    "tiny_imagenet": Known(200, 110_000, "zh-plus/tiny-imagenet", "label"),
    "core50": Known(10, 164_866),
    "eth80": Known(8, 3280, label="label"),  # other columns are the object and the view
}


def local_folder(name: str) -> tuple[Path, str] | None:
    """The folder of a data set and its name: in `$BITREPLAY_DATA`, or at the path `name`.

    A known name always means that data set, never a folder of this name in the working directory.
    """
    root = data_root()
    if root is not None and not is_path(name) and (root / name).is_dir():
        return root / name, name
    path = Path(name).expanduser()
    return (path.absolute(), path.resolve().name) if name not in KNOWN and path.is_dir() else None


def is_path(name: str) -> bool:
    """Whether this can only be a path: `/data/pets`, `./pets`, `~/pets`."""
    return name.startswith((".", "~")) or Path(name).is_absolute()


def advice(name: str) -> str:
    """How to get a known data set, or one from the Hub."""
    root = data_root()
    place = f"${DATA}/{name}" + (f" ({root / name})" if root else f" (${DATA} is not set: the folder with your data)")
    if name == "digits":
        return "comes with scikit-learn"
    if name == "core50":
        return (
            "get core50_128x128.zip from https://vlomonaco.github.io/core50 and unpack it, so that its folders s1 to "
            f"s11 are in {place}"
        )
    if name == "eth80":
        return (
            f"put its parquet files, split by object (docs/data.md), into {place}; the images are at "
            "https://github.com/Kai-Xuan/ETH-80"
        )
    repository = KNOWN[name].repository if name in KNOWN else name
    return (
        f"put its parquet files into {place}, or pip install 'bitreplay[data]' and go online once: {repository} is "
        "then downloaded from the Hugging Face Hub"
    )
