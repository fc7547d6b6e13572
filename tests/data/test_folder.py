"""A folder of images, and the cache that it is decoded into."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bitreplay import caches
from bitreplay.data import ImageDataset, load_dataset
from bitreplay.errors import FileFormatError, InputError
from tests.data.examples import encode, numbers, pixels, write_image


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """Six images of cats, 0 to 5, and four of dogs, 6 to 9, side by side."""
    for number in range(10):
        write_image(tmp_path / "pets" / ("cat" if number < 6 else "dog") / f"{number:03d}.png", number)
    return tmp_path / "pets"


@pytest.fixture
def divided(tmp_path: Path) -> Path:
    """Cats 0 to 2, dogs 3 and 4 to learn; cat 5, dogs 6 and 7 to test."""
    for part, name, some in (("train", "cat", (0, 1, 2)), ("train", "dog", (3, 4)), ("test", "cat", (5,))):
        for number in some:
            write_image(tmp_path / "divided" / part / name / f"{number}.png", number)
    for number in (6, 7):
        write_image(tmp_path / "divided" / "test" / "dog" / "deeper" / f"{number}.PNG", number)
    return tmp_path / "divided"


def test_a_class_may_be_called_train(tmp_path: Path) -> None:
    for number in range(10):
        write_image(tmp_path / "toys" / ("car" if number < 5 else "train") / f"{number}.png", number)
    assert load_dataset(str(tmp_path / "toys")).class_names == ("car", "train")


def content(dataset: ImageDataset) -> list[dict[int, int]]:
    return [
        dict(zip(numbers(split.images), split.labels.tolist(), strict=True)) for split in (dataset.train, dataset.test)
    ]


def test_train_and_test_folders(divided: Path) -> None:
    dataset = load_dataset(divided)
    assert content(dataset) == [{0: 0, 1: 0, 2: 0, 3: 1, 4: 1}, {5: 0, 6: 1, 7: 1}]
    np.testing.assert_array_equal(dataset.train.images[3], pixels(3))
    assert (dataset.name, dataset.class_names, dataset.source) == ("divided", ("cat", "dog"), str(divided))


@pytest.mark.parametrize("name", ["valid", "val"])
def test_other_names_of_the_test_folder(divided: Path, name: str) -> None:
    (divided / "test").rename(divided / name)
    assert content(load_dataset(divided))[1] == {5: 0, 6: 1, 7: 1}


def test_class_folders_are_split_by_the_seed(pets: Path) -> None:
    dataset = load_dataset(pets, test_fraction=0.5)
    train, test = content(dataset)
    assert {**train, **test} == {number: int(number >= 6) for number in range(10)}
    assert sorted(test.values()) == [0, 0, 0, 1, 1]
    assert content(load_dataset(pets, test_fraction=0.5)) == [train, test]
    others = [content(load_dataset(pets, test_fraction=0.5, seed=seed))[1] for seed in range(1, 5)]
    assert any(other != test for other in others)
    assert len(load_dataset(pets, test_fraction=0.2).test) == 2


def test_a_train_folder_alone_is_split(divided: Path) -> None:
    shutil.rmtree(divided / "test")
    train, test = content(load_dataset(divided))
    assert len(train) == 3
    assert sorted(test.values()) == [0, 1]


def test_images_are_decoded_once_and_memory_mapped(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_dataset(pets)
    stamps = {file: file.stat().st_ino for file in caches.cache_root().rglob("*.npy")}
    assert len(stamps) == 4
    monkeypatch.setitem(sys.modules, "PIL", None)  # nothing can be decoded any more
    second = load_dataset(pets)
    assert {file: file.stat().st_ino for file in caches.cache_root().rglob("*.npy")} == stamps
    assert content(first) == content(second)
    assert isinstance(second.train.images, np.memmap)
    assert not second.train.images.flags.writeable
    assert second.samples("train").images.flags.writeable


def test_changed_files_are_decoded_again(pets: Path) -> None:
    before = load_dataset(pets)
    file = pets / "cat" / "000.png"
    old = file.stat()
    file.write_bytes(encode(pixels(42)))
    os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns + 1))
    after = load_dataset(pets)
    assert 42 in {**content(after)[0], **content(after)[1]}
    assert after.fingerprint != before.fingerprint


def test_the_fingerprint_does_not_depend_on_the_place(pets: Path, tmp_path: Path) -> None:
    shutil.copytree(pets, tmp_path / "elsewhere" / "animals")
    one, other = load_dataset(pets), load_dataset(tmp_path / "elsewhere" / "animals")
    assert one.fingerprint == other.fingerprint
    assert (one.name, other.name) == ("pets", "animals")
    assert one.source != other.source


@pytest.mark.parametrize("damage", ["cut", "header", "json", "gone"])
def test_a_damaged_entry_is_decoded_again(pets: Path, damage: str) -> None:
    reference = content(load_dataset(pets))
    (entry,) = (caches.cache_root() / "datasets").iterdir()
    file = entry / "train_images.npy"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-5])
    elif damage == "header":
        file.write_bytes(bytes(20) + file.read_bytes()[20:])
    elif damage == "json":
        whole = (entry / "dataset.json").read_bytes()
        (entry / "dataset.json").write_bytes(b"{" * len(whole))
    else:
        (entry / "test_labels.npy").unlink()
    with pytest.warns(UserWarning, match="damaged"):
        assert content(load_dataset(pets)) == reference


def test_many_at_once_get_the_same(pets: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        results = [content(dataset) for dataset in threads.map(load_dataset, [pets] * 4)]
    assert all(result == results[0] for result in results)
    assert len(list((caches.cache_root() / "datasets").iterdir())) == 1


def test_images_are_brought_to_one_size(pets: Path) -> None:
    write_image(pets / "dog" / "large.png", pixels(1, 30, 50))
    assert load_dataset(pets).image_shape == (128, 128, 3)
    assert load_dataset(pets, image_size=10).image_shape == (10, 10, 3)


def test_an_unreadable_image_is_named_and_nothing_is_cached(pets: Path) -> None:
    (pets / "dog" / "broken.jpg").write_bytes(b"no image")
    for image_size in (None, 6):
        with pytest.raises(FileFormatError, match=r"dog/broken\.jpg"):
            load_dataset(pets, image_size=image_size)
    assert caches.entries() == []
    (pets / "dog" / "broken.jpg").unlink()
    assert len(load_dataset(pets).train) == 8


def test_other_files_are_no_images(pets: Path) -> None:
    (pets / "dog" / "notes.txt").write_text("good dog")
    (pets / "dog" / ".hidden.png").write_text("")
    (pets / ".git").mkdir()
    assert len(load_dataset(pets).train) + len(load_dataset(pets).test) == 10


def test_what_is_wrong_with_a_folder_is_said(divided: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty has no class folders; expected folders train/ and test/"):
        load_dataset(tmp_path / "empty")
    (divided / "train" / "eel").mkdir()
    with pytest.raises(InputError, match=r"no images \(.*\) in .*eel"):
        load_dataset(divided)
    write_image(divided / "train" / "eel" / "1.png", 1)
    with pytest.raises(InputError, match="test has no folder for the classes eel"):
        load_dataset(divided)
    write_image(divided / "test" / "eel" / "1.png", 1)
    write_image(divided / "test" / "fox" / "1.png", 1)
    with pytest.raises(InputError, match="train has no folder for the classes fox"):
        load_dataset(divided)


def test_one_image_of_a_class_cannot_be_split(pets: Path) -> None:
    write_image(pets / "eel" / "1.png", 1)
    with pytest.raises(InputError, match="'eel' has one sample"):
        load_dataset(pets)
