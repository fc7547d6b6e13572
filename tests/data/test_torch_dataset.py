"""Data sets of torch become ours, whatever form their images and labels have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, Subset

from bitreplay.data import from_arrays, from_torch, make_scenario
from bitreplay.errors import InputError

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (12, 5, 7, 3), dtype=np.uint8)
LABELS = np.arange(12) % 3


class Pairs(Dataset[Any]):
    def __init__(self, images: Any, labels: Any) -> None:
        self.images, self.labels = images, labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int) -> tuple[Any, Any]:
        return self.images[place], self.labels[place]


class Flow(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(zip(PIXELS, LABELS.tolist(), strict=True))


FORMS = {
    "arrays": Pairs(PIXELS, LABELS),
    "pillow": Pairs([Image.fromarray(pixels) for pixels in PIXELS], LABELS.tolist()),
    "tensors": Pairs(torch.from_numpy(PIXELS).permute(0, 3, 1, 2), torch.from_numpy(LABELS)),
    "floats": Pairs(torch.from_numpy(PIXELS).permute(0, 3, 1, 2).float() / 255, LABELS),
    "iterable": Flow(),
    "list": list(zip(PIXELS, LABELS, strict=True)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_data_set(form: str) -> None:
    made = from_torch(FORMS[form], FORMS[form])
    expected = from_arrays(PIXELS, LABELS, PIXELS, LABELS)
    np.testing.assert_array_equal(made.train.images, PIXELS)
    np.testing.assert_array_equal(made.test.labels, LABELS)
    assert made.fingerprint == expected.fingerprint
    assert made.class_names == ("0", "1", "2")
    assert isinstance(made.train.images, np.memmap)


def test_names_come_from_the_data_set_and_labels_may_be_text() -> None:
    named = Pairs(PIXELS, LABELS)
    named.classes = ["mug", "cup", "jug"]  # type: ignore[attr-defined]
    assert from_torch(named).class_names == ("mug", "cup", "jug")
    assert from_torch(named, class_names=["a", "b", "c"]).class_names == ("a", "b", "c")
    text = from_torch(Pairs(PIXELS, [["mug", "cup", "jug"][label] for label in LABELS]))
    assert text.class_names == ("cup", "jug", "mug")
    gaps = from_torch(Pairs(PIXELS, LABELS * 10))
    assert gaps.class_names == ("0", "10", "20")
    assert set(gaps.train.labels.tolist()) == {0, 1, 2}


def test_a_share_of_every_class_is_held_out_and_a_subset_is_a_data_set() -> None:
    made = from_torch(Subset(Pairs(PIXELS, LABELS), list(range(9))), test_fraction=0.34)
    assert np.bincount(made.test.labels).tolist() == [1, 1, 1]
    rows = {pixels.tobytes() for split in (made.train, made.test) for pixels in np.asarray(split.images)}
    assert rows == {pixels.tobytes() for pixels in PIXELS[:9]}
    assert len(make_scenario(made, increment=1)) == 3


def test_grey_stays_grey_and_sizes_are_made_equal() -> None:
    grey = [Image.fromarray(pixels[: 4 + i % 2, :, 0]) for i, pixels in enumerate(PIXELS)]
    assert from_torch(Pairs(grey, LABELS), image_size=4).image_shape == (4, 4, 1)
    arrays = [pixels[: 4 + i % 2] for i, pixels in enumerate(PIXELS)]
    assert from_torch(Pairs(arrays, LABELS), image_size=6).image_shape == (6, 6, 3)
    with pytest.raises(InputError, match="image_size"):
        from_torch(Pairs(arrays, LABELS))


@pytest.mark.parametrize(
    ("images", "labels", "complaint"),
    [
        (torch.full((12, 3, 4, 4), 1.5), LABELS, "normalises"),
        (torch.full((12, 3, 4, 4), torch.nan), LABELS, "normalises"),
        (PIXELS.astype(np.int64), LABELS, "must be uint8"),
        (["mug.jpg"] * 12, LABELS, "must be a Pillow image"),
        (PIXELS, [0.5] * 12, "must be an integer or text; got 0.5"),
        (PIXELS, [1, "mug"] * 6, "all integers, or all text"),
        (PIXELS[:0], [], "no samples"),
    ],
)
def test_what_is_no_image_and_no_label(images: Any, labels: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        from_torch(Pairs(images, labels))


def test_what_is_no_data_set() -> None:
    with pytest.raises(InputError, match="pairs of image and label"):
        from_torch(3)
    with pytest.raises(InputError, match="must be a pair"):
        from_torch([PIXELS[0]])
    with pytest.raises(InputError, match="2 class names"):
        from_torch(Pairs(PIXELS, LABELS), class_names=["mug", "cup"])
