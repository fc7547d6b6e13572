"""How new samples look: densities and evidence by naive formulas, and the share of known samples that is refused."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, pack
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.gbm._familiar import LEVELS, NEEDED, Familiar, quantiles_of
from bitreplay.gbm._growth import FEWEST_SAMPLES, Scored, growth_of
from bitreplay.gbm._novelty import FADING, MEASURED, OWN_SHARE, Yardstick, density_weight, doubts, rows_measured
from bitreplay.heads import Bayes

D = 60


def world(n_classes: int, seed: int = 0):
    """Rates of the bits of some classes of the same family."""
    rng = np.random.default_rng(seed)
    return {c: 0.15 + 0.7 * (rng.random(D) < 0.5) * rng.random(D) for c in range(n_classes)}


def drawn(rates, n, seed):
    rng = np.random.default_rng(seed)
    return {c: pack(rng.random((n, D)) < p) for c, p in rates.items()}


def empty(**options):
    return GBMState.empty(GBMOptions(prototypes=2, **options), Identity(), Fingerprint(D), 0)


def some(rates, *classes):
    return {c: rates[c] for c in classes}


# ---------------------------------------------------------------------- formulas


def test_densities_of_all_bits_add_up_to_one():
    state = GBMState.empty(GBMOptions(prototypes=2, bits=4), Identity(), Fingerprint(6), 0)
    rng = np.random.default_rng(0)
    state = state.learned({c: pack(rng.random((30, 6)) < rng.random(6)) for c in "abc"})
    every = pack(np.array(list(itertools.product([0, 1], repeat=6))))
    assert np.exp(state.looks.log_densities(every)).sum() == pytest.approx(1)


def test_densities_are_those_of_the_naive_formula():
    state = empty().learned(drawn(world(3), 40, 1))
    bits = drawn(world(3), 5, 2)[0].unpack(np.float64)
    clamp = Bayes().fit(state.memory, Identity(), 0).clamp or 0.08
    total = np.zeros(len(bits))
    for label in state.labels:
        mixture = state.memory.mixture(label)
        for weight, mu in zip(mixture.weights, mixture.prototypes.clip(clamp, 1 - clamp), strict=True):
            total += weight / 3 * np.prod(np.where(bits == 1, mu, 1 - mu), axis=1)
    np.testing.assert_allclose(state.looks.log_densities(pack(bits)), np.log(total), rtol=1e-5)


def test_novelty_is_that_of_the_naive_formula():
    rates = world(4)
    state = empty().learned(drawn(rates, 100, 1)).learned({4: pack(np.random.default_rng(5).random((8, D)) < 0.5)})
    tested = drawn(rates, 10, 2)[1]
    scores = state.scores(tested)
    numbers = state.familiar.numbers
    assert set(numbers) == {0, 1, 2, 3}, "a class of eight samples has none"
    pooled = np.array(list(numbers.values()))
    weight, expected = density_weight(5), []
    counted = tested.unpack().sum(axis=1)
    for row, log_density, n_bits in zip(scores, state.looks.log_densities(tested), counted, strict=True):
        best = int(row.argmax())
        parts = []
        deviation = (sum((one - sum(row) / 5) ** 2 for one in row) / 5) ** 0.5
        relative, density = row[best] - sum(row) / 5 + deviation, log_density + np.log(5) + 0.5 * n_bits
        for value, at in ((relative, 0), (density, 2)):
            mean, spread = pooled[:, at].mean(), np.sqrt((pooled[:, at + 1] ** 2).mean())
            if best in numbers:
                share = OWN_SHARE * 100 / (100 + FADING)
                mean += share * (numbers[best][at] - mean)
                spread += share * (numbers[best][at + 1] - spread)
            parts.append((mean - value) / spread)
        expected.append((parts[0] + weight * parts[1]) / (1 + weight**2) ** 0.5)
    np.testing.assert_allclose(state.looks.novelties(tested, scores), expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 30), st.floats(0.5, 50), st.integers(0, 2**32 - 1))
def test_doubt_is_the_odds_against_an_average_other_class(n_classes, temperature, seed):
    scores = np.random.default_rng(seed).normal(scale=5, size=(7, n_classes))
    highest = np.exp(log_softmax(scores / temperature, axis=1)).max(1)
    odds = (1 - highest) / (n_classes - 1) / highest
    np.testing.assert_allclose(np.exp(doubts(scores, temperature)), odds, rtol=1e-6, atol=1e-12)


def test_doubt_and_novelty_do_not_change_with_what_all_scores_have_in_common():
    state = empty().learned(drawn(world(4), 60, 1))
    tested = drawn(world(4), 20, 2)[0]
    scores = state.scores(tested)
    shifted = scores + np.random.default_rng(0).normal(size=(20, 1)) * 100
    np.testing.assert_allclose(state.looks.novelties(tested, shifted), state.looks.novelties(tested, scores))
    np.testing.assert_allclose(doubts(shifted, 3.0), doubts(scores, 3.0), atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.integers(), st.integers(1, 1000), min_size=1), st.integers(1, 10**6))
def test_never_more_samples_are_looked_at_than_there_are_nor_than_there_is_room_for(counts, n_classes):
    rows = rows_measured(counts, n_classes)
    assert all(MEASURED <= n <= counts[label] for label, n in rows.items())
    assert sum(rows.values()) * n_classes <= 2**23


def test_a_file_of_before_keeps_the_evidence_that_its_numbers_are_of():
    state = empty().learned(drawn(world(4), 60, 1))
    tested = drawn(world(4), 20, 2)[0]
    content, tensors = state.familiar.to_content(state.labels)
    assert Familiar.from_content(content, tensors, state.labels).plain is False
    del content["evidence"]
    before = replace(state, familiar=Familiar.from_content(content, tensors, state.labels))
    assert before.familiar.plain
    assert Familiar.from_content(None, {}, ()).plain is False, "nothing was measured"
    scores, yardstick = state.scores(tested), before.looks._yardstick
    rows = np.stack([scores.max(1) - scores.mean(1), state.looks.log_densities(tested) + np.log(4)], axis=1)
    expected = yardstick.novelty(rows, scores.argmax(1))
    np.testing.assert_allclose(before.looks.novelties(tested, scores), expected, rtol=1e-6)
    again = before.learned(drawn({4: np.full(D, 0.5)}, 60, 3))
    assert again.familiar.plain, "numbers of new classes are of the same kind"


# ---------------------------------------------------------------------- the share that is refused


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 0.5), st.integers(NEEDED, 400), st.integers(0, 2**32 - 1))
def test_quantiles_keep_shares_of_whatever_distribution(share, n, seed):
    """The share of fresh samples refused has the mean `share` and the spread of a share of n: a Beta distribution."""
    rng = np.random.default_rng(seed)
    held, fresh = rng.gamma(2, size=n), rng.gamma(2, size=20_000)
    familiar = Familiar().with_held_out(held, np.zeros(n), 2)
    refused = familiar.refused(fresh, np.zeros(len(fresh)), share, "novelty", 2).mean()
    assert abs(refused - share) < 5 * (share * (1 - share) / (n + 2)) ** 0.5 + 0.01 + 1 / n


def test_later_samples_count_as_many_as_they_are():
    rng = np.random.default_rng(0)
    few = Familiar().with_held_out(rng.normal(0, 1, 100), rng.normal(size=100), 2)
    both = few.with_held_out(rng.normal(10, 1, 300), rng.normal(size=300), 2)
    assert both.n_held == 400
    middle = np.interp(0.25, LEVELS, both.quantiles[0])
    assert 2 < middle < 9, "a quarter is about 0, three quarters are about 10"
    assert few.with_held_out(np.zeros(NEEDED - 1), np.zeros(NEEDED - 1), 2) is few


def test_growth_is_that_of_doubts_when_each_half_of_the_classes_comes_later():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(11), FEWEST_SAMPLES // 10)
    own, held = (rng.normal(size=(len(classes), 11)) + 3 * (classes[:, None] == np.arange(11)) for _ in range(2))
    expected = np.zeros(len(LEVELS))
    for early in (np.arange(11) % 2 == 1, np.arange(11) % 2 == 0):
        before = quantiles_of(doubts(held[early[classes]][:, early], None))
        expected += (quantiles_of(doubts(held, None)) - before) / np.log2(11 / early.sum()) / 2
    growth = growth_of(Scored(own, None, classes), Scored(held, None, classes), np.full(11, 40), None)
    np.testing.assert_allclose(growth[1], expected, rtol=1e-6, atol=1e-6)


def test_the_quantiles_of_n_samples_cut_into_n_plus_1_equal_parts():
    np.testing.assert_allclose(quantiles_of(np.arange(1.0, 100.0))[1:-1], np.arange(1, 100))  # levels are hundredths


@pytest.mark.parametrize("head", ["closed_form", "bayes", "replay"])
@pytest.mark.parametrize("by", ["novelty", "probability", "both"])
def test_the_share_is_kept_while_classes_are_added(head, by):
    if head == "replay" and by != "novelty":
        pytest.skip("slow")
    rates = world(14, seed=3)
    state = empty(head=head).learned(drawn(some(rates, *range(8)), 200, 1))
    assert state.familiar.n_held == 320
    for known in (8, 10, 12):
        if known > 8:
            state = state.learned(drawn(some(rates, known - 2, known - 1), 200, known))
        tested = np.concatenate([bits.unpack() for bits in drawn(some(rates, *range(known)), 200, 99).values()])
        bits = pack(tested)
        refused = state.looks.refused(bits, state.scores(bits), 0.1, by).mean()
        assert 0.04 < refused < 0.18, (known, refused)


def test_strangers_are_refused_far_more_often():
    rates = world(12, seed=4)
    state = empty().learned(drawn(some(rates, *range(8)), 200, 1))
    strange = pack(np.concatenate([bits.unpack() for bits in drawn(some(rates, 8, 9, 10, 11), 100, 5).values()]))
    for by in ("novelty", "probability", "both"):
        assert state.looks.refused(strange, state.scores(strange), 0.05, by).mean() > 0.3, by


def test_a_single_class_is_told_from_others_by_density_alone():
    rates = world(2, seed=3)
    state = empty().learned(drawn(some(rates, 0), 500, 1))
    own, other = drawn(rates, 200, 2).values()
    assert state.looks.refused(own, state.scores(own), 0.05, "novelty").mean() < 0.2
    assert state.looks.refused(other, state.scores(other), 0.05, "novelty").mean() > 0.8


def test_nothing_is_refused_for_a_share_of_zero():
    familiar = Familiar().with_held_out(np.arange(50.0), np.arange(50.0), 2)
    assert not familiar.refused(np.array([1e9]), np.array([1e9]), 0.0, "both", 2).any()


def test_where_nothing_is_known_of_samples_pseudo_exemplars_stand_in():
    rates = world(6, seed=2)
    state = empty(calibrate=False).learned(drawn(rates, 100, 1))
    assert not state.familiar.numbers
    assert not state.familiar.n_held
    tested = drawn(rates, 50, 2)[0]
    assert abs(np.median(state.looks.novelties(tested, state.scores(tested)))) < 1


def test_numbers_of_a_forgotten_class_are_gone():
    state = empty().learned(drawn(world(4), 60, 1))
    assert set(state.without(2).familiar.numbers) == {0, 1, 3}


def test_an_average_class_stands_in_for_one_without_numbers():
    numbers = {"a": (10.0, 1.0, 0.0, 1.0), "b": (30.0, 3.0, 0.0, 1.0)}
    yardstick = Yardstick.of(numbers, {"a": 10**9, "new": 5, "b": 10**9})
    np.testing.assert_allclose(yardstick.means[:, 0], [15, 20, 25], rtol=1e-6)
    np.testing.assert_allclose(yardstick.spreads[1, 0], 5**0.5)
