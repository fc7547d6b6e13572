"""Every call that fails leaves the memory exactly as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bitreplay.bits import Fingerprint
from bitreplay.errors import BitreplayError, FingerprintError, InputError, UnknownClassError
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import EMOptions, Mixture
from tests.memory.examples import random_memory, random_mixture, state

D = 24


def mixture(prototypes: Any = None, weights: Any = None, count: Any = 5) -> Mixture:
    return Mixture(
        np.full((2, D), 0.5, dtype=np.float32) if prototypes is None else prototypes,
        np.array([0.5, 0.5]) if weights is None else weights,
        count,
    )


def with_value(value: float) -> Mixture:
    prototypes = np.full((2, D), 0.5, dtype=np.float32)
    prototypes[1, 3] = value
    return mixture(prototypes)


BAD_MIXTURES: dict[str, Mixture] = {
    "a value under 0": with_value(-1e-6),
    "a value above 1": with_value(1.0001),
    "a value that is not a number": with_value(np.nan),
    "an infinite value": with_value(np.inf),
    "text": mixture(np.full((2, D), "a")),
    "one row without its axis": mixture(np.full(D, 0.5), np.ones(1)),
    "a single number": mixture(np.float32(0.5), np.ones(1)),
    "a cube": mixture(np.full((2, 2, D), 0.5)),
    "no prototypes": mixture(np.empty((0, D)), np.empty(0)),
    "too few weights": mixture(weights=np.ones(1)),
    "too many weights": mixture(weights=np.full(3, 1 / 3)),
    "a weight of 0": mixture(weights=np.array([1.0, 0.0])),
    "a negative weight": mixture(weights=np.array([1.5, -0.5])),
    "a weight that is not a number": mixture(weights=np.array([1.0, np.nan])),
    "an infinite weight": mixture(weights=np.array([1.0, np.inf])),
    "no samples": mixture(count=0),
    "a negative count": mixture(count=-3),
    "half a sample": mixture(count=2.5),
    "a count of text": mixture(count="3"),
    "more samples than 32 bits count": mixture(count=2**32),
    "too many prototypes": mixture(np.zeros((65536, D), np.float32), np.full(65536, 1 / 65536)),
}
BAD_WIDTHS: dict[str, Mixture] = {
    "narrower": mixture(np.full((2, D - 1), 0.5)),
    "wider": mixture(np.full((2, D + 1), 0.5)),
    "much wider": mixture(np.full((2, 9 * D), 0.5)),
    "no width": mixture(np.empty((2, 0))),
}

GOOD = random_mixture(np.random.default_rng(5), 2, D)
BITS = (np.random.default_rng(0).random((20, D)) < 0.5).astype(np.uint8)

Call = Callable[[BinaryMemory], object]
FAILING_CALLS: dict[str, tuple[type[BitreplayError], str, Call]] = {
    "add a known label": (InputError, "'cup' is already in the memory", lambda m: m.add("cup", GOOD)),
    "add a known number": (InputError, "7.0 is already in the memory", lambda m: m.add(7.0, GOOD)),
    "add one new and one known": (InputError, "'mug'", lambda m: m.add_all({"new": GOOD, "mug": GOOD})),
    "add one good and one bad": (
        InputError,
        "'bad'",
        lambda m: m.add_all({"new": GOOD, "bad": BAD_MIXTURES["text"]}),
    ),
    "add one good and one wide": (
        FingerprintError,
        "25\\]? bits",
        lambda m: m.add_all({"new": GOOD, "wide": BAD_WIDTHS["wider"]}),
    ),
    "enrol a known label": (InputError, "'cup' is already in the memory", lambda m: m.enrol({"cup": BITS})),
    "enrol no samples": (InputError, "no samples", lambda m: m.enrol({"new": BITS[:0]})),
    "enrol other values": (InputError, "found 2 at row 0, column 0", lambda m: m.enrol({"new": BITS + 2})),
    "enrol NaN": (InputError, "found nan", lambda m: m.enrol({"new": np.full((4, D), np.nan)})),
    "enrol another width": (FingerprintError, "23\\]? bits", lambda m: m.enrol({"new": BITS[:, 1:]})),
    "enrol two widths": (InputError, "23 bits", lambda m: m.enrol({"new": BITS, "other": BITS[:, 1:]})),
    "enrol a vector": (InputError, "matrix", lambda m: m.enrol({"new": BITS[0]})),
    "enrol with K out of range": (
        InputError,
        "n_components must be at least 1",
        lambda m: m.enrol({"new": BITS}, EMOptions(n_components=0)),
    ),
    "remove an unknown class": (UnknownClassError, "'pot' is not in the memory", lambda m: m.remove("pot")),
    "remove text for a number": (UnknownClassError, "'7'", lambda m: m.remove("7")),
    "replace an unknown class": (UnknownClassError, "'pot'", lambda m: m.replace({"cup": GOOD, "pot": GOOD})),
    "replace by a bad mixture": (InputError, "'mug'", lambda m: m.replace({"cup": GOOD, "mug": BAD_MIXTURES["text"]})),
    "replace by another width": (FingerprintError, "25 bits", lambda m: m.replace({"cup": BAD_WIDTHS["wider"]})),
    "merge another q": (InputError, "q=3 and q=4", lambda m: m.merge(random_memory(4, D, {"x": 1}))),
    "merge another width": (FingerprintError, "n_features is 25", lambda m: m.merge(random_memory(3, 25, {"x": 1}))),
    "merge to 0 prototypes": (InputError, "integer of at least 1", lambda m: m.merge(m.copy(), 0)),
    "merge to half a prototype": (InputError, "integer of at least 1", lambda m: m.merge(m.copy(), 0.5)),  # type: ignore[arg-type]
    "merge to True prototypes": (InputError, "integer of at least 1", lambda m: m.merge(m.copy(), True)),
    "merge too many samples": (
        InputError,
        "below 2\\^32",
        lambda m: m.merge(random_memory(3, D, {"new": 1, "cup": 1}, counts={"cup": 2**32 - 1})),
    ),
    "mixture of an unknown class": (UnknownClassError, "'pot'", lambda m: m.mixture("pot")),
    "count of an unknown class": (UnknownClassError, "'pot'", lambda m: m.count("pot")),
    "sample an unknown class": (UnknownClassError, "'pot'", lambda m: m.sample(5, ["cup", "pot"])),
    "sample a class twice": (InputError, "named twice", lambda m: m.sample(5, ["cup", "cup"])),
    "sample no class": (InputError, "no classes to draw from", lambda m: m.sample(5, [])),
    "sample nothing": (InputError, "integer of at least 1", lambda m: m.sample(0)),
    "sample half a row": (InputError, "integer of at least 1", lambda m: m.sample(0.5)),  # type: ignore[arg-type]
    "sample with another prior": (InputError, "balanced, empirical", lambda m: m.sample(5, prior="flat")),  # type: ignore[arg-type]
    "sample into another form": (InputError, "uint8, float32, packed", lambda m: m.sample(5, output="f")),  # type: ignore[arg-type]
    "sample with a negative seed": (InputError, "negative", lambda m: m.sample(5, generator=-1)),
    "sample with an old generator": (
        InputError,
        "RandomState",
        lambda m: m.sample(5, generator=np.random.RandomState(0)),  # type: ignore[arg-type]
    ),
    "sample a truth": (InputError, "integer of at least 1", lambda m: m.sample(True)),
    "replace by nothing": (InputError, "needs a Mixture", lambda m: m.replace({"cup": None})),  # type: ignore[dict-item]
    "replace a list": (InputError, "dictionary", lambda m: m.replace(["cup"])),  # type: ignore[arg-type]
    "add a list": (InputError, "dictionary", lambda m: m.add_all([mixture()])),  # type: ignore[arg-type]
    "add with a text as fingerprint": (
        InputError,
        "fingerprint",
        lambda m: m.add("new", mixture(), fingerprint="net"),  # type: ignore[arg-type]
    ),
    "enrol a list": (InputError, "dictionary", lambda m: m.enrol([np.ones((9, D))])),  # type: ignore[arg-type]
    "enrol with a negative seed": (InputError, "seed", lambda m: m.enrol({"new": np.ones((9, D))}, seed=-1)),
    "sample with no threads": (InputError, "n_jobs", lambda m: m.sample(5000, n_jobs=0)),
    "sample with fewer threads": (InputError, "n_jobs", lambda m: m.sample(5000, n_jobs=-1)),
}


def some_memory() -> BinaryMemory:
    return random_memory(3, D, {"cup": 2, "mug": 1, 7: 3})


@pytest.mark.parametrize("name", FAILING_CALLS)
def test_a_refused_call_changes_nothing(name: str) -> None:
    error, message, call = FAILING_CALLS[name]
    memory = some_memory()
    before, drawn = state(memory), memory.sample(50, generator=0)
    with pytest.raises(error, match=message):
        call(memory)
    assert state(memory) == before
    again = memory.sample(50, generator=0)
    assert (again[0].tobytes(), again[1].tolist()) == (drawn[0].tobytes(), drawn[1].tolist())


@pytest.mark.parametrize("name", BAD_MIXTURES)
def test_a_bad_mixture_is_refused_by_a_memory_with_classes_and_without(name: str) -> None:
    bad = BAD_MIXTURES[name]
    for memory in (some_memory(), BinaryMemory(3, D), BinaryMemory(3)):
        before = state(memory)
        with pytest.raises(InputError):
            memory.add("new", bad)
        assert state(memory) == before


@pytest.mark.parametrize("name", BAD_WIDTHS)
def test_a_wrong_width_is_refused(name: str) -> None:
    for memory in (some_memory(), BinaryMemory(3, D)):
        before = state(memory)
        with pytest.raises(FingerprintError, match="bits"):
            memory.add("new", BAD_WIDTHS[name])
        assert state(memory) == before


def test_an_empty_memory_has_nothing_to_draw() -> None:
    for memory in (BinaryMemory(3), BinaryMemory(3, D)):
        with pytest.raises(InputError, match="no classes to draw from"):
            memory.sample(5)


@pytest.mark.parametrize("bits", [0, 17, 31, -3, 2.0, "3", None, True])
def test_q_out_of_range_is_refused(bits: Any) -> None:
    with pytest.raises(InputError, match="1 to 16, or 32"):
        BinaryMemory(bits)


@pytest.mark.parametrize("fingerprint", ["24", 24.0, {"n_features": 24}, True, 0, -4])
def test_a_fingerprint_of_another_kind_is_refused(fingerprint: Any) -> None:
    with pytest.raises(InputError):
        BinaryMemory(3, fingerprint)


def test_a_memory_without_a_width_cannot_be_saved(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="not known"):
        BinaryMemory(3).save(tmp_path / "memory.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_good_neighbours_of_the_refused_are_accepted() -> None:
    """What is refused above is refused for its fault, not for something that all these calls share."""
    memory = some_memory()
    memory.add_all(
        {"one": mixture(), "two": with_value(0.0), "three": with_value(1.0), "four": mixture(count=2**32 - 1)}
    )
    memory.add("five", mixture(weights=np.array([2.0, 1.0])), fingerprint=Fingerprint(D))
    memory.add("six", Mixture(np.ones((1, D), dtype=bool), np.ones(1), np.int64(3)))
    memory.add_all({})
    assert len(memory) == 9
