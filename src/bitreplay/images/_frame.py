"""The frame: at which size, and in how many channels, pictures are handed to an encoder's preprocessing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from bitreplay._floor.arguments import integer, truth
from bitreplay.data import decode_within
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.images._pictures import Picture

LARGEST = 4096  # ours: pixels of a side, far more than any network takes


@dataclass(frozen=True)
class Frame:
    """The size at which pictures are given to an encoder's preprocessing.

    Examples
    --------
    >>> from bitreplay.data import Named
    >>> from PIL import Image
    >>> Frame(112, 112).pixels(Named("mine", Image.new("RGB", (400, 300)))).shape
    (112, 112, 3)
    >>> Frame(112, 112).pixels(Named("mine", Image.new("RGB", (40, 30)))).shape
    (30, 30, 3)
    """

    height: int  # pictures are cropped to this shape about their centre, and shrunk to it if larger
    width: int
    channels: int = 3  # 1 for grey, 3 for colours
    crop: bool = True  # False leaves the cropping to the preprocessing
    enlarge: bool = False  # smaller pictures, too; otherwise that is left to the preprocessing

    def __post_init__(self) -> None:
        integer("height", self.height, 1, LARGEST)
        integer("width", self.width, 1, LARGEST)
        integer("channels", self.channels, 1, 3)
        truth("crop", self.crop), truth("enlarge", self.enlarge)

    @classmethod
    def of(cls, encoder: Encoder, size: int | tuple[int, int] | None = None) -> Frame:
        """The one that an encoder expects, or one of another size."""
        own = encoder.preprocessing.size
        if size is None and own is None:
            raise InputError(f"{encoder.name} takes images of any size: say with image_size which to give it")
        height, width = size if isinstance(size, tuple) else (size or own,) * 2
        return cls(height or 0, width or 0, _channels(encoder), encoder.preprocessing.crops, own is None)

    def pixels(self, picture: Picture) -> npt.NDArray[np.uint8]:
        """Pixels (H, W, channels) of a picture."""
        pixels = decode_within(picture, self.height, self.width, crop=self.crop, enlarge=self.enlarge)
        if self.channels == 3 or (pixels[..., :1] == pixels).all():  # what is grey already need not be rounded
            return np.array(pixels[..., : self.channels])
        from PIL import Image

        return np.array(Image.fromarray(pixels).convert("L"))[..., None]


def _channels(encoder: Encoder) -> int:
    """Channels of the images that a network takes: those of its first convolution."""
    modules = encoder.backbone.modules() if isinstance(encoder.backbone, nn.Module) else ()
    first = next((module for module in modules if isinstance(module, nn.Conv2d)), None)
    return 1 if first is not None and first.in_channels == 1 else 3
