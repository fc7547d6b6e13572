"""A setting that needs no training: digits, and a small network with random weights in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from bitreplay.backbones import Preprocessing, build_backbone
from bitreplay.data import load_dataset, make_scenario
from bitreplay.runs import Setting
from bitreplay.training import TrainedNetwork

SIZES = [5, 3, 2]


def save_network(folder: Path, *, seed: int = 0, width: int = 4) -> Path:
    """An untrained network that says it was trained on task 0 of :func:`digits`."""
    options = {"width": width, "in_channels": 1}
    backbone = build_backbone("small_cnn", generator=torch.Generator().manual_seed(seed), **options)
    classes = make_scenario(load_dataset("digits"), sizes=SIZES)[0].classes
    head = np.zeros((len(classes), 8 * width), np.float32), np.zeros(len(classes), np.float32)
    preprocessing = Preprocessing(mean=(0.3,), std=(0.4,))
    TrainedNetwork(backbone, None, *head, preprocessing, classes, {}, f"untrained {seed}", "small_cnn", options).save(
        folder
    )
    return folder


def digits(network: Path, **options: object) -> Setting:
    """Three tasks of digits, with 30 samples per class in all but the first."""
    given = {"sizes": SIZES, "samples_per_class": 30, "accelerator": "cpu", **options}
    return Setting("digits", encoder=str(network), **given)  # type: ignore[arg-type]
