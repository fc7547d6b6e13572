"""C against Python, driven through any sequence of calls: the same answers, the same words.

Hypothesis makes the sequences; both sides get each call, and everything that can be seen of them is compared.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitreplay.bits import PackedBits, pack
from bitreplay.device import DeviceMemory, Layout, Status, words_of
from bitreplay.device._layout import LEAST_CLAMP
from tests.device.library import CMemory
from tests.device.script import status_of
from tests.device.test_bayes import random_memory

EXAMPLES = 5000 if os.environ.get("BITREPLAY_TEST_DEVICE") else 200
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

layouts = st.builds(
    Layout,
    features=st.integers(1, 100),
    bits=st.integers(1, 8),
    prototypes=st.integers(1, 6),
    fingerprint=st.integers(0, 2**32 - 1),
    starts=st.integers(1, 4),
    warm_up=st.integers(0, 3),
    steps=st.integers(1, 6),
    min_count=st.integers(1, 6),
)
calls = st.lists(
    st.one_of(
        st.tuples(st.just("enrol"), st.integers(0, 4), st.integers(1, 40), st.integers(0, 2**16)),
        st.tuples(st.just("forget"), st.integers(0, 4)),
        st.tuples(st.just("store and load"), st.integers(0, 2**32 - 1)),
        st.tuples(st.just("load cut off"), st.integers(0, 2**16)),
        st.tuples(st.just("load altered"), st.integers(0, 2**16)),
    ),
    min_size=1,
    max_size=12,
)


def samples(n: int, d: int, seed: int) -> PackedBits:
    """Bits of up to three kinds; sometimes all alike, sometimes all the same bit."""
    rng = np.random.default_rng(seed)
    chances = rng.random((int(rng.integers(1, 4)), d)) * rng.integers(0, 2, d) + rng.integers(0, 2) / 2
    return pack(rng.random((n, d)) < chances[rng.integers(0, len(chances), n)])


@given(layout=layouts, room=st.integers(1, 4), sequence=calls)
@settings(RELAXED, max_examples=EXAMPLES)
def test_any_sequence_of_calls_leaves_the_same_memory(
    library: ctypes.CDLL, layout: Layout, room: int, sequence: list[tuple[object, ...]]
) -> None:
    capacity = room * layout.class_words(layout.prototypes)
    ours, theirs = DeviceMemory(layout, capacity), CMemory(library, layout, capacity)
    for name, *arguments in sequence:
        numbers = [int(a) for a in arguments]  # type: ignore[call-overload]
        if name == "enrol":
            bits = samples(numbers[1], layout.features, numbers[2])
            status, found = status_of(ours.enrol, numbers[0], bits), theirs.enrol(numbers[0], words_of(bits))
        elif name == "forget":
            status, found = status_of(ours.forget, numbers[0]), theirs.forget(numbers[0])
        else:
            block = ours.to_block(numbers[0])
            assert theirs.store(numbers[0]) == (Status.OK, block)
            if name == "load cut off":
                block = block[: numbers[0] % len(block)]
            elif name == "load altered":
                at = numbers[0] % len(block)
                block = block[:at] + bytes([block[at] ^ 1 + numbers[0] % 255]) + block[at + 1 :]
            status, found = status_of(ours.load, block), theirs.load(block)[0]
        assert found is status
        assert theirs.fields.classes == len(ours)
        np.testing.assert_array_equal(theirs.words, ours.words)
        assert theirs.untouched
    assert [theirs.label(i) for i in range(len(ours))] == [(Status.OK, label) for label in ours.labels]
    assert theirs.label(len(ours))[0] is Status.UNKNOWN_CLASS
    bits = samples(8, layout.features, 0)
    if len(ours):
        np.testing.assert_array_equal(theirs.scores(words_of(bits))[1], ours.scores(bits))
        assert theirs.predict(words_of(bits))[1] == ours.predict(bits).tolist()
    else:
        assert theirs.predict(words_of(bits))[0] is theirs.scores(words_of(bits))[0] is Status.EMPTY


@pytest.mark.parametrize(("d", "q"), [(100, 1), (97, 2), (100, 3), (63, 4), (64, 5), (33, 8), (1280, 3), (1, 3)])
def test_scores_of_random_vectors(library: ctypes.CDLL, d: int, q: int) -> None:
    """100,000 vectors over all of these, a good part of them with D that fills no whole word."""
    rng = np.random.default_rng(d)
    layout = Layout(d, q)
    ours = random_memory(rng, layout, [3, 1, 2])
    theirs = CMemory(library, layout, len(ours.words))
    theirs.fill(ours)
    bits = pack(rng.integers(0, 2, (12_500, d)))
    np.testing.assert_array_equal(theirs.scores(words_of(bits))[1], ours.scores(bits))


def test_enrolling_many_samples_of_many_bits(library: ctypes.CDLL) -> None:
    """Masses beyond 24 bits, which are shifted, and sums as large as they get."""
    rng = np.random.default_rng(0)
    layout = Layout(40, prototypes=3, steps=3)
    bits = pack(rng.random((3000, 40)) < rng.random((3, 40))[rng.integers(0, 3, 3000)])
    ours, theirs = DeviceMemory(layout, 1000), CMemory(library, layout, 1000)
    ours.enrol(9, bits)
    assert theirs.enrol(9, words_of(bits)) is Status.OK
    np.testing.assert_array_equal(theirs.words, ours.words)


def test_the_widest_embedding_of_the_least_likely_bits(library: ctypes.CDLL) -> None:
    """Scores next to the ends of 32 bits."""
    layout = Layout(65535, 1, prototypes=1, clamp=LEAST_CLAMP)
    ours = DeviceMemory(layout)
    ours.enrol(0, np.zeros((1, 65535)))
    ours.enrol(1, np.ones((1, 65535)))
    theirs = CMemory(library, layout, len(ours.words))
    theirs.fill(ours)
    bits = pack(np.stack([np.zeros(65535), np.ones(65535), np.arange(65535) % 2]))
    expected = ours.scores(bits)
    assert expected.min() < -(2**31) * 0.99
    np.testing.assert_array_equal(theirs.scores(words_of(bits))[1], expected)


def test_what_c_alone_can_be_given_wrong(library: ctypes.CDLL) -> None:
    layout = Layout(33, prototypes=2)
    memory = CMemory(library, layout, 200)
    good = words_of(pack(np.ones((12, 33))))
    bad = good | np.array([0, 2], dtype=np.uint32)  # bit 33
    assert memory.enrol(1, bad) is Status.BAD_BITS
    for buffer in ("counts", "shares", "levels"):
        assert memory.enrol(1, good, short=buffer) is Status.TOO_SMALL
    assert memory.fields.used == memory.fields.classes == 0
    assert memory.enrol(1, good) is Status.OK
    before = memory.words
    assert memory.predict(bad)[0] is memory.scores(bad)[0] is Status.BAD_BITS
    assert memory.scores(good, room=0)[0] is Status.TOO_SMALL
    assert memory.store(1, fails_at=10)[0] is Status.NOT_WRITTEN
    block = memory.store(1)[1]
    memory.fields.room = None  # as for a memory in flash
    assert memory.enrol(2, good) is memory.forget(1) is memory.load(block)[0] is Status.READ_ONLY
    np.testing.assert_array_equal(memory.words, before)


def test_pointers_to_nothing_are_refused(library: ctypes.CDLL) -> None:
    arguments = {"open": 4, "copy": 2, "label": 4, "scores": 5, "predict": 5, "enrol": 6, "forget": 3, "store": 5}
    arguments |= {"load": 5, "load_newest": 6, "binarize_u8": 3, "head_scores": 4, "head_predict": 4, "embed": 5}
    for name, n in arguments.items():
        assert library[f"bitreplay_{name}"](*[None] * n) == Status.BAD_ARGUMENT, name


def test_a_layout_out_of_its_ranges_is_refused(library: ctypes.CDLL) -> None:
    memory = CMemory(library, Layout(8), 10)
    for name in ("features", "min_count", "bits", "prototypes", "starts", "steps"):
        kept = getattr(memory.layout, name)
        setattr(memory.layout, name, 0)
        room = ctypes.c_void_p(int(memory.room.ctypes.data))
        assert memory._call("open", room, ctypes.c_uint32(10)) is Status.BAD_ARGUMENT, name
        setattr(memory.layout, name, kept)
    memory.layout.starts = 33
    assert memory._call("open", room, ctypes.c_uint32(10)) is Status.BAD_ARGUMENT


def test_forgetting_leaves_nothing_behind(library: ctypes.CDLL) -> None:
    layout = Layout(64, prototypes=1)
    memory = CMemory(library, layout, 50)
    for label in range(3):
        assert memory.enrol(label, words_of(samples(9, 64, label))) is Status.OK
    used = memory.fields.used
    assert memory.forget(1) is Status.OK
    assert (memory.room[memory.fields.used : used] == 0).all()
