"""Encoder: what is no image, no feature and no device is refused, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from bitreplay import caches
from bitreplay.backbones import Preprocessing
from bitreplay.data import Samples, from_arrays
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError


def make(backbone: nn.Module) -> Encoder:
    return Encoder(backbone, Preprocessing(mean=(0.4,), std=(0.3,)), name="test", device="cpu")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: x.flatten(1) / 0 * 0, "finite"),
        (lambda x: x.flatten(1).log(), "finite"),
        (lambda x: x, r"\(8, d\); got shape \(8, 1, 4, 4\)"),
        (lambda x: x.flatten(1)[:5], r"\(8, d\); got shape \(5, 16\)"),
        (lambda x: x.sum(), r"\(8, d\)"),
    ],
)
def test_features_that_are_none_are_refused(wrong: object, message: str) -> None:
    encoder = Encoder(wrong, Preprocessing(mean=(0.5,), std=(1.0,)), name="odd", device="cpu")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"odd must turn .*{message}"):
        encoder.features(np.zeros((8, 4, 4, 1), dtype=np.uint8))


@pytest.mark.parametrize("images", [np.zeros((2, 4, 4), np.uint8), np.zeros((2, 4, 4, 1), np.float32)])
def test_what_is_no_image_is_refused(images: npt.NDArray[np.uint8]) -> None:
    with pytest.raises(InputError, match="images must be uint8"):
        make(nn.Flatten()).features(images)


class Nothing(nn.Module):
    """Features that are no numbers."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return float("nan") * images.flatten(1)


def test_a_refusal_leaves_no_entry_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path))
    images = np.zeros((2, 4, 4, 1), dtype=np.uint8)
    dataset = from_arrays(images, np.arange(2), images, np.arange(2), name="black")
    with pytest.raises(InputError, match="finite"):
        make(Nothing()).features(Samples(dataset, "train", np.array([0])))
    assert not [entry for entry in caches.entries() if entry.finished]


def test_grey_images_for_a_network_of_colours_are_refused():
    encoder = make(nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten()))
    with pytest.raises(InputError, match="test does not accept these images of 8 x 8 x 1"):
        encoder.features(np.zeros((2, 8, 8, 1), dtype=np.uint8))


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="the device 'toaster' cannot be used"):
        Encoder(torch.nn.Flatten(), Preprocessing(), name="pixels", device="toaster")
