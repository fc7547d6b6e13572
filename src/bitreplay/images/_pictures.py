"""Whatever somebody calls images, one after another, each with a name for messages.

It is what comes before images → features: files, bytes, Pillow's images, arrays, tensors and columns of data sets all
become RGB pixels.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.data import Encoded, Named, Samples, need_pillow
from bitreplay.errors import InputError

EXPECTED = "expected paths, encoded bytes, Pillow images, or uint8 arrays of shape (height, width, 3)"

Pixels = npt.NDArray[np.uint8]
Picture = Encoded | Named


class Pictures:
    """Pictures of any kind, read only as they are iterated.

    Parameters
    ----------
    images : anything
        One picture or several: paths, encoded bytes, Pillow images, uint8 arrays or tensors (height, width, 3) and
        (N, height, width, 3), a column of `datasets`, samples of a data set, or any iterable of these.

    Examples
    --------
    >>> len(Pictures(np.zeros((4, 8, 8, 3), np.uint8))), len(Pictures("cat.jpg")), len(Pictures(["cat.jpg", "dog.jpg"]))
    (4, 1, 2)
    """

    def __init__(self, images: Any) -> None:
        need_pillow()
        if isinstance(images, Samples):
            images = _SampleImages(images)
        elif isinstance(images, np.ndarray | torch.Tensor) and images.ndim == 4:
            pass  # its rows
        elif _is_one(images):
            images = [images]
        elif not isinstance(images, Iterable):
            raise InputError(f"{EXPECTED}, one or several; got a {type(images).__name__}")
        self._images = images

    def __len__(self) -> int:
        try:
            return len(self._images)
        except TypeError:  # an iterator does not know
            return 0

    def __iter__(self) -> Iterator[Picture]:
        for number, image in enumerate(self._images):
            yield _picture(image, f"number {number}")


class _SampleImages:
    """Images of samples of a data set, read one at a time."""

    def __init__(self, samples: Samples) -> None:
        self._images, self._indices = samples.dataset.split(samples.part).images, samples.indices

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[Pixels]:
        return (self._images[index] for index in self._indices)


def _is_one(image: Any) -> bool:
    if isinstance(image, np.ndarray | torch.Tensor):
        return image.ndim in (2, 3)
    return isinstance(image, str | bytes | bytearray | memoryview | os.PathLike | Mapping) or _is_pillow(image)


def _is_pillow(image: Any) -> bool:
    from PIL import Image

    return isinstance(image, Image.Image)


def _picture(image: Any, name: str) -> Picture:
    """A single picture of whatever kind."""
    if isinstance(image, str | os.PathLike):
        path = Path(os.fsdecode(image))
        if path.is_dir():
            raise InputError(f"{path} is a folder; {EXPECTED}")
        return Encoded(str(path), path)
    if isinstance(image, bytes | bytearray | memoryview):
        return Encoded(name, bytes(image))
    if isinstance(image, Mapping):  # as `datasets` has it before decoding
        content, where = image.get("bytes"), image.get("path")
        if content is None and where is None:
            raise InputError(f"the image {name} has neither 'bytes' nor 'path'; {EXPECTED}")
        return Encoded(str(where or name), Path(str(where)) if content is None else bytes(content))
    if isinstance(image, np.ndarray | torch.Tensor):
        from PIL import Image

        return Named(name, Image.fromarray(_pixels(image, name)))
    if _is_pillow(image):
        return Named(getattr(image, "filename", "") or name, image)
    raise InputError(f"the image {name} is a {type(image).__name__}; {EXPECTED}")


def _pixels(image: Any, name: str) -> Pixels:
    """An array (H, W) or (H, W, 3) of a grey or coloured picture; tensors may have their channels first."""
    pixels = image.detach().cpu().numpy() if isinstance(image, torch.Tensor) else image
    if isinstance(image, torch.Tensor) and pixels.ndim == 3 and pixels.shape[2] not in (1, 3):
        pixels = np.moveaxis(pixels, 0, 2)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    if pixels.dtype != np.uint8 or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] == 3)):
        raise InputError(f"the image {name} is {image.dtype} of shape {tuple(image.shape)}; {EXPECTED}, 0 to 255")
    if not pixels.size:
        raise InputError(f"the image {name} has no pixels")
    return np.ascontiguousarray(pixels)
