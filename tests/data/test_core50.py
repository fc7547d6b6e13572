"""CORe50 from its folders: sessions, categories, frames."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from bitreplay.data import load_dataset, make_scenario
from bitreplay.errors import InputError
from tests.data.examples import numbers, write_image

TRAINING = [1, 2, 4, 5, 6, 8, 9, 11]


def frame_number(session: int, thing: int, frame: int) -> int:
    return (session * 60 + thing) * 10 + frame


@pytest.fixture
def core50(data: Path) -> Path:
    """All sessions, the first or the last object of each category, four frames each."""
    root = data / "core50"
    for session in range(1, 12):
        for thing in sorted([*range(1, 51, 10), *range(10, 51, 10)]):
            for frame in range(4):
                name = f"s{session}/o{thing}/C_{session:02d}_{thing:02d}_{frame:03d}.png"
                write_image(root / name, frame_number(session, thing, frame))
    return root


def test_sessions_divide_and_objects_make_categories(core50: Path) -> None:
    (core50 / "s1" / "o1" / "thumbs.png").write_text("not a frame")
    dataset = load_dataset("core50")
    assert dataset.class_names[0] == "plug_adapter"
    assert dataset.class_names[9] == "remote_control"
    assert dataset.source == str(core50)
    for split, sessions in ((dataset.train, TRAINING), (dataset.test, [3, 7, 10])):
        frames = np.array(numbers(split.images))
        assert len(frames) == len(set(frames)) == len(sessions) * 10 * 4
        things = frames // 10 % 60
        assert split.groups is not None
        np.testing.assert_array_equal(split.groups, frames // 600)
        assert sorted(set(split.groups)) == sessions
        np.testing.assert_array_equal(split.labels, (things - 1) // 5)
    assert [len(task.classes) for task in make_scenario(dataset, 8)] == [2] + [1] * 8


def test_every_second_frame(core50: Path) -> None:
    dataset = load_dataset("core50", every=2)
    assert {number % 10 for number in numbers(dataset.train.images)} == {0, 2}
    assert len(dataset.train) == 8 * 10 * 2
    assert "1 frame in 2" in dataset.source
    with pytest.raises(InputError, match="every must be"):
        load_dataset("core50", every=0)


def test_the_folder_that_the_archive_makes_may_stay(core50: Path) -> None:
    core50.rename(core50.with_name("content"))
    core50.mkdir()
    core50.with_name("content").rename(core50 / "core50_128x128")
    assert len(load_dataset("core50").test) == 3 * 10 * 4


def test_a_part_says_what_it_lacks(core50: Path) -> None:
    for session in range(1, 12):
        for thing in (1, 50):
            shutil.rmtree(core50 / f"s{session}" / f"o{thing}")
    for session in (2, 7):
        shutil.rmtree(core50 / f"s{session}")
    dataset = load_dataset("core50")
    assert dataset.n_classes == 8
    assert dataset.class_names[0] == "mobile_phone"
    assert sorted(set(dataset.train.labels)) == list(range(8))
    assert dataset.source.endswith("(8 of 10 classes, without sessions 2, 7)")
    for session in (3, 10):
        shutil.rmtree(core50 / f"s{session}")
    with pytest.raises(InputError, match="no frames of the test sessions"):
        load_dataset("core50")


def test_missing(data: Path) -> None:
    with pytest.raises(InputError, match=r"core50_128x128\.zip") as error:
        load_dataset("core50")
    assert str(data / "core50") in str(error.value)
