"""Damaged files: every one either raises our error or loads identically."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay._floor.container import write_file
from bitreplay.errors import FileFormatError
from bitreplay.memory import BinaryMemory
from tests.memory.examples import random_memory, state

Rng = np.random.Generator


def flip_bits(raw: bytearray, rng: Rng) -> None:
    for _ in range(rng.integers(1, 4)):
        raw[rng.integers(len(raw))] ^= 1 << int(rng.integers(8))


def truncate(raw: bytearray, rng: Rng) -> None:
    del raw[int(rng.integers(len(raw))) :]


def insert(raw: bytearray, rng: Rng) -> None:
    at = int(rng.integers(len(raw) + 1))
    raw[at:at] = rng.bytes(int(rng.integers(1, 20)))


def delete(raw: bytearray, rng: Rng) -> None:
    at = int(rng.integers(len(raw)))
    del raw[at : at + int(rng.integers(1, 20))]


def swap(raw: bytearray, rng: Rng) -> None:
    i, j = rng.integers(len(raw), size=2)
    raw[i], raw[j] = raw[j], raw[i]


def overwrite(raw: bytearray, rng: Rng) -> None:
    at = int(rng.integers(len(raw)))
    raw[at : at + 8] = rng.bytes(len(raw[at : at + 8]))


def change_digits(raw: bytearray, rng: Rng) -> None:
    """The header stays readable JSON: sizes, offsets and the version are what changes."""
    digits = [i for i in range(8, len(raw)) if raw[i] in b"0123456789"]
    for i in rng.choice(digits, size=int(rng.integers(1, 4))):
        raw[i] = ord("0") + int(rng.integers(10))


def repeat(raw: bytearray, rng: Rng) -> None:
    i, j = sorted(rng.integers(len(raw), size=2))
    raw[i:i] = raw[i:j]


KINDS: list[Callable[[bytearray, Rng], None]] = [
    flip_bits,
    truncate,
    insert,
    delete,
    swap,
    overwrite,
    change_digits,
    repeat,
]


def outcome(raw: bytes, path: Path, expected: object) -> str:
    """Load damaged bytes; anything but our error or the same memory fails the test."""
    path.unlink(missing_ok=True)  # far faster than overwriting, for which some file systems wait for the disk
    path.write_bytes(raw)
    try:
        loaded = BinaryMemory.load(path)
    except FileFormatError:
        return "refused"
    assert state(loaded) == expected
    return "identical"


@pytest.mark.parametrize("bits", [3, 32])
@pytest.mark.parametrize("damage", KINDS, ids=lambda kind: kind.__name__)
def test_random_damage_is_refused_or_harmless(
    damage: Callable[[bytearray, Rng], None], bits: int, tmp_path: Path
) -> None:
    memory = random_memory(bits, 41, {"cup": 2, "mug": 1})
    memory.save(tmp_path / "good")
    good, expected = (tmp_path / "good").read_bytes(), state(memory)
    rng = np.random.default_rng([KINDS.index(damage), bits])
    outcomes = {"refused": 0, "identical": 0}
    for _ in range(250):
        raw = bytearray(good)
        damage(raw, rng)
        result = outcome(bytes(raw), tmp_path / "bad", expected)
        outcomes[result] += 1
        assert (result == "identical") == (raw == good)  # not a single changed byte goes unnoticed
    assert outcomes["refused"] > 150


def test_every_single_bit_counts(tmp_path: Path) -> None:
    memory = random_memory(2, 9, {"cup": 1})
    memory.save(tmp_path / "good")
    good, expected = (tmp_path / "good").read_bytes(), state(memory)
    for i in range(8 * len(good)):
        raw = bytearray(good)
        raw[i // 8] ^= 1 << i % 8
        assert outcome(bytes(raw), tmp_path / "bad", expected) == "refused"


def test_every_length_is_checked(tmp_path: Path) -> None:
    memory = random_memory(2, 9, {"cup": 1})
    memory.save(tmp_path / "good")
    good, expected = (tmp_path / "good").read_bytes(), state(memory)
    for length in range(len(good)):
        assert outcome(good[:length], tmp_path / "bad", expected) == "refused"
    for more in (1, 8, 4096):
        assert outcome(good + bytes(more), tmp_path / "bad", expected) == "refused"


# ---------------------------------------------------------------------- whole files with the wrong things inside


SOUND = random_memory(3, 24, {"cup": 2, "mug": 1})


def altered(tmp_path: Path, memory: BinaryMemory, described: dict[str, Any], tensors: dict[str, Any]) -> Path:
    """A file with a fitting checksum whose content is not what we would write."""
    content, arrays = memory.to_content()
    content["memory"].update(described)
    for name, value in tensors.items():
        arrays[f"memory.{name}"] = value
    write_file(tmp_path / "altered", "memory", content, arrays)
    return tmp_path / "altered"


def test_an_unaltered_file_of_this_kind_is_read(tmp_path: Path) -> None:
    assert BinaryMemory.load(altered(tmp_path, SOUND, {}, {})).labels == SOUND.labels


@pytest.mark.parametrize(
    "content",
    [
        {"bits": 4},
        {"bits": 17},
        {"bits": "3"},
        {"fingerprint": {}},
        {"fingerprint": {"n_features": 25}},
        {"fingerprint": {"n_features": 10**30}},
        {"fingerprint": {"n_features": 24, "more": 1}},
        {"fingerprint": [24]},
        {"labels": ["cup"]},
        {"labels": ["cup", "cup"]},
        {"labels": ["cup", None]},
        {"labels": ["cup", ["mug"]]},
        {"labels": "ab"},
    ],
    ids=str,
)
def test_content_that_does_not_fit_is_refused(content: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="does not hold a memory"):
        BinaryMemory.load(altered(tmp_path, SOUND, content, {}))


@pytest.mark.parametrize(
    "tensors",
    [
        {"sizes": np.array([1, 1], np.uint16)},
        {"sizes": np.array([0, 3], np.uint16)},
        {"sizes": np.array([3], np.uint16)},
        {"sizes": np.array([-1, 4], np.int16)},
        {"sizes": np.array([1.5, 1.5], np.float32)},
        {"sizes": np.array([[2, 1]], np.uint16)},
        {"counts": np.array([0, 5], np.uint32)},
        {"counts": np.array([5, 5], np.int64)},
        {"counts": np.array([5], np.uint32)},
        {"weights": np.array([1, 1], np.uint16)},
        {"weights": np.array([1, 1, 0], np.uint16)},
        {"weights": np.array([1.0, -1.0, 1.0], np.float32)},
        {"codes": np.zeros(26, np.uint8)},
        {"codes": np.zeros(27, np.int8)},
        {"codes": np.zeros((3, 24), np.float32)},
    ],
    ids=lambda tensors: " ".join(f"{k}={v.dtype}{v.shape}" for k, v in tensors.items()),
)
def test_tensors_that_do_not_fit_are_refused(tensors: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="does not hold a memory"):
        BinaryMemory.load(altered(tmp_path, SOUND, {}, tensors))


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.1, 1.1])
def test_float_prototypes_outside_0_and_1_are_refused(value: float, tmp_path: Path) -> None:
    codes = np.full((3, 24), 0.5, np.float32)
    codes[1, 2] = value
    with pytest.raises(FileFormatError, match=r"\[0, 1\]"):
        BinaryMemory.load(altered(tmp_path, random_memory(32, 24, {"cup": 2, "mug": 1}), {}, {"codes": codes}))


@pytest.mark.parametrize("version", [2, 1000, 10**30])
def test_a_newer_version_asks_for_an_upgrade(version: int, tmp_path: Path) -> None:
    content, tensors = random_memory(3, 24, {"cup": 2}).to_content()
    write_file(tmp_path / "newer", "memory", {**content, "format_version": version}, tensors)
    with pytest.raises(FileFormatError, match=f"version {version}.*reads up to 1: please upgrade"):
        BinaryMemory.load(tmp_path / "newer")


@pytest.mark.parametrize("version", [0, -1, 1.5, 2.0, "2", None, True, [1]])
def test_a_version_that_never_was_is_refused(version: Any, tmp_path: Path) -> None:
    content, tensors = random_memory(3, 24, {"cup": 2}).to_content()
    write_file(tmp_path / "strange", "memory", {**content, "format_version": version}, tensors)
    with pytest.raises(FileFormatError, match="version"):
        BinaryMemory.load(tmp_path / "strange")
