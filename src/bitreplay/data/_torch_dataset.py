"""Data sets from torch: anything that yields pairs of an image and a label becomes an :class:`ImageDataset`.

Images are asked for one at a time, in one pass, and go to a file without a name that is memory-mapped: what they take
of the memory does not grow with their number, and the file is gone when the data set is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.arguments import integer, number
from bitreplay.data._dataset import BLOCK, ImageDataset, Images, Split, from_splits
from bitreplay.data._images import Named, decode_within, need_pillow
from bitreplay.data._split import split_by_seed
from bitreplay.errors import InputError

Integers = npt.NDArray[np.int64]


def from_torch(
    train: Any,
    test: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    image_size: int | None = None,
    test_fraction: float = 0.2,  # as in load_dataset
    seed: int = 0,
    name: str = "torch",
) -> ImageDataset:
    """A data set from torch `Dataset`s, or from any sequence or iterable of pairs (image, label).

    Parameters
    ----------
    train, test : torch.utils.data.Dataset
        Items are pairs: a Pillow image, a uint8 array (H, W) or (H, W, 1 or 3), or a tensor (1 or 3, H, W) or (H, W) of
        uint8 or of floats from 0 to 1; and a label, an integer or text. Leave out transforms that normalise or vary
        images: the encoder's preprocessing and the training do that.
    class_names : sequence of str, optional
        Name of label 0, of label 1, and so on; by default the data set's own `classes`, or the labels themselves.
    image_size : int, optional
        Side of the square to which images are resized: the shorter side is resized, the centre is cropped. Without it,
        all must have one size.
    test_fraction : float
        Share of each class that is held out if there is no `test`.
    seed : int
        Determines which samples are held out.
    name : str
        Name of the data set.

    Examples
    --------
    >>> from torch.utils.data import TensorDataset
    >>> from bitreplay.data import from_torch, make_scenario
    >>> pairs = TensorDataset(torch.rand(30, 3, 8, 8), torch.arange(30) % 3)
    >>> make_scenario(from_torch(pairs, class_names=["mug", "cup", "jug"]), increment=1)
    Scenario('torch', 1 + 2 x 1 classes)
    """
    if image_size is not None:
        integer("image_size", image_size, 1)
    number("test_fraction", test_fraction, above=0, below=1)
    integer("seed", seed, 0)
    images, labels = _read(train, "train", image_size)
    parts, given = [images], [labels]
    if test is not None:
        images, labels = _read(test, "test", image_size)
        parts, given = [*parts, images], [*given, labels]
    numbers, names = _numbered(given, class_names if class_names is not None else getattr(train, "classes", None))
    if test is None:
        places = split_by_seed(numbers[0], names, test_fraction, seed)
        parts, numbers = [_rows(parts[0], own) for own in places], [numbers[0][own] for own in places]
    splits = [Split(pixels, own) for pixels, own in zip(parts, numbers, strict=True)]
    return from_splits(name, splits[0], splits[1], names, "a torch data set")


def _items(dataset: Any, part: str) -> Iterator[Any]:
    if hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"):
        return (dataset[place] for place in range(len(dataset)))
    if isinstance(dataset, Iterable):
        return iter(dataset)
    raise InputError(f"{part} must be a torch Dataset, or pairs of image and label; got {type(dataset).__name__}")


def _read(dataset: Any, part: str, size: int | None) -> tuple[Images, list[int | str]]:
    """All images, in a memory-mapped file, and their labels."""
    labels: list[int | str] = []
    shape: tuple[int, ...] | None = None
    with tempfile.TemporaryFile() as file:
        for place, item in enumerate(_items(dataset, part)):
            if not isinstance(item, tuple | list) or len(item) != 2:
                raise InputError(f"item {place} of {part} must be a pair of an image and a label; got {_kind(item)}")
            pixels = _pixels(item[0], f"image {place} of {part}", size)
            if pixels.shape != (shape := shape or pixels.shape):
                raise InputError(
                    f"image {place} of {part} has shape {pixels.shape}, the first has {shape}: give image_size, "
                    "and images that are all grey or all in colour"
                )
            file.write(pixels.tobytes())
            labels.append(_label(item[1], f"the label of image {place} of {part}"))
        if shape is None:
            raise InputError(f"{part} has no samples")
        file.flush()
        return np.memmap(file, np.uint8, "r", shape=(len(labels), *shape)), labels


def _pixels(image: Any, name: str, size: int | None) -> Images:
    """An image as uint8 (H, W, 1 or 3)."""
    if isinstance(image, torch.Tensor):
        image = _from_tensor(image.detach().cpu(), name)
    if not isinstance(image, np.ndarray):
        need_pillow()
        from PIL import Image

        if not isinstance(image, Image.Image):
            raise InputError(f"{name} must be a Pillow image, an array or a tensor; got {_kind(image)}")
        grey = image.mode in ("1", "L")
        rgb = decode_within(Named(name, image), size or image.height, size or image.width, enlarge=True)
        return rgb[..., :1] if grey else rgb
    pixels = image[..., None] if image.ndim == 2 else image
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (1, 3) or 0 in pixels.shape:
        raise InputError(f"{name} must be uint8 of shape (height, width, 1 or 3); got {image.dtype} {image.shape}")
    if size is None or pixels.shape[:2] == (size, size):
        return pixels
    need_pillow()
    from PIL import Image

    return _pixels(Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels), name, size)


def _from_tensor(image: torch.Tensor, name: str) -> npt.NDArray[Any]:
    """As torch's own transforms make them: channels first, floats from 0 to 1."""
    if image.is_floating_point():
        if image.numel() and not (image.min() >= 0 and image.max() <= 1):  # also false for NaN
            raise InputError(
                f"{name} has values from {float(image.min()):.3g} to {float(image.max()):.3g}; "
                "floats must lie in 0 to 1: leave out the transform that normalises"
            )
        image = (image * 255).round().to(torch.uint8)
    if image.ndim == 3 and image.shape[0] in (1, 3):
        image = image.permute(1, 2, 0)
    return np.ascontiguousarray(image.numpy())


def _label(label: Any, name: str) -> int | str:
    if isinstance(label, torch.Tensor):
        label = label.cpu().numpy()  # which may be on a device
    if isinstance(label, np.generic | np.ndarray) and label.size == 1:
        label = label.item()
    if isinstance(label, bool) or not isinstance(label, int | str):
        raise InputError(f"{name} must be an integer or text; got {_kind(label)}")
    return label


def _numbered(given: list[list[int | str]], names: Sequence[str] | None) -> tuple[list[Integers], tuple[str, ...]]:
    """Labels counted from 0, and the names of all; with names, integers say which."""
    known: set[Any] = {label for own in given for label in own}
    if len({type(label) for label in known}) > 1:
        raise InputError("labels must be all integers, or all text")
    if names is not None and all(isinstance(label, int) for label in known):
        if strange := sorted(label for label in known if not 0 <= label < len(names)):
            raise InputError(f"there are {len(names)} class names, for labels from 0; got the label {strange[0]}")
        known = set(range(len(names)))
    ordered = sorted(known)
    place = {label: number for number, label in enumerate(ordered)}
    if names is None or isinstance(ordered[0], str):
        names = [str(label) for label in ordered]
    return [np.array([place[label] for label in own], dtype=np.int64) for own in given], tuple(map(str, names))


def _rows(images: Images, places: Integers) -> Images:
    """Some of the images, block by block into a file of their own."""
    with tempfile.TemporaryFile() as file:
        for begin in range(0, len(places), BLOCK):
            file.write(images[places[begin : begin + BLOCK]].tobytes())
        file.flush()
        return np.memmap(file, np.uint8, "r", shape=(len(places), *images.shape[1:]))


def _kind(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, int | float | str | None) else f"a {type(value).__name__}"
