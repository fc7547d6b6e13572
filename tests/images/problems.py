"""Photographs that anybody can tell apart, and a network that takes milliseconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from bitreplay import GBMClassifier, ImageClassifier
from bitreplay.backbones import Preprocessing, build_backbone
from bitreplay.training import TrainedNetwork

PREPROCESSING = Preprocessing(mean=(0.4,), std=(0.3,), size=16)
COLOURS = ("red", "green", "blue")


def photographs(colour: str, n: int = 12, seed: int = 0, size: tuple[int, int] = (24, 20)) -> npt.NDArray[np.uint8]:
    """Noise of one colour (N, H, W, 3)."""
    rng = np.random.default_rng([seed, COLOURS.index(colour)])
    images = rng.integers(0, 90, (n, *size, 3), dtype=np.uint8)
    images[..., COLOURS.index(colour)] += 150
    return images


def small_network(seed: int = 0) -> torch.nn.Module:
    return build_backbone("small_cnn", width=4, in_channels=3, generator=torch.Generator().manual_seed(seed)).eval()


def save_network(folder: Path, seed: int = 0) -> Path:
    """The network as `bitreplay train` would leave it."""
    head = np.zeros((2, 32), np.float32), np.zeros(2, np.float32)
    options = {"width": 4, "in_channels": 3}
    trained = TrainedNetwork(
        small_network(seed), None, *head, PREPROCESSING, np.arange(2), {}, "key", "small_cnn", options
    )
    trained.save(folder)
    return folder


def untaught(seed: int = 0, **options: object) -> ImageClassifier:
    classifier = GBMClassifier(prototypes=2, random_state=0, **options)  # type: ignore[arg-type]
    return ImageClassifier(small_network(seed), classifier, preprocessing=PREPROCESSING, device="cpu")


def taught(seed: int = 0) -> ImageClassifier:
    """Knows all three colours."""
    return untaught(seed).partial_fit(
        [image for colour in COLOURS for image in photographs(colour)], np.repeat(COLOURS, 12)
    )


def save_folder(root: Path, *colours: str, n: int = 12, seed: int = 0, kind: str = "png") -> Path:
    """A folder of photographs with a subfolder for every class."""
    for colour in colours:
        (root / colour).mkdir(parents=True)
        for number, image in enumerate(photographs(colour, n, seed)):
            Image.fromarray(image).save(root / colour / f"{number}.{kind}")
    return root
