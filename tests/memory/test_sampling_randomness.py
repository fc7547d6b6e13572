"""Draws are reproducible, and rows, words and stretches of rows have nothing to do with each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import stats
from threadpoolctl import threadpool_limits

from bitreplay._kernels.sampler import STRETCH
from bitreplay.bits import PackedBits, row_bytes
from bitreplay.memory import BinaryMemory
from bitreplay.memory._sampler import draw_seed
from bitreplay.mixture import Mixture
from tests.memory.examples import random_memory

SIGMA = 5.0
RARE = 1e-6
ROWS = 100 * STRETCH

SOURCES: dict[str, Callable[[int], object]] = {
    "numpy": np.random.default_rng,
    "torch": lambda seed: torch.Generator().manual_seed(seed),
    "int": lambda seed: seed,
    "numpy int": np.int64,
}


def some_memory(n_features: int = 1100) -> BinaryMemory:
    return random_memory(3, n_features, {"cup": 2, "mug": 3, "jug": 1})


@pytest.mark.parametrize("source", SOURCES)
def test_the_same_state_gives_the_same_draw(source: str) -> None:
    memory, make = some_memory(), SOURCES[source]
    first, again, other = (memory.sample(500, generator=make(seed)) for seed in (7, 7, 8))  # type: ignore[arg-type]
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert (first[0] != other[0]).any()
    assert (first[1] != other[1]).any()


@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_a_generator_goes_on(source: str) -> None:
    memory, generator = some_memory(), SOURCES[source](7)
    first, second = (memory.sample(500, generator=generator)[0] for _ in range(2))  # type: ignore[arg-type]
    assert (first != second).any()
    repeated = SOURCES[source](7)
    np.testing.assert_array_equal(memory.sample(500, generator=repeated)[0], first)  # type: ignore[arg-type]
    np.testing.assert_array_equal(memory.sample(500, generator=repeated)[0], second)  # type: ignore[arg-type]


@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_seeds_from_a_generator_fill_63_bits(source: str) -> None:
    generator = SOURCES[source](7)
    seeds = [draw_seed(generator) for _ in range(200)]  # type: ignore[arg-type]
    for bit in range(63):
        assert 50 < sum(seed >> bit & 1 for seed in seeds) < 150  # 7 standard deviations


def test_without_a_generator_every_draw_is_new() -> None:
    memory = some_memory()
    assert (memory.sample(50)[0] != memory.sample(50)[0]).any()


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
def test_threads_do_not_matter(n_jobs: int) -> None:
    memory = some_memory()
    for n in (10_001, 4096, 100):
        alone, shared = (memory.sample(n, generator=3, output="packed", n_jobs=jobs) for jobs in (1, n_jobs))
        assert alone[0] == shared[0]
        np.testing.assert_array_equal(alone[1], shared[1])


@pytest.mark.parametrize("n_features", [1, 7, 9, 64, 70, 512, 520, 1100])
@pytest.mark.parametrize("bits", [3, 32])
def test_the_form_of_the_output_does_not_matter(bits: int, n_features: int) -> None:
    memory = random_memory(bits, n_features, {"cup": 2, "mug": 3})
    integers, floats, packed = (
        memory.sample(300, generator=5, output=form)  # type: ignore[arg-type]
        for form in ("uint8", "float32", "packed")
    )
    assert (integers[0].dtype, floats[0].dtype, type(packed[0])) == (np.uint8, np.float32, PackedBits)
    assert integers[0].shape == floats[0].shape == packed[0].shape == (300, n_features)
    assert set(np.unique(integers[0])) <= {0, 1}
    np.testing.assert_array_equal(integers[0], floats[0])
    np.testing.assert_array_equal(integers[0], packed[0].unpack())
    for labels in (floats[1], packed[1]):
        np.testing.assert_array_equal(labels, integers[1])
    assert packed[0].data.shape[1] == row_bytes(n_features)
    beyond = np.unpackbits(packed[0].data, axis=1, bitorder="little")[:, n_features:]
    assert not beyond.any()  # other code counts whole words and relies on it


def test_draw_and_sample_draw_the_same() -> None:
    memory = some_memory()
    bits, positions = memory.draw(200, ("mug", "jug"), 4)
    sampled, labels = memory.sample(200, ["mug", "jug"], generator=4)
    np.testing.assert_array_equal(bits, sampled)
    assert [memory.labels[p] for p in positions] == labels.tolist()


@pytest.fixture(scope="module")
def coins() -> npt.NDArray[np.float32]:
    """Rows of 512 fair coins as +1 and -1: what random numbers share they share here."""
    memory = BinaryMemory(32)
    memory.add("coin", Mixture(np.full((1, 512), 0.5, dtype=np.float32), np.ones(1), 5))
    drawn, _ = memory.sample(ROWS, generator=0, output="float32")
    return np.asarray(2 * drawn - 1)


@pytest.mark.parametrize("lag", [1, 2, STRETCH - 1, STRETCH, STRETCH + 1, 2 * STRETCH])
def test_rows_do_not_depend_on_rows_before(coins: npt.NDArray[np.float32], lag: int) -> None:
    """Correlations of each of 512 bits with each bit of an earlier row, the row before or one of the stretch before."""
    with threadpool_limits(1):
        products = coins[:-lag].T @ coins[lag:]
    scores = products / np.sqrt(len(coins) - lag)
    assert np.abs(np.diag(scores)).max() < stats.norm.isf(RARE / 2 / 512)  # the same bit
    assert np.abs(scores).max() < stats.norm.isf(RARE / 2 / 512**2)  # 7 sigma: a quarter of a million pairs
    assert abs(np.diag(scores).sum() / np.sqrt(512)) < SIGMA
    assert abs(np.mean(scores**2) - 1) < SIGMA * np.sqrt(2) / 512


def test_bits_of_a_row_do_not_depend_on_each_other(coins: npt.NDArray[np.float32]) -> None:
    with threadpool_limits(1):
        scores = coins.T @ coins / np.sqrt(len(coins))
    upper = scores[np.triu_indices(512, 1)]
    assert np.abs(upper).max() < stats.norm.isf(RARE / 2 / len(upper))
    assert abs(np.mean(upper**2) - 1) < SIGMA * np.sqrt(2 / len(upper))
    for distance in (1, 8, 64, 128, 256):  # neighbours in a byte, a word, a vector
        along = np.diag(scores, distance)
        assert abs(along.sum() / np.sqrt(len(along))) < SIGMA


def test_the_number_of_set_bits_is_binomial(coins: npt.NDArray[np.float32]) -> None:
    """In a row, in a column, and in a word over a whole stretch."""
    for axis in (1, 0):
        sums = coins.sum(axis) / np.sqrt(coins.shape[axis])
        assert np.abs(sums).max() < SIGMA
        assert abs(np.mean(sums**2) - 1) < SIGMA * np.sqrt(2 / len(sums))
    words = coins.reshape(-1, STRETCH, 8, 64).sum((1, 3)).reshape(-1) / np.sqrt(STRETCH * 64)
    assert abs(np.mean(words**2) - 1) < SIGMA * np.sqrt(2 / len(words))


def test_no_row_and_no_word_comes_twice(coins: npt.NDArray[np.float32]) -> None:
    words = np.packbits(coins > 0, axis=1).view(np.uint64)
    assert len(np.unique(words)) == words.size  # the chance of a pair among 51200 words of 64 bits is 7e-11


def test_neighbouring_seeds_have_nothing_in_common() -> None:
    memory = BinaryMemory(32)
    memory.add("coin", Mixture(np.full((1, 512), 0.5, dtype=np.float32), np.ones(1), 5))
    draws = [memory.sample(STRETCH, generator=seed, output="packed")[0].data.view(np.uint64) for seed in range(200)]
    assert len(np.unique(np.concatenate(draws))) == 200 * STRETCH * 8


@pytest.mark.parametrize("lag", [1, STRETCH])
def test_prototypes_are_chosen_independently_of_those_before(lag: int) -> None:
    memory = BinaryMemory(2)
    memory.add("cup", Mixture(np.eye(4, dtype=np.float32), np.array([0.1, 0.2, 0.3, 0.4]), 5))
    bits, _ = memory.sample(40_000, generator=0)
    chosen = bits.argmax(1)
    table = np.zeros((4, 4), dtype=np.int64)
    np.add.at(table, (chosen[:-lag], chosen[lag:]), 1)
    assert stats.chi2_contingency(table).pvalue > RARE


def test_the_choice_of_the_prototype_does_not_show_in_the_bits() -> None:
    """Two prototypes with the same coins: bits must not tell which was chosen."""
    prototypes = np.full((2, 513), 0.5, dtype=np.float32)
    prototypes[:, 512] = 0, 1  # the last bit says it
    memory = BinaryMemory(32)
    memory.add("cup", Mixture(prototypes, np.array([0.5, 0.5]), 5))
    drawn, _ = memory.sample(20_000, generator=0, output="float32")
    signs = 2 * drawn - 1
    scores = signs[:, 512] @ signs[:, :512] / np.sqrt(len(signs))
    assert np.abs(scores).max() < SIGMA
    assert abs(np.mean(scores**2) - 1) < SIGMA * np.sqrt(2 / 512)
