"""A few steps of everything at the size of the paper: does `--scale paper` run before anybody rents a GPU for it?

Networks, sizes of images and batches, learners and tasks are those of the paper. What is less: images per class,
epochs, seeds, and for table 1 the tasks, of which the first two are run. Its second has 30 images: where there are no
exemplars beside them, they are one batch, smaller than the paper's.

BITREPLAY_DATA=... python benchmarks/paper_scale.py table-1
BITREPLAY_DATA=... python benchmarks/paper_scale.py table-2 table-3 figure-4
"""

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bitreplay.cli import main as bitreplay
from bitreplay.data._known import KNOWN, data_root
from bitreplay.experiments import EXPERIMENTS
from bitreplay.experiments._main_runs import METHODS, SETTING
from bitreplay.learners import LEARNERS
from bitreplay.training import PRESETS

PER_CLASS = 6  # images: 300 of task 0 are three batches
SETS = ("cifar100", "tiny_imagenet")
SHORT = ("paper", "full_binary")  # presets of trainings at paper scale


def few_images(source: Path, target: Path, label: str) -> None:
    """The same data set with the first few images of every class."""
    target.mkdir(parents=True)
    for file in source.glob("*.parquet"):
        table = pq.read_table(file)
        labels = table.column(label).to_numpy()
        rows = np.sort(np.concatenate([np.flatnonzero(labels == one)[:PER_CLASS] for one in np.unique(labels)]))
        pq.write_table(table.take(rows), target / file.name)


def main(names: list[str]) -> int:
    """Run them; returns how many failed."""
    root = data_root()
    if root is None:
        sys.exit("BITREPLAY_DATA must be the folder with cifar100 and tiny_imagenet")
    for preset in SHORT:
        PRESETS[preset] = replace(PRESETS[preset], epochs=1, ste_epochs=min(1, PRESETS[preset].ste_epochs))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in SETS:
            if (root / name).is_dir():
                few_images(root / name, Path(folder) / "data" / name, str(KNOWN[name].label))
        os.environ |= {"BITREPLAY_DATA": f"{folder}/data", "BITREPLAY_CACHE": f"{folder}/cache"}
        for name in names or list(EXPERIMENTS):
            begun = time.monotonic()
            command = ["reproduce", name, "--scale", "paper", "--seeds", "0", "--output", folder]
            if name == "table-1":
                setting = {**SETTING["paper"], "classes": 55, "base": 50, "tasks": 1}
                command = ["compare", "--output", folder, *(f"--{option}={value}" for option, value in setting.items())]
                command += ["--learners", *map(_short, METHODS)]
            if bitreplay(command) != 0:
                failed.append(name)
            print(f"{name}: {'failed' if name in failed else 'ran'}, {time.monotonic() - begun:.0f} s", flush=True)
    print(f"failed: {', '.join(failed) or 'none'}")
    return len(failed)


def _short(text: str) -> str:
    """A learner that trains its own network, for one epoch a task."""
    name, _, options = text.partition(":")
    given = [options] if options else []
    return f"{name}:{','.join([*given, 'epochs=1'])}" if LEARNERS[name]().uses is None else text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
