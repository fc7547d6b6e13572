"""What the attacks are made on: a small data set, and an encoder whose numbers are known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay.backbones import Preprocessing
from bitreplay.binarizers import Thermometer
from bitreplay.data import ImageDataset, Samples, from_arrays
from bitreplay.encoder import Encoder


def small_dataset(n: int = 60) -> ImageDataset:
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (m, 4, 4, 1), dtype=np.uint8) for m in (n, 10)]
    return from_arrays(images[0], np.arange(n) % 5, images[1], np.arange(10) % 5, name="noise")


def all_samples(dataset: ImageDataset) -> Samples:
    return Samples(dataset, "train", np.arange(len(dataset.train.labels)))


def small_encoder(n_features: int = 6) -> Encoder:
    layer = nn.Linear(16, n_features)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, generator=torch.Generator().manual_seed(0))
    network = nn.Sequential(nn.Flatten(), layer)
    return Encoder(network, Preprocessing(mean=(0.4,), std=(0.3,)), name="test", device="cpu")


def encoded(encoder: Encoder, samples: Samples) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.uint8]]:
    """Features and bits, both of which go through the cache."""
    return encoder.features(samples), encoder.bits(samples, Thermometer(2)).unpack()
