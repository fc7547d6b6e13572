"""Blocks: whatever happens to one in flash, it is read as it was written or refused, and the other slot survives."""

from __future__ import annotations

import ctypes
import zlib
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitreplay.device import BlockError, DeviceMemory, Layout, Status, newest, read_block
from bitreplay.errors import InputError
from tests.device.library import CMemory
from tests.device.script import status_of

LAYOUT = Layout(37, bits=2, prototypes=3, fingerprint=0x12345678)
CAPACITY = 200
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@cache
def example(n_classes: int = 3) -> DeviceMemory:
    """A memory that nobody changes."""
    rng = np.random.default_rng(n_classes)
    memory = DeviceMemory(LAYOUT, CAPACITY)
    for label in range(n_classes):
        memory.enrol(10 + label, rng.random((11 + label, 37)) < rng.random(37))
    return memory


def test_a_sequence_of_more_than_32_bits_is_refused() -> None:
    assert read_block(example().to_block(2**32 - 1), LAYOUT)
    with pytest.raises(InputError, match="sequence must be an integer from 0 to 4294967295"):
        example().to_block(2**32)


def repaired(content: bytes) -> bytes:
    """A block with a checksum that fits."""
    return content[:-4] + zlib.crc32(content[:-4]).to_bytes(4, "little")


def status_in_c(library: ctypes.CDLL, block: bytes) -> Status:
    """What C answers; where it refuses, its memory must be as it was."""
    memory = CMemory(library, LAYOUT, CAPACITY)
    assert memory.load(example(1).to_block())[0] is Status.OK
    before = memory.words
    status, _ = memory.load(block)
    if status is not Status.OK:
        np.testing.assert_array_equal(memory.words, before)
        assert memory.fields.classes == 1
    assert memory.untouched
    return status


def test_a_block_comes_back(library: ctypes.CDLL) -> None:
    memory = example()
    block = memory.to_block(77)
    other = DeviceMemory(LAYOUT)
    assert other.load(block + b"\xff" * 50) == 77
    np.testing.assert_array_equal(other.words, memory.words)
    in_c = CMemory(library, LAYOUT, CAPACITY)
    assert in_c.load(block + b"\xff" * 50) == (Status.OK, 77)
    np.testing.assert_array_equal(in_c.words, memory.words)
    assert in_c.store(77) == (Status.OK, block)


def test_every_flipped_bit_is_found(library: ctypes.CDLL) -> None:
    block = example().to_block(1)
    memory = CMemory(library, LAYOUT, CAPACITY)
    for bit in range(8 * len(block)):
        altered = bytearray(block)
        altered[bit // 8] ^= 1 << bit % 8
        found = status_of(read_block, bytes(altered), LAYOUT)
        assert found in (Status.DAMAGED, Status.OTHER_VERSION)
        assert memory.load(bytes(altered))[0] is found


def test_every_length_but_the_whole_is_refused(library: ctypes.CDLL) -> None:
    block = example().to_block(1)
    for length in range(len(block)):
        assert status_of(read_block, block[:length], LAYOUT) is Status.DAMAGED
        assert status_in_c(library, block[:length]) is Status.DAMAGED


@given(
    word=st.integers(0, 60),
    value=st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1), st.sampled_from([2**16, 2**31, 2**32 - 1])),
    cut=st.integers(0, 3),
)
@settings(RELAXED, max_examples=400)
def test_altered_blocks_with_a_right_checksum_get_the_same_answer(
    library: ctypes.CDLL, word: int, value: int, cut: int
) -> None:
    """Behind the checksum stands a second line: whatever the words say, C reads within the block and answers alike."""
    content = bytearray(example().to_block(1))
    content[4 * word : 4 * word + 4] = value.to_bytes(4, "little")
    if cut:
        del content[-4 * (cut + 1) : -4]
        content[8:12] = len(content).to_bytes(4, "little")
    block = repaired(bytes(content))
    memory = DeviceMemory(LAYOUT, CAPACITY)
    assert status_in_c(library, block) is status_of(memory.load, block)


@pytest.mark.parametrize(
    ("word", "value", "status"),
    [
        (0, 0, Status.DAMAGED),  # no block
        (1, 2, Status.OTHER_VERSION),
        (4, 38, Status.OTHER_BITS),
        (5, 3, Status.OTHER_BITS),
        (6, 0, Status.OTHER_BITS),
        (7, 2, Status.DAMAGED),  # classes
        (7, 4, Status.DAMAGED),
        (7, 2**32 - 1, Status.DAMAGED),
        (9, 0, Status.DAMAGED),  # no samples
        (10, 0, Status.DAMAGED),  # no prototypes
        (10, 2**31, Status.DAMAGED),
        (11, 5, Status.DAMAGED),  # a mixing weight of 0
        (13, 2**31, Status.DAMAGED),  # bits beyond D
    ],
)
def test_what_is_wrong_is_named(library: ctypes.CDLL, word: int, value: int, status: Status) -> None:
    content = bytearray(example().to_block(1))
    content[4 * word : 4 * word + 4] = value.to_bytes(4, "little")
    block = repaired(bytes(content))
    with pytest.raises(BlockError) as refused:
        read_block(block, LAYOUT)
    assert refused.value.status is status
    assert status_in_c(library, block) is status


def test_a_label_that_stands_for_two_classes_is_refused(library: ctypes.CDLL) -> None:
    content = bytearray(example().to_block(1))
    second = 4 * (8 + LAYOUT.class_words(len(example().records[0].weights)))
    assert content[second : second + 4] == (11).to_bytes(4, "little")
    content[second : second + 4] = (10).to_bytes(4, "little")
    assert status_in_c(library, repaired(bytes(content))) is Status.DAMAGED


def test_a_block_too_large_for_the_memory_is_refused(library: ctypes.CDLL) -> None:
    block = example().to_block(1)
    for memory in (DeviceMemory(LAYOUT, 10), CMemory(library, LAYOUT, 10)):
        before = memory.words
        found = memory.load(block)[0] if isinstance(memory, CMemory) else status_of(memory.load, block)
        assert found is Status.FULL
        np.testing.assert_array_equal(memory.words, before)


@pytest.mark.parametrize("first", [1, 2**31 - 1, 2**31, 2**32 - 1])
@pytest.mark.parametrize("newer_slot", [0, 1])
def test_the_newer_of_two_slots_counts(library: ctypes.CDLL, first: int, newer_slot: int) -> None:
    old, new = example(2).to_block(first), example(3).to_block((first + 1) % 2**32)
    slots = (new, old) if newer_slot == 0 else (old, new)
    assert newest(slots, LAYOUT) == newer_slot
    memory = CMemory(library, LAYOUT, CAPACITY)
    assert memory.load_newest(slots) == (Status.OK, 1 - newer_slot, (first + 2) % 2**32)
    np.testing.assert_array_equal(memory.words, example(3).words)


@given(cut=st.integers(0, 400), erased=st.booleans())
@RELAXED
def test_power_that_fails_while_a_slot_is_written_leaves_the_other(
    library: ctypes.CDLL, cut: int, erased: bool
) -> None:
    old, new = example(2).to_block(5), example(3).to_block(6)
    cut = min(cut, len(new) - 1)
    half = new[:cut] + (
        b"\xff" * (len(new) - cut) if erased else example(1).to_block(4).ljust(len(new))[cut : len(new)]
    )
    assert newest([old, half], LAYOUT) == 0
    memory = CMemory(library, LAYOUT, CAPACITY)
    assert memory.load_newest((old, half)) == (Status.OK, 1, 6)
    np.testing.assert_array_equal(memory.words, example(2).words)


def test_two_slots_without_a_block(library: ctypes.CDLL) -> None:
    assert newest([b"\xff" * 100, b""], LAYOUT) is None
    memory = CMemory(library, LAYOUT, CAPACITY)
    assert memory.load(example(2).to_block())[0] is Status.OK
    assert memory.load_newest((b"\xff" * 100, bytes(100))) == (Status.DAMAGED, 0, 1)
    np.testing.assert_array_equal(memory.words, example(2).words)
