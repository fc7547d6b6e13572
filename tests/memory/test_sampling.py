"""Draws follow the stored mixtures: means, correlations, priors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from bitreplay.bits import PackedBits
from bitreplay.errors import InputError
from bitreplay.memory import BinaryMemory, Label
from bitreplay.memory._quantisation import encode
from bitreplay.memory._sampler import MOST_DRAWERS
from bitreplay.mixture import Mixture
from tests.memory.examples import random_memory

SIGMA = 5.0  # a single statistic beyond this has a chance of 6e-7
RARE = 1e-6  # the same for chi-square statistics, and for the largest of many scores

Floats = npt.NDArray[np.float64]


def mean_and_covariance(mixture: Mixture) -> tuple[Floats, Floats]:
    """Closed form: Cov = sum_k pi_k (mu_k - m)(mu_k - m)^T + diag(sum_k pi_k mu_k (1 - mu_k))."""
    mu, pi = mixture.prototypes.astype(np.float64), mixture.weights
    mean = pi @ mu
    return mean, (pi[:, None] * (mu - mean)).T @ (mu - mean) + np.diag(pi @ (mu * (1 - mu)))


def assert_close(estimate: Floats, expected: Floats, variance: Floats, n: int) -> None:
    """Averages of n draws of known variance differ from what is expected by chance only, or where nothing varies not
    at all.
    """
    fixed = variance < 1e-12
    np.testing.assert_allclose(estimate[fixed], expected[fixed], atol=1e-12)
    scores = (estimate[~fixed] - expected[~fixed]) / np.sqrt(variance[~fixed] / n)
    assert np.abs(scores).max(initial=0) < stats.norm.isf(RARE / 2 / max(1, len(scores)))


def assert_moments(bits: npt.NDArray[np.float32], mixture: Mixture) -> None:
    """Means and all pairwise covariances of 0/1 rows are those of the mixture."""
    n = len(bits)
    mean, covariance = mean_and_covariance(mixture)
    counts = bits.sum(0, dtype=np.float64)
    assert_close(counts / n, mean, mean * (1 - mean), n)

    i, j = np.triu_indices(len(mean), 1)
    with threadpool_limits(1):  # on busy machines the threads of long thin products wait for each other for seconds
        together = (bits.T @ bits).astype(np.float64)[i, j] / n  # exact: counts below 2^24
    a, b, pairs = mean[i], mean[j], covariance[i, j] + mean[i] * mean[j]
    estimate = together - a * counts[j] / n - b * counts[i] / n + a * b  # mean of (x_i - a)(x_j - b)
    # For bits, (x - a)^2 = (1 - 2a) x + a^2, which gives the variance of that product exactly.
    square = (1 - 2 * a) * (1 - 2 * b) * pairs + (1 - 2 * a) * a * b**2 + a**2 * (1 - 2 * b) * b + a**2 * b**2
    assert_close(estimate, covariance[i, j], square - covariance[i, j] ** 2, n)


def spread_memory(bits: int, n_features: int, n_prototypes: int = 3) -> BinaryMemory:
    """One class whose prototypes are far apart, so that its bits are strongly correlated; some bits never vary."""
    rng = np.random.default_rng(bits)
    prototypes = rng.uniform(0.05, 0.95, (n_prototypes, n_features))
    prototypes[:, 0], prototypes[:, 1] = 0, 1
    prototypes[0, 2], prototypes[1, 2] = 0, 1
    memory = BinaryMemory(bits)
    memory.add("cup", Mixture(prototypes.astype(np.float32), np.array([0.5, 0.3, 0.2])[:n_prototypes], 40))
    return memory


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8, 16, 32])
def test_means_and_correlations_are_those_of_the_mixture(bits: int) -> None:
    memory = spread_memory(bits, 70)
    drawn, _ = memory.sample(100_000, generator=bits, output="float32")
    assert_moments(drawn, memory.mixture("cup"))


@pytest.mark.parametrize("n_features", [1, 3, 8, 63, 64, 65, 511, 512, 513])
def test_every_width_is_drawn_right(n_features: int) -> None:
    memory = BinaryMemory(3)
    prototypes = np.random.default_rng(n_features).uniform(0.1, 0.9, (2, n_features)).astype(np.float32)
    memory.add("cup", Mixture(prototypes, np.array([0.6, 0.4]), 40))
    drawn, _ = memory.sample(5000, generator=1)
    assert drawn.shape == (5000, n_features)
    mean, _ = mean_and_covariance(memory.mixture("cup"))
    assert_close(drawn.mean(0), mean, mean * (1 - mean), 5000)


def test_bits_of_different_blocks_are_drawn_right_together() -> None:
    """1100 bits are two blocks of 512 and a part of one."""
    memory = BinaryMemory(3)
    prototypes = np.random.default_rng(0).uniform(0.2, 0.8, (2, 1100)).astype(np.float32)
    memory.add("cup", Mixture(prototypes, np.array([0.6, 0.4]), 40))
    drawn, _ = memory.sample(10_000, generator=3, output="float32")
    assert_moments(drawn, memory.mixture("cup"))


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8])
def test_draws_follow_code_over_levels_and_not_over_powers_of_two(bits: int) -> None:
    """One column per code: at q = 2 these are drawn with 0, 1/3, 2/3, 1, and not with 0, 1/4, 1/2, 3/4."""
    codes, n = np.arange(2**bits), 200_000
    stored, mistaken = codes / (2**bits - 1), codes / 2**bits
    memory = BinaryMemory(bits)
    memory.add("cup", Mixture(stored[None].astype(np.float32), np.ones(1), 5))
    drawn, _ = memory.sample(n, generator=0)
    means = drawn.mean(0)
    assert_close(means, stored, stored * (1 - stored), n)
    # All columns together can tell the two apart even at q = 8, where each alone could not.
    deviation = np.sqrt((mistaken * (1 - mistaken)).sum() / n)
    assert abs(means.sum() - stored.sum()) < SIGMA * deviation
    assert abs(means.sum() - mistaken.sum()) > 20 * deviation


def test_probabilities_of_16_bits_are_not_coarser_when_drawn() -> None:
    """A byte per bit would draw all of these with 0: 2^-16 and 2^-12 are seen, and told apart, in 2^22 draws each."""
    rare = np.repeat([1 / 65535, 16 / 65535], 64)
    for bits in (16, 32):
        memory = BinaryMemory(bits)
        memory.add("cup", Mixture(rare[None].astype(np.float32), np.ones(1), 5))
        drawn, _ = memory.sample(2**16, generator=0)
        counts = drawn.sum(0).reshape(2, 64).sum(1)
        expected = 2**22 * np.array([1, 16]) / 65535
        assert np.abs((counts - expected) / np.sqrt(expected)).max() < SIGMA


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8, 16, 32])
def test_zero_and_one_never_flip_in_a_million_draws(bits: int) -> None:
    rng = np.random.default_rng(bits)
    kind = rng.integers(0, 3, 130)  # always 0, always 1, or something between
    prototypes = np.where(kind == 2, rng.random((2, 130)), kind).astype(np.float32)
    memory = BinaryMemory(bits)
    memory.add("cup", Mixture(prototypes, np.array([0.5, 0.5]), 5))
    drawn, _ = memory.sample(1_000_000, generator=bits, output="packed")
    words = drawn.data.view(np.uint64)
    ever = np.unpackbits(np.bitwise_or.reduce(words)[None].view(np.uint8), count=130, bitorder="little")
    always = np.unpackbits(np.bitwise_and.reduce(words)[None].view(np.uint8), count=130, bitorder="little")
    assert not ever[kind == 0].any()
    assert always[kind == 1].all()
    stored = memory.mixture("cup").prototypes
    varying = (stored.min(0) < 1) & (stored.max(0) > 0)
    np.testing.assert_array_equal(ever & ~always & 1, varying)


# Shares of the prototypes in each class: some have one, some equal ones, some very unequal ones.
SHARES: dict[Label, list[float]] = {"a": [1.0], "b": [0.25] * 4, "c": [0.9, 0.1], "d": [0.1, 0.2, 0.7]}
CLASS_OF_PROTOTYPE = np.array(list("abbbbccddd"))


def certain_memory(counts: dict[Label, int]) -> BinaryMemory:
    """Prototypes that are all different words of certain bits, so that every row shows where it is from."""
    memory = BinaryMemory(2)
    first = 0
    for label, shares in SHARES.items():
        numbers = np.arange(first, first + len(shares))
        prototypes = (numbers[:, None] >> np.arange(4) & 1).astype(np.float32)
        memory.add(label, Mixture(prototypes, np.array(shares), counts[label]))
        first += len(shares)
    return memory


def prototype_numbers(bits: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    return np.asarray(bits.astype(np.int64) @ (1 << np.arange(4)))


COUNTS: dict[Label, int] = {"a": 10, "b": 1000, "c": 200, "d": 190}


@pytest.mark.parametrize("prior", ["balanced", "empirical"])
@pytest.mark.parametrize("chosen", [None, ["d", "b"], ["c", "a", "b"]], ids=str)
def test_classes_and_prototypes_are_drawn_by_their_chances(chosen: list[Label] | None, prior: str) -> None:
    n = 50_000
    bits, labels = certain_memory(COUNTS).sample(n, chosen, generator=0, prior=prior)  # type: ignore[arg-type]
    classes = {label: 1 if prior == "balanced" else COUNTS[label] for label in chosen or COUNTS}
    chances = [classes.get(label, 0) / sum(classes.values()) * share for label in SHARES for share in SHARES[label]]
    possible = np.array(chances) > 0
    numbers = prototype_numbers(bits)
    drawn = np.bincount(numbers, minlength=10)
    assert not drawn[~possible].any()
    assert stats.chisquare(drawn[possible], n * np.array(chances)[possible]).pvalue > RARE
    np.testing.assert_array_equal(CLASS_OF_PROTOTYPE[numbers], labels)  # the label is that of the bits


def test_the_priors_differ_where_the_counts_do() -> None:
    memory = certain_memory(COUNTS)
    balanced, empirical = (memory.sample(2000, generator=0, prior=p)[1] for p in ("balanced", "empirical"))
    assert (balanced == "a").sum() > 400
    assert (empirical == "a").sum() < 60


def test_draw_gives_floats_and_positions() -> None:
    memory = certain_memory(COUNTS)
    bits, positions = memory.draw(5000, ("c", "a"), 0)
    assert bits.dtype == np.float32
    assert set(positions.tolist()) == {0, 2}
    from_class = CLASS_OF_PROTOTYPE[prototype_numbers(bits.astype(np.uint8))]
    assert from_class.tolist() == [memory.labels[p] for p in positions]
    assert set(memory.sample(100, iter(["c"]), generator=0)[1]) == {"c"}


def test_mixed_kinds_of_labels_come_back_as_they_are() -> None:
    memory = random_memory(2, 20, {"cup": 1, 3: 2, 2.5: 1})
    _, labels = memory.sample(300, generator=0)
    assert {(label, type(label)) for label in labels.tolist()} == {("cup", str), (3, int), (2.5, float)}
    _, numbers = memory.sample(10, [3], generator=0)
    assert numbers.tolist() == [3] * 10


def test_a_single_row_and_a_numpy_number_of_rows() -> None:
    memory = random_memory(2, 20, {"cup": 1})
    assert memory.sample(1, generator=0)[0].shape == (1, 20)
    packed, _ = memory.sample(np.int64(3), generator=0, output="packed")  # type: ignore[arg-type]
    assert isinstance(packed, PackedBits)
    assert packed.shape == (3, 20)


def test_stored_codes_alone_decide() -> None:
    """A memory of values that are rounded to the same codes draws the same rows."""
    prototypes = np.random.default_rng(0).random((2, 40)).astype(np.float32)
    memories = []
    for values in (prototypes, np.rint(prototypes * 7) / 7):
        assert encode(values, 3).tobytes() == encode(prototypes, 3).tobytes()
        memory = BinaryMemory(3)
        memory.add("cup", Mixture(values.astype(np.float32), np.array([0.5, 0.5]), 5))
        memories.append(memory)
    first, second = (memory.sample(100, generator=0)[0] for memory in memories)
    np.testing.assert_array_equal(first, second)


def test_draws_into_a_given_array_are_the_same_draws():
    memory = BinaryMemory(4)
    rng = np.random.default_rng(0)
    memory.add(0, Mixture(rng.random((3, 100), dtype=np.float32), np.full(3, 1 / 3), 50))
    fresh, labels = memory.sample(70, generator=5, output="float32")
    given = np.full((70, 100), np.nan, dtype=np.float32)
    drawn, same_labels = memory.sample(70, generator=5, output="float32", out=given)
    assert drawn is given
    np.testing.assert_array_equal(given, fresh)
    np.testing.assert_array_equal(same_labels, labels)


@pytest.mark.parametrize(
    ("out", "output", "message"),
    [
        (np.empty((5, 99), dtype=np.float32), "float32", r"shape \(5, 100\)"),
        (np.empty((5, 100)), "float32", "float32 array"),
        (np.empty((100, 5), dtype=np.float32).T, "float32", "row by row"),
        (np.frombuffer(bytes(2000), np.float32).reshape(5, 100), "float32", "writable"),
        (np.zeros(2001, np.uint8)[1:].view(np.float32).reshape(5, 100), "float32", "writable"),  # not aligned
        (np.empty((5, 100), dtype=np.float32), "packed", "out needs output"),
        ([0], "float32", "got list"),
    ],
)
def test_refuses_an_array_that_does_not_fit(out, output, message):
    memory = BinaryMemory(4)
    memory.add(0, Mixture(np.full((1, 100), 0.5, dtype=np.float32), np.ones(1), 50))
    with pytest.raises(InputError, match=message):
        memory.sample(5, generator=0, output=output, out=out)


@pytest.mark.parametrize(
    ("classes", "words"), [("cup", "list of labels"), (3, "list of labels"), ([["cup"]], "a class label must be")]
)
def test_what_is_no_list_of_labels_is_refused(classes: object, words: str) -> None:
    memory = random_memory(3, 8, {"cup": 1, "c": 1, "u": 1, "p": 1})
    with pytest.raises(InputError, match=words):
        memory.sample(5, classes)  # type: ignore[arg-type]


def test_what_is_prepared_for_draws_is_neither_stale_nor_kept_without_bound() -> None:
    memory = random_memory(3, 8, {"cup": 1, "mug": 1, **dict.fromkeys(range(20), 1)})
    for place in range(20):
        memory.sample(1, [place], generator=0)
    before = memory._drawers
    assert before is not None
    assert len(before._ready) <= MOST_DRAWERS
    memory.remove("cup")
    assert memory._drawers is None
    memory._drawers = before  # by a thread that began to draw before the change
    assert "cup" not in memory.sample(500, generator=0)[1].tolist()
