"""From stored pixels to what a backbone expects.

This is the step before the backbone: bytes become numbers at the size and scale it was trained with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch

from bitreplay._floor.arguments import integer, one_of
from bitreplay.errors import InputError


@dataclass(frozen=True)
class Preprocessing:
    """Resize, scale and normalise images; call it with a uint8 tensor (N, H, W, C), on any device.

    Parameters
    ----------
    mean, std : tuple of float
        Per channel, with pixels from 0 to 1. One value applies to all channels.
    size : int or None
        Height and width in pixels that images are resized to; None leaves them unchanged.
    interpolation : {"bilinear", "bicubic"}
        How they are resized.

    Examples
    --------
    >>> prepare = Preprocessing(mean=(0.5,), std=(0.5,), size=16)
    >>> prepare(torch.full((2, 8, 8, 3), 255, dtype=torch.uint8)).shape
    torch.Size([2, 3, 16, 16])
    """

    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.25,)
    size: int | None = None
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"

    crops: ClassVar[bool] = True  # whoever decodes a picture for it crops it to its shape, before it is resized

    def __post_init__(self) -> None:
        if any(not value > 0 for value in self.std):
            raise InputError(f"std must be positive; got {self.std!r}")
        if self.size is not None:
            integer("size", self.size, 1)
        one_of("interpolation", self.interpolation, ("bilinear", "bicubic"))

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Float tensor (N, C, size, size) of images (N, H, W, C)."""
        return self.normalise(self.resize(self.to_float(images)))

    @staticmethod
    def to_float(images: torch.Tensor) -> torch.Tensor:
        """Bytes (N, H, W, C) as numbers from 0 to 1 (N, C, H, W), laid out channels-last."""
        if images.dtype != torch.uint8 or images.ndim != 4:
            raise InputError(
                "images must be uint8 of shape (samples, height, width, channels); "
                f"got {images.dtype} of shape {tuple(images.shape)}"
            )
        return images.permute(0, 3, 1, 2).float() / 255

    def resize(self, images: torch.Tensor) -> torch.Tensor:
        """Images (N, C, size, size) of images (N, C, H, W)."""
        if self.size is None or images.shape[2:] == (self.size, self.size):
            return images
        shrinks = self.size < min(images.shape[2:])  # fine detail must not turn into false coarse detail
        return torch.nn.functional.interpolate(
            images, (self.size, self.size), mode=self.interpolation, align_corners=False, antialias=shrinks
        ).contiguous(memory_format=torch.channels_last)

    def normalise(self, images: torch.Tensor) -> torch.Tensor:
        """Images normalised by `mean` and `std`."""
        if len(self.mean) not in (1, images.shape[1]) or len(self.std) != len(self.mean):
            raise InputError(f"mean and std must have {images.shape[1]} values, one per channel, or one value")
        mean, std = (
            torch.tensor(values, dtype=images.dtype, device=images.device)[:, None, None]
            for values in (self.mean, self.std)
        )
        return (images - mean) / std
