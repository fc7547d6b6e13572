"""A small setting that needs no training, for the examples in the docstrings of this package."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np

from bitreplay.backbones import Preprocessing, SmallCNN
from bitreplay.runs._setting import Setting
from bitreplay.training import TrainedNetwork


@contextmanager
def small_example() -> Iterator[tuple[Setting, Path]]:
    """Three digits in two tasks with an untrained network as encoder, and a folder for runs; all temporary."""
    options, blank = {"width": 2, "in_channels": 1}, np.zeros(0, np.float32)
    network = TrainedNetwork(
        SmallCNN(**options), None, blank, blank, Preprocessing(), np.arange(2), {}, "untrained", "small_cnn", options
    )
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, BITREPLAY_CACHE=f"{folder}/cache"):
        network.save(f"{folder}/network")
        sizes, encoder = [2, 1], f"{folder}/network"
        yield Setting("digits", sizes=sizes, order=None, classes=3, encoder=encoder, accelerator="cpu"), Path(folder)
