"""From an encoded image of any format, mode and size to RGB pixels of one size."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.errors import FileFormatError, InputError

if TYPE_CHECKING:
    from PIL.Image import Image

DEFAULT_SIZE = 128  # ours: what CORe50 has, and a little more than the 112 px that the pretrained encoder takes
LARGEST_KEPT = 256  # ours: images all alike are kept as they are up to this side; beyond, a cache would be huge
# What decodes pixels and nothing else: Pillow would also hand PostScript to Ghostscript, whatever its file is called.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
# A file of half a megabyte can hold pixels for gigabytes. Ours: few cameras' sensors have more, and what is decoded (a
# JPEG at a fraction of its size) takes 134 MB, as Pillow keeps four bytes per pixel, and twice that where it must be
# turned or has transparency.
MOST_PIXELS, MOST_DECODED = 2**27, 2**25
MANY = 2**22  # ours: pixels, 17 to 34 MB; pictures of more are decoded one at a time, whoever wants them
BAND = 2**20  # ours: pixels of 16 bits that become 8 bits at a time
ORIENTATION = 0x0112  # the EXIF tag with which cameras say how they were held; 5 to 8 are quarter turns

# One thread for all, and not a lock: the C library keeps for every thread what it has freed.
_large = ThreadPoolExecutor(1, "large pictures")


def _note_fork() -> None:
    global _large
    _large = ThreadPoolExecutor(1, "large pictures")  # the parent's thread is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


class Encoded(NamedTuple):
    """An image that is not yet decoded, and its name in error messages."""

    name: str
    content: Path | bytes


class Named(NamedTuple):
    """A picture that Pillow has opened or made, and its name in error messages."""

    name: str
    image: Image


def need_pillow() -> None:
    """Raise if images cannot be decoded because Pillow is missing."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise InputError("reading images needs Pillow: pip install 'bitreplay[data]'") from None


def decode(encoded: Encoded, height: int, width: int) -> npt.NDArray[np.uint8]:
    """RGB pixels (height, width, 3): the shorter side is resized to fit, the centre is cropped.

    An image that already has this size is not changed.
    """
    from PIL import Image, ImageOps

    def fitted(upright: Image.Image) -> Image.Image:
        if upright.size == (width, height):
            return upright
        return ImageOps.fit(upright, (width, height), Image.Resampling.BICUBIC)

    return _decoded(encoded, height, width, fitted)


def decode_within(
    source: Encoded | Named, height: int, width: int, *, crop: bool = True, enlarge: bool = False
) -> npt.NDArray[np.uint8]:
    """RGB pixels of a picture at no more than a size.

    Parameters
    ----------
    source : Encoded or Named
        A file, its bytes, or a picture that Pillow has already.
    height, width : int
        The size.
    crop : bool
        Keep the largest centre of this shape, shrunk to the size if it is larger. Otherwise the whole picture is
        kept in its own shape, reduced by a whole factor that leaves both sides at least twice as large.
    enlarge : bool
        With `crop`: whether a smaller picture is made as large, or stays as it is.
    """
    from PIL import Image, ImageOps

    def fitted(upright: Image.Image) -> Image.Image:
        if crop:
            scale = 1.0 if enlarge else min(1.0, upright.width / width, upright.height / height)
            size = max(1, round(width * scale)), max(1, round(height * scale))
            return upright if upright.size == size else ImageOps.fit(upright, size, Image.Resampling.BICUBIC)
        factor = min(upright.width // (2 * width), upright.height // (2 * height))
        return upright.reduce(factor) if factor > 1 else upright

    return _decoded(source, height, width, fitted)


def _decoded(
    source: Encoded | Named, height: int, width: int, fitted: Callable[[Image], Image]
) -> npt.NDArray[np.uint8]:
    """RGB pixels of a picture that was turned as its camera was held and then `fitted`; errors name it."""
    from PIL import Image

    try:
        with _open(source) if isinstance(source, Encoded) else contextlib.nullcontext(source.image) as image:
            if image.mode == "F":
                raise ValueError("its pixels are floats, and their range is unknown")
            # JPEG decodes faster to a half or a quarter; twice the target leaves the resizing something to average.
            if isinstance(source, Encoded):
                image.draft("RGB", (2 * width, 2 * height))
            _check_pixels(image, MOST_DECODED)

            def pixels() -> npt.NDArray[np.uint8]:
                made = np.asarray(_rgb(fitted(_eight_bits(_turned(image)))))
                if isinstance(source, Encoded):
                    image.close()  # before its thread decodes the next one
                return made

            return _large.submit(pixels).result() if image.width * image.height > MANY else pixels()
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise _unreadable(source.name, error) from None


def common_size(splits: Sequence[Callable[[], Iterator[Encoded]]], advance: Callable[[int], None]) -> tuple[int, int]:
    """Default height and width of images.

    Their own if they all have the same small size, otherwise a square of 128 pixels.
    """
    sizes: set[tuple[int, int]] = set()
    for images in splits:
        for encoded in images():
            sizes.add(_size(encoded))
            if len(sizes) > 1 or max(next(iter(sizes))) > LARGEST_KEPT:
                return DEFAULT_SIZE, DEFAULT_SIZE
            advance(1)
    return sizes.pop()


def _size(encoded: Encoded) -> tuple[int, int]:
    """Height and width of an image in its intended orientation, from its first bytes."""
    from PIL import Image

    try:
        with _open(encoded) as image:
            width, height = image.size
            return (width, height) if image.getexif().get(ORIENTATION, 1) >= 5 else (height, width)
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise _unreadable(encoded.name, error) from None


def _open(encoded: Encoded) -> Image:
    from PIL import Image

    content = encoded.content
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", Image.DecompressionBombWarning
        )  # our limit is an error, and the same everywhere
        image = Image.open(io.BytesIO(content) if isinstance(content, bytes) else content, formats=FORMATS)
    try:
        _check_pixels(image, MOST_PIXELS)
    except ValueError:
        image.close()
        raise
    return image


def _check_pixels(image: Image, most: int) -> None:
    """Refuse an image by the size that it says it has, before a pixel is decoded."""
    width, height = image.size
    if width * height > most:
        raise ValueError(f"it has {width:,} x {height:,} pixels, and at most {most:,} are decoded")


def _turned(image: Image) -> Image:
    from PIL import ImageOps

    image.load()  # some formats have EXIF behind their pixels
    if image.getexif().get(ORIENTATION, 1) == 1:
        return image  # where Pillow would return a copy
    return ImageOps.exif_transpose(image)


def _eight_bits(image: Image) -> Image:
    """Grey pixels as they are, or what 16 bits are in 8; others as RGB. What needs no change is not copied."""
    from PIL import Image

    if image.mode == "L":  # resized as it is, which is the same
        return image
    if not image.mode.startswith("I"):
        return _rgb(image)
    made = np.empty((image.height, image.width), dtype=np.uint8)
    rows = max(1, BAND // image.width)
    for top in range(0, image.height, rows):  # Pillow's own conversion cuts off all that is brighter than 255
        band = np.asarray(image.crop((0, top, image.width, min(top + rows, image.height))))
        made[top : top + rows] = (band >> 8).clip(0, 255)
    return Image.fromarray(made)


def _rgb(image: Image) -> Image:
    return image if image.mode == "RGB" else image.convert("RGB")


def _unreadable(name: str, error: Exception) -> FileFormatError:
    reason = str(error)
    if "cannot identify" in reason:
        reason = f"it is not an image, or of another kind than {', '.join(FORMATS)}"
    elif isinstance(error, FileNotFoundError):
        reason = "there is no such file, or it is a link to one that is not there"
    return FileFormatError(f"cannot read the image {name}: {reason}")
