"""Decoding: any mode, any size, and names in errors."""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from bitreplay.data._images import Encoded, common_size, decode
from bitreplay.errors import FileFormatError
from tests.attack.test_forged_files import measured_peak
from tests.data.examples import encode, pixels


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> Encoded:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return Encoded("an image", stream.getvalue())


def size_of(*images: Encoded) -> tuple[int, int]:
    return common_size([lambda: iter(images)], lambda done: None)


def test_an_image_of_the_right_size_is_not_touched(tmp_path: Path) -> None:
    image = pixels(3, 5, 7)
    np.testing.assert_array_equal(decode(Encoded("bytes", encode(image)), 5, 7), image)
    (tmp_path / "image.png").write_bytes(encode(image))
    np.testing.assert_array_equal(decode(Encoded("file", tmp_path / "image.png"), 5, 7), image)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "I"])
def test_every_mode_becomes_rgb(mode: str) -> None:
    grey = np.where(np.arange(64).reshape(8, 8) % 3 == 0, 255, 0).astype(np.uint8)
    if mode == "I;16":
        image = Image.fromarray(grey.astype(np.uint16) * 257)
    elif mode == "I":
        image = Image.fromarray(grey.astype(np.int32) * 257)
    else:
        image = Image.fromarray(grey).convert(mode)
    expected = np.repeat(grey[..., None], 3, axis=2)
    np.testing.assert_array_equal(decode(saved(image, "TIFF" if mode == "I" else "PNG"), 8, 8), expected)


def test_sixteen_bits_keep_their_greys() -> None:
    greys = np.arange(256, dtype=np.uint16).reshape(16, 16)
    decoded = decode(saved(Image.fromarray(greys * 256 + 99)), 16, 16)
    np.testing.assert_array_equal(decoded[..., 1], greys)


def test_more_than_eight_bits_are_cut_band_by_band_to_the_same_greys() -> None:
    values = np.random.default_rng(0).integers(-70_000, 90_000, (1100, 1000)).astype(np.int32)  # two bands
    decoded = decode(saved(Image.fromarray(values), "TIFF"), 1100, 1000)
    np.testing.assert_array_equal(decoded, np.repeat((values >> 8).clip(0, 255)[..., None], 3, axis=2))


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's count of memory")
@pytest.mark.parametrize("mode", ["I;16", "RGB"])
def test_a_large_picture_is_in_memory_once_however_many_threads_decode(mode: str) -> None:
    side = 5000
    encoded = saved(Image.new(mode, (side, side)))
    decode(saved(Image.new(mode, (64, 64))), 32, 32)  # what is imported on first use is there
    with measured_peak() as taken, ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda one: decode(one, 32, 32), [encoded] * 3))
    assert taken[0] < 7 * side**2  # Pillow's four bytes per pixel, and what the C library keeps for each thread


@pytest.mark.parametrize(("height", "width"), [(40, 80), (80, 40), (40, 40)])
def test_the_middle_is_kept_and_nothing_is_squeezed(height: int, width: int) -> None:
    # Red within the middle square, blue beyond it: what is kept must be red, and a circle in it stay round.
    image = np.zeros((height, width, 3), dtype=np.uint8)
    image[..., 2] = 255
    top, left = (height - 40) // 2, (width - 40) // 2
    y, x = np.mgrid[:40, :40] - 19.5
    image[top : top + 40, left : left + 40] = (255, 0, 0)
    image[top : top + 40, left : left + 40][x**2 + y**2 < 15**2] = (255, 255, 0)
    decoded = decode(Encoded("image", encode(image)), 20, 20).astype(int)
    assert decoded.shape == (20, 20, 3)
    assert decoded[..., 2].max() <= 40  # the bicubic kernel may look a little across the border
    round_green = decoded[..., 1]
    np.testing.assert_allclose(round_green, round_green.T, atol=8)  # Pillow rounds between its two passes
    assert (round_green > 127).sum() == pytest.approx(np.pi * 7.5**2, rel=0.1)


def test_large_photographs_decoded_at_a_fraction_look_the_same() -> None:
    y, x = np.mgrid[:600, :800] / 40
    waves = np.stack([np.sin(x), np.cos(y), np.sin(x + y)], axis=2) * 100 + 128
    photograph = Image.fromarray(waves.astype(np.uint8))
    exact = ImageOps.fit(photograph, (64, 64), Image.Resampling.BICUBIC)
    decoded = decode(saved(photograph, "JPEG", quality=95), 64, 64)
    assert np.abs(decoded.astype(int) - np.asarray(exact).astype(int)).mean() < 2


def test_photographs_stand_upright() -> None:
    image = Image.fromarray(np.zeros((10, 20, 3), dtype=np.uint8))
    image.paste((255, 255, 255), (0, 0, 10, 10))  # left half white
    exif = Image.Exif()
    exif[0x0112] = 6  # held so that it must be turned by a quarter clockwise: left becomes top
    encoded = saved(image, "JPEG", exif=exif, quality=95)
    assert size_of(encoded) == (20, 10)
    decoded = decode(encoded, 20, 10)
    assert decoded[:8].min() > 200
    assert decoded[12:].max() < 50


def test_size_is_that_of_all_images_if_they_are_alike_and_small() -> None:
    small, other = (Encoded("image", encode(pixels(1, *shape))) for shape in ((5, 7), (5, 8)))
    assert size_of(small, small) == (5, 7)
    assert size_of(small, other) == (128, 128)
    assert size_of(Encoded("image", encode(pixels(1, 256, 3)))) == (256, 3)
    assert size_of(Encoded("image", encode(pixels(1, 257, 3)))) == (128, 128)


@pytest.mark.parametrize(
    "content", [b"", b"no image", encode(pixels(1, 32, 32))[:200], b"\x89PNG\r\n\x1a\n" + bytes(40)]
)
def test_an_unreadable_image_is_named(content: bytes) -> None:
    with pytest.raises(FileFormatError, match=r"holiday\.png"):
        decode(Encoded("holiday.png", content), 32, 32)


def test_float_pixels_are_refused() -> None:
    image = Image.fromarray(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8))
    with pytest.raises(FileFormatError, match="floats"):
        decode(saved(image, "TIFF"), 8, 8)
