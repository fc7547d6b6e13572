"""The check of images that are given to an encoder as an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.bits import to_numpy
from bitreplay.errors import InputError


def checked_images(images: Any) -> npt.NDArray[np.uint8]:
    """Images as an array, or a word on what is expected."""
    array = to_numpy(images) if isinstance(images, torch.Tensor) else images
    if not isinstance(array, np.ndarray) or array.ndim != 4 or array.dtype != np.uint8:
        got = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else f"a {type(images).__name__}"
        raise InputError(
            "images must be uint8, pixels from 0 to 255, in an array of shape (N, height, width, channels), or samples "
            f"of a data set; got {got}"
        )
    return array
