from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bitreplay.bits import Fingerprint, pack
from bitreplay.errors import FingerprintError, InputError, UnknownClassError
from bitreplay.memory import BinaryMemory, Label, as_label, label_array
from bitreplay.mixture import EMOptions, Mixture
from tests.memory.examples import ALL_BITS, class_bytes, random_memory, random_mixture, state

KINDS_OF_LABELS: list[tuple[Any, Label]] = [
    (3, 3),
    (-(2**63), -(2**63)),
    (2**64 - 1, 2**64 - 1),
    ("mug", "mug"),
    ("", ""),
    ("Tasse, groß", "Tasse, groß"),
    ("zero at the end\0", "zero at the end\0"),
    (2.5, 2.5),
    (True, True),
    (np.int8(-3), -3),
    (np.uint64(2**64 - 1), 2**64 - 1),
    (np.str_("mug"), "mug"),
    (np.float32(0.1), float(np.float32(0.1))),
    (np.float64(0.1), 0.1),
    (np.bool_(False), False),
]
NO_LABELS = [None, (1, 2), [1], {1}, b"mug", 1j, np.array([1, 2]), float("nan"), float("inf"), np.float32("nan")]
NO_LABELS += ["not \ud800 text", 2**64, -(2**63) - 1, object()]


@pytest.mark.parametrize(("given", "kept"), KINDS_OF_LABELS, ids=repr)
def test_a_label_becomes_plain_and_stays_itself(given: Any, kept: Label) -> None:
    memory = BinaryMemory(2)
    memory.add(given, random_mixture(np.random.default_rng(0), 1, 10))
    [stored] = memory.labels
    assert (stored, type(stored)) == (kept, type(kept))
    assert given in memory
    assert memory.count(given) == 50
    _, drawn = memory.sample(3, [given], generator=0)
    assert drawn.tolist() == [kept] * 3
    memory.remove(given)
    assert len(memory) == 0


@pytest.mark.parametrize("value", NO_LABELS, ids=lambda value: type(value).__name__)
def test_what_a_file_could_not_keep_is_no_label(value: Any) -> None:
    memory = random_memory(2, 10, {"cup": 1})
    before = state(memory)
    with pytest.raises(InputError, match="label"):
        memory.add(value, random_mixture(np.random.default_rng(0), 1, 10))
    with pytest.raises(InputError, match="label"):
        as_label(value)
    assert state(memory) == before


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1, 2],
        ["b", "a"],
        [1.5, 2],
        [True, False],
        ["a", 1],
        [True, 2],
        [2**63, -1],
        [2**53 + 1, 0.5],
        ["a\0", "a"],
        ["a", "longer"],
    ],
    ids=repr,
)
def test_an_array_of_labels_holds_the_same_labels(labels: list[Label]) -> None:
    array = label_array(labels)
    assert array.shape == (len(labels),)
    assert array.tolist() == labels
    assert len(set(array.tolist())) == len(labels)


def test_arrays_of_labels_have_the_type_that_users_expect() -> None:
    assert label_array([1, 2]).dtype == np.int64
    assert label_array(["a", "bc"]).dtype == np.dtype("<U2")
    assert label_array([1, 2.5]).dtype == np.float64
    assert label_array([True]).dtype == np.bool_
    assert label_array([]).shape == (0,)
    assert label_array([]).dtype == np.int64


@pytest.mark.parametrize("bits", ALL_BITS)
def test_adding_a_class_never_touches_the_codes_of_others(bits: int) -> None:
    memory = random_memory(bits, 77, {"cup": 3, "mug": 1})
    before = {label: class_bytes(memory, label) for label in memory.labels}
    memory.add("jug", random_mixture(np.random.default_rng(9), 4, 77))
    memory.add_all({i: random_mixture(np.random.default_rng(i), 1 + i, 77) for i in range(3)})
    assert {label: class_bytes(memory, label) for label in before} == before
    assert memory.labels == ("cup", "mug", "jug", 0, 1, 2)


def test_classes_may_have_different_numbers_of_prototypes_and_samples() -> None:
    memory = random_memory(3, 20, {"a": 1, "b": 8, "c": 3}, counts={"a": 2, "b": 4_000_000_000, "c": 30})
    assert [len(memory.mixture(label).weights) for label in memory.labels] == [1, 8, 3]
    assert [memory.count(label) for label in memory.labels] == [2, 4_000_000_000, 30]


@pytest.mark.parametrize(("bits", "n_features"), [(1, 1), (3, 100), (16, 64), (32, 12544)])
def test_size_bits_is_the_papers_formula(bits: int, n_features: int) -> None:
    memory = random_memory(bits, n_features, dict.fromkeys(range(10), 2))
    assert memory.size_bits == 2 * n_features * 10 * bits  # K * D * n_c * q
    memory.add("more", random_mixture(np.random.default_rng(0), 5, n_features))
    assert memory.size_bits == (20 + 5) * n_features * bits
    assert BinaryMemory(bits, n_features).size_bits == 0


def test_size_bits_is_the_papers_core50_figure() -> None:
    memory = random_memory(32, 12544, dict.fromkeys(range(10), 1))
    assert f"{memory.size_bits / 1e6:.1f}" == "4.0"  # Mb


def test_nbytes_counts_everything_that_is_held() -> None:
    memory = random_memory(3, 100, {"cup": 2, "größe": 5, 17: 1})
    codes = (2 + 5 + 1) * 3 * 16  # rows of 100 bits are kept in two words of 64
    assert memory.nbytes == codes + 2 * 8 + 3 * (4 + 2) + len("cup") + len("größe".encode()) + len("17")
    assert random_memory(32, 100, {"cup": 2}).nbytes == 2 * 100 * 4 + 2 * 2 + 6 + 3
    assert memory.nbytes * 8 >= memory.size_bits


def test_the_summary_lists_every_class() -> None:
    memory = random_memory(3, 1000, {"cup": 2, 17: 5}, counts={"cup": 1234, 17: 60})
    head, rule, cup, seventeen, _, total = memory.summary().split("\n")
    assert head.split() == ["class", "samples", "prototypes", "bits"]
    assert set(rule) == {"-"}
    assert cup.split() == ["cup", "1,234", "2", "6,000"]
    assert seventeen.split() == ["17", "60", "5", "15,000"]
    assert total.split() == ["total", "1,294", "7", "21,000"]
    assert len({len(line) for line in memory.summary().split("\n")}) == 1
    assert BinaryMemory(3).summary().split("\n")[-1].split() == ["total", "0", "0", "0"]


def test_the_summary_warns_of_classes_of_few_samples() -> None:
    memory = random_memory(3, 50, {"cup": 2, 17: 1, "mug": 1}, counts={"cup": 20, 17: 1, "mug": 19})
    assert memory.summary().split("\n")[-1] == "warning: fewer than 20 samples, so less often recognised: 17, mug"
    few = Mixture(np.full((1, 50), 0.5, np.float32), np.ones(1), 5)
    memory.add_all(dict.fromkeys(range(100, 108), few))
    assert memory.summary().endswith("17, mug, 100, 101, 102, 103, 104, 105, 106, 107")  # ten
    memory.add(108, few)
    assert memory.summary().endswith("106, 107, ...")


def test_enrol_stores_the_means_of_the_samples() -> None:
    rng = np.random.default_rng(0)
    samples = {"cup": rng.random((40, 30)) < 0.3, "mug": rng.random((7, 30)) < 0.6}
    memory = BinaryMemory(32)
    memory.enrol(samples, EMOptions(n_components=1))
    for label, bits in samples.items():
        assert memory.count(label) == len(bits)
        np.testing.assert_allclose(memory.mixture(label).prototypes[0], bits.mean(0), atol=1e-7)


def test_enrol_takes_bits_in_any_form_and_few_samples() -> None:
    bits = (np.random.default_rng(0).random((12, 30)) < 0.5).astype(np.uint8)
    states = []
    for form in (bits, bits.astype(bool), bits.astype(np.float64), torch.from_numpy(bits), pack(bits), bits.tolist()):
        memory = BinaryMemory(4)
        memory.enrol({"cup": form, "one": bits[:1]}, EMOptions(n_components=8, min_count=5))
        states.append(state(memory))
    assert all(s == states[0] for s in states)
    assert [len(memory.mixture(label).weights) <= 2 for label in memory.labels] == [True, True]  # 12 // 5, and 1


def test_the_number_of_bits_comes_from_the_first_class_or_the_fingerprint() -> None:
    memory = BinaryMemory(3)
    assert memory.fingerprint is None
    with pytest.raises(InputError, match="not yet known"):
        _ = memory.n_features
    memory.add("cup", random_mixture(np.random.default_rng(0), 1, 24))
    assert memory.n_features == 24
    assert BinaryMemory(3, 48).fingerprint == Fingerprint(48)
    assert BinaryMemory(3, np.int64(48)).fingerprint == Fingerprint(48)


FINGERPRINTS = [
    Fingerprint(24, thresholds="ab", encoder="net"),
    Fingerprint(25, thresholds="cd", encoder="net"),
    Fingerprint(24, thresholds="cd", encoder="other"),
    Fingerprint(24, thresholds="cd", encoder="net", bit_order="bit-major"),
]


@pytest.mark.parametrize("other", FINGERPRINTS, ids=["thresholds", "width", "encoder", "order"])
def test_the_fingerprint_guards_add_and_merge(other: Fingerprint) -> None:
    mine = Fingerprint(24, thresholds="cd", encoder="net")
    memory = BinaryMemory(3, mine)
    memory.add("cup", random_mixture(np.random.default_rng(0), 2, 24), fingerprint=mine)
    strange = BinaryMemory(3, other)
    strange.add("mug", random_mixture(np.random.default_rng(0), 2, other.n_features))
    before, theirs = state(memory), state(strange)
    with pytest.raises(FingerprintError, match="cannot add bits of another kind"):
        memory.add("mug", random_mixture(np.random.default_rng(0), 2, 24), fingerprint=other)
    with pytest.raises(FingerprintError, match="cannot merge bits of another kind"):
        memory.merge(strange)
    assert (state(memory), state(strange)) == (before, theirs)


def test_a_fingerprint_given_with_the_first_class_is_kept() -> None:
    memory = BinaryMemory(3)
    named = Fingerprint(24, encoder="net")
    memory.add("cup", random_mixture(np.random.default_rng(0), 1, 24), fingerprint=named)
    assert memory.fingerprint == named
    assert replace(named, encoder="other") == Fingerprint(24, encoder="other")


@pytest.mark.parametrize("width", [0, -1, 2.0, "24", None, True])
def test_a_fingerprint_needs_a_number_of_bits(width: Any) -> None:
    with pytest.raises(InputError, match="n_features"):
        Fingerprint(width)
    with pytest.raises(InputError, match="encoder must be a string"):
        Fingerprint(24, encoder=3)  # type: ignore[arg-type]


def test_remove_forgets_the_class_and_only_it() -> None:
    memory = random_memory(3, 50, {"cup": 2, "mug": 3, "jug": 1})
    kept = {label: class_bytes(memory, label) for label in ("cup", "jug")}
    memory.sample(10, generator=0)  # a sampler of all three is prepared now
    memory.remove("mug")
    assert memory.labels == ("cup", "jug")
    assert {label: class_bytes(memory, label) for label in kept} == kept
    assert set(memory.sample(500, generator=0)[1]) == {"cup", "jug"}
    for call in (memory.mixture, memory.count, memory.remove):
        with pytest.raises(UnknownClassError, match="'mug'"):
            call("mug")
    memory.add("mug", random_mixture(np.random.default_rng(3), 1, 50))
    assert memory.labels == ("cup", "jug", "mug")


def test_draws_follow_a_class_that_was_replaced() -> None:
    memory = random_memory(3, 50, {"cup": 2})
    for value in (1, 0):
        memory.sample(10, generator=0)
        memory.sample(10, ["cup"], generator=0)
        memory.replace({"cup": Mixture(np.full((1, 50), value, dtype=np.float32), np.ones(1), 7)})
        assert (memory.sample(20, generator=0)[0] == value).all()
        assert (memory.sample(20, ["cup"], generator=0)[0] == value).all()
        assert memory.count("cup") == 7


def test_a_copy_is_a_memory_of_its_own() -> None:
    memory = random_memory(3, 50, {"cup": 2, "mug": 3})
    before = state(memory)
    twin = memory.copy()
    assert state(twin) == before
    twin.remove("cup")
    twin.add("pot", random_mixture(np.random.default_rng(0), 1, 50))
    assert state(memory) == before
    assert twin.labels == ("mug", "pot")


def test_repr_says_what_is_inside() -> None:
    assert repr(random_memory(3, 50, {"cup": 2})) == "BinaryMemory(1 classes, D=50, q=3, 38 bytes)"
    assert repr(BinaryMemory(32)) == "BinaryMemory(0 classes, D=?, q=32, 0 bytes)"
