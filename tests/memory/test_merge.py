from __future__ import annotations

import numpy as np
import pytest

from bitreplay.bits import Fingerprint
from bitreplay.errors import FingerprintError
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import Mixture, combine
from tests.memory.examples import ALL_BITS, class_bytes, random_memory, random_mixture, state


def mean(mixture: Mixture) -> np.ndarray:
    return np.asarray(mixture.weights @ mixture.prototypes.astype(np.float64))


@pytest.mark.parametrize("bits", ALL_BITS)
def test_disjoint_memories_become_one_that_learned_both(bits: int) -> None:
    rng = np.random.default_rng(bits)
    mixtures = {
        label: random_mixture(rng, size, 77, 10 + size) for label, size in (("a", 2), ("b", 3), (3, 1), ("d", 4))
    }
    both, first, second = BinaryMemory(bits), BinaryMemory(bits), BinaryMemory(bits)
    both.add_all(mixtures)
    first.add_all({label: mixtures[label] for label in ("a", "b")})
    second.add_all({label: mixtures[label] for label in (3, "d")})
    theirs = state(second)
    first.merge(second)
    assert state(first) == state(both)
    assert state(second) == theirs
    merged, learned = (memory.sample(300, generator=1) for memory in (first, both))
    np.testing.assert_array_equal(merged[0], learned[0])
    assert merged[1].tolist() == learned[1].tolist()


def test_merging_with_nothing_changes_nothing() -> None:
    memory = random_memory(3, 20, {"cup": 2})
    before = state(memory)
    memory.merge(BinaryMemory(3))
    memory.merge(BinaryMemory(3, 20))
    assert state(memory) == before


@pytest.mark.parametrize("width", [None, 20])
def test_nothing_merged_with_a_memory_becomes_that_memory(width: int | None) -> None:
    memory, empty = random_memory(3, 20, {"cup": 2, "mug": 1}), BinaryMemory(3, width)
    empty.merge(memory)
    assert state(empty) == state(memory)
    assert empty.fingerprint == memory.fingerprint
    empty.remove("cup")
    assert "cup" in memory


@pytest.mark.parametrize("prototypes", [1, 2, 3, None])
def test_a_shared_class_keeps_its_mean_and_all_its_samples(prototypes: int | None) -> None:
    rng = np.random.default_rng(0)
    first, second = BinaryMemory(32), BinaryMemory(32)
    first.add("cup", random_mixture(rng, 3, 50, 300))
    second.add("cup", random_mixture(rng, 2, 50, 100))
    expected = (300 * mean(first.mixture("cup")) + 100 * mean(second.mixture("cup"))) / 400
    theirs = state(second)
    first.merge(second, prototypes)
    merged = first.mixture("cup")
    assert (merged.count, first.count("cup")) == (400, 400)
    assert len(merged.weights) == (prototypes or 3)
    # Five mixing weights in 16 bits, each off by at most half a level, are all that is lost.
    np.testing.assert_allclose(mean(merged), expected, atol=5 / 65535)
    assert state(second) == theirs


@pytest.mark.parametrize("bits", [1, 2, 3, 8])
def test_a_shared_class_in_few_bits_keeps_its_mean_to_half_a_step(bits: int) -> None:
    first, second = (random_memory(bits, 50, {"cup": 2}, seed, counts={"cup": 40 * seed}) for seed in (1, 2))
    expected = (40 * mean(first.mixture("cup")) + 80 * mean(second.mixture("cup"))) / 120
    first.merge(second)
    assert first.count("cup") == 120
    assert np.abs(mean(first.mixture("cup")) - expected).max() <= 0.5 / (2**bits - 1) + 5 / 65535


def test_a_shared_class_with_room_is_the_union_weighted_by_counts() -> None:
    first, second = (random_memory(3, 50, {"cup": 2}, seed, counts={"cup": 100 * seed}) for seed in (1, 2))
    mine, theirs = first.mixture("cup"), second.mixture("cup")
    first.merge(second, 4)
    merged = first.mixture("cup")
    np.testing.assert_array_equal(merged.prototypes, np.concatenate([mine.prototypes, theirs.prototypes]))
    np.testing.assert_allclose(
        merged.weights, np.concatenate([mine.weights / 3, theirs.weights * 2 / 3]), atol=5 / 65535
    )


def test_the_closest_prototypes_are_joined() -> None:
    """Two devices saw the same two kinds of cups: merged to two prototypes, both kinds are still there."""
    kinds = np.array([[0.1] * 20 + [0.9] * 20, [0.8] * 20 + [0.3] * 20], dtype=np.float32)
    memories = []
    for order in ([0, 1], [1, 0]):
        memory = BinaryMemory(16)
        memory.add("cup", Mixture(kinds[order], np.array([0.5, 0.5]), 60))
        memories.append(memory)
    memories[0].merge(memories[1])
    merged = memories[0].mixture("cup")
    np.testing.assert_allclose(merged.prototypes, kinds, atol=1e-4)
    np.testing.assert_allclose(merged.weights, [0.5, 0.5], atol=1e-4)


def test_a_shared_class_is_what_combine_makes_of_the_stored_mixtures() -> None:
    first, second = (random_memory(4, 50, {"x": 1, "cup": 3}, seed) for seed in (1, 2))
    expected = BinaryMemory(4)
    expected.add("cup", combine([first.mixture("cup"), second.mixture("cup")], 3))
    first.merge(second)
    assert class_bytes(first, "cup") == class_bytes(expected, "cup")


def test_shared_and_new_classes_together() -> None:
    first = random_memory(3, 50, {"a": 2, "b": 1, "c": 3}, 1)
    second = random_memory(3, 50, {"d": 2, "b": 4, 5: 1}, 2)
    mine = {label: class_bytes(first, label) for label in ("a", "c")}
    theirs = {label: class_bytes(second, label) for label in ("d", 5)}
    first.merge(second)
    assert first.labels == ("a", "b", "c", "d", 5)
    assert {label: class_bytes(first, label) for label in mine} == mine
    assert {label: class_bytes(first, label) for label in theirs} == theirs
    assert len(first.mixture("b").weights) == 4  # the larger of the two numbers
    assert set(first.sample(500, generator=0)[1].tolist()) == {"a", "b", "c", "d", 5}


def test_more_prototypes_than_a_class_has_are_not_invented() -> None:
    first, second = (random_memory(3, 50, {"cup": 1}, seed) for seed in (1, 2))
    first.merge(second, np.int64(8))  # type: ignore[arg-type]
    assert len(first.mixture("cup").weights) == 2


def test_the_fingerprint_of_the_other_is_taken_over_by_an_empty_memory() -> None:
    named = BinaryMemory(3, Fingerprint(20, encoder="net"))
    named.add("cup", random_mixture(np.random.default_rng(0), 1, 20))
    memory = BinaryMemory(3)
    memory.merge(named)
    assert memory.fingerprint == Fingerprint(20, encoder="net")
    with pytest.raises(FingerprintError, match="encoder is 'net', expected ''"):
        random_memory(3, 20, {"mug": 1}).merge(named)
