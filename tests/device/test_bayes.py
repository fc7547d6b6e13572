"""Integer Bayes: scores against the logarithm of the probability in floats, decisions against the float head."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from bitreplay import Bayes, BinaryMemory, GBMClassifier, Mixture
from bitreplay.binarizers import Identity
from bitreplay.bits import pack
from bitreplay.device import DeviceError, DeviceMemory, Layout, Record, Status
from bitreplay.errors import InputError


def random_memory(rng: np.random.Generator, layout: Layout, sizes: list[int]) -> DeviceMemory:
    memory = DeviceMemory(layout)
    memory._records = tuple(
        Record(
            label,
            int(rng.integers(1, 1000)),
            rng.integers(1, 65536, k).astype(np.uint16),
            rng.integers(0, layout.top + 1, (k, layout.features)).astype(np.uint8),
        )
        for label, k in enumerate(sizes)
    )
    return memory


@given(st.integers(0, 2**32), st.integers(1, 70), st.integers(1, 8), st.sampled_from([0.01, 0.08, 0.3]))
@settings(deadline=None)
def test_a_score_is_the_log_probability_under_the_best_prototype(seed: int, d: int, q: int, clamp: float) -> None:
    rng = np.random.default_rng(seed)
    layout = Layout(d, q, clamp=clamp)
    memory = random_memory(rng, layout, [1, 3, 2])
    bits = rng.integers(0, 2, (5, d))
    for row, scores in zip(bits, memory.scores(bits), strict=True):
        for record, score in zip(memory.records, scores, strict=True):
            mu = np.clip(record.codes / layout.top, clamp, 1 - clamp)
            pi = record.weights / record.weights.sum(dtype=float)
            exact = (np.log(np.where(row, mu, 1 - mu)).sum(axis=1) + np.log(pi)).max()
            assert abs(score - 4096 * exact) <= 0.5 * d + 4  # each entry is rounded by half, each logarithm by 2


def test_decisions_on_digits_are_those_of_the_float_head() -> None:
    images, labels = load_digits(return_X_y=True)
    clf = GBMClassifier(prototypes=4, p=4, head="bayes", random_state=0).fit(images[:1200], labels[:1200])
    memory = DeviceMemory.from_memory(clf.memory_)
    bits = clf.binarizer_.pack(images[1200:])
    floats = Bayes().fit(clf.memory_, Identity(), 0).scores(bits).argmax(axis=1)
    assert (memory.predict(bits) == floats).mean() > 0.985  # the log-sum against its largest term
    right = [np.mean(np.array(clf.memory_.labels)[found] == labels[1200:]) for found in (memory.predict(bits), floats)]
    assert right[0] == pytest.approx(right[1], abs=0.01)


def test_a_trained_memory_comes_back_unchanged() -> None:
    rng = np.random.default_rng(0)
    trained = BinaryMemory(bits=5)
    for label, k in (("cup", 3), (7, 1), (2.5, 2)):
        weights = rng.random(k) + 0.01
        trained.add(label, Mixture(rng.random((k, 45)).astype(np.float32), weights / weights.sum(), 30 + k))
    names = dict(enumerate(trained.labels))
    back = DeviceMemory.from_memory(trained).to_memory(names, trained.fingerprint)
    assert back.labels == trained.labels
    tensors, expected = back.to_content()[1], trained.to_content()[1]
    assert {name: value.tolist() for name, value in tensors.items()} == {
        name: value.tolist() for name, value in expected.items()
    }


def test_classes_of_a_device_can_be_merged_into_a_trained_memory() -> None:
    rng = np.random.default_rng(0)
    trained = BinaryMemory(bits=3)
    trained.enrol({"cup": rng.random((40, 64)) < 0.2})
    device = DeviceMemory.from_memory(trained)
    device.enrol(1, rng.random((40, 64)) < 0.8)
    trained.merge(device.to_memory({0: "cup", 1: "mug"}, trained.fingerprint))
    assert trained.labels == ("cup", "mug")


def test_two_classes_of_a_device_that_would_have_one_name_are_refused() -> None:
    rng = np.random.default_rng(0)
    trained = BinaryMemory(bits=3)
    trained.enrol({digit: rng.random((20, 16)) < 0.5 for digit in (5, 6)})
    device = DeviceMemory.from_memory(trained)
    device.enrol(5, rng.random((20, 16)) < 0.5)
    names = dict(enumerate(trained.labels))
    with pytest.raises(InputError, match="classes 0 and 5 would both be called 5"):
        device.to_memory(names, trained.fingerprint)
    with pytest.raises(InputError, match="classes 0 and 5 would both be called 7"):
        device.to_memory({0: 7, 5: np.int64(7)})
    assert device.to_memory({**names, 5: 7}, trained.fingerprint).labels == (5, 6, 7)


def test_a_device_enrols_as_many_prototypes_as_the_largest_class_of_its_memory() -> None:
    rng = np.random.default_rng(0)
    trained = BinaryMemory(bits=3, fingerprint=16)
    assert DeviceMemory.from_memory(trained).layout.prototypes == Layout(16).prototypes
    for k in (3, 300, 2):  # a byte counts them
        trained.add(k, Mixture(rng.random((k, 16)).astype(np.float32), np.full(k, 1 / k), 600))
        assert DeviceMemory.from_memory(trained).layout.prototypes == min(max(trained.sizes), 255)


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda memory: memory.enrol(1, [[0, 1, 1]]), Status.KNOWN_CLASS),
        (lambda memory: memory.enrol(2, np.empty((0, 3))), Status.BAD_ARGUMENT),
        (lambda memory: memory.enrol(2, np.zeros((65536, 3))), Status.BAD_ARGUMENT),
        (lambda memory: memory.enrol(2, [[0, 1, 1]]), Status.FULL),
        (lambda memory: memory.forget(2), Status.UNKNOWN_CLASS),
        (lambda memory: DeviceMemory(memory.layout).predict([[0, 1, 1]]), Status.EMPTY),
    ],
)
def test_what_a_device_refuses_changes_nothing(call, status) -> None:  # type: ignore[no-untyped-def]
    memory = DeviceMemory(Layout(3), capacity=Layout(3).class_words(1))
    memory.enrol(1, [[0, 1, 1]])
    before = memory.words
    with pytest.raises(DeviceError) as refused:
        call(memory)
    assert refused.value.status is status
    np.testing.assert_array_equal(memory.words, before)


@pytest.mark.parametrize("capacity", [-1, 2**32])
def test_a_capacity_that_is_not_32_bits_is_refused(capacity: int) -> None:
    with pytest.raises(InputError, match="capacity"):
        DeviceMemory(Layout(3), capacity)
    assert DeviceMemory(Layout(3), 2**32 - 1).capacity == DeviceMemory(Layout(3)).capacity


def test_bits_of_another_width_are_refused() -> None:
    memory = DeviceMemory(Layout(3))
    with pytest.raises(InputError, match="takes 3 bits; got 4"):
        memory.enrol(1, [[0, 1, 1, 0]])
    trained = BinaryMemory(bits=3, fingerprint=4)
    with pytest.raises(InputError, match="does not match a layout"):
        DeviceMemory.from_memory(trained, Layout(3))
    with pytest.raises(InputError, match="another fingerprint"):
        memory.to_memory(fingerprint=trained.fingerprint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 0}, "features must be an integer from 1 to 65535"),
        ({"features": 65536}, "features must be an integer from 1 to 65535"),
        ({"bits": 9}, "bits must be an integer from 1 to 8"),
        ({"prototypes": 256}, "prototypes must be an integer from 1 to 255"),
        ({"clamp": 0.0001}, "clamp must lie between"),
        ({"clamp": 0.5}, "clamp must lie between"),
        ({"min_count": 0}, "min_count must be an integer from 1"),
        ({"starts": 33}, "starts must be an integer from 1 to 32"),
    ],
)
def test_a_layout_out_of_its_ranges_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Layout(**{"features": 8, **options})


def test_packed_and_unpacked_bits_are_the_same() -> None:
    memory = random_memory(np.random.default_rng(0), Layout(33), [2, 1])
    bits = np.random.default_rng(1).integers(0, 2, (4, 33))
    np.testing.assert_array_equal(memory.scores(bits), memory.scores(pack(bits)))
