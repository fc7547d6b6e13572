"""Verdicts: how large the errors are, what counts as noise, and what many claims at once cost."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.evaluation import History
from bitreplay.experiments._difference import Difference, difference, difference_of, mean_difference
from bitreplay.experiments._verdict import Verdict, all_hold, holm
from tests.experiments.histories import method

CLASSES, SAMPLES = 5, 80  # and test samples of each


def answered(right: np.ndarray) -> History:
    """One state in which samples (classes, samples) were answered right or wrong."""
    counts = right.sum(1)
    table = np.diag(counts)
    table[np.arange(CLASSES), (np.arange(CLASSES) + 1) % CLASSES] += SAMPLES - counts
    figures = {"memory_bits": 0, "working_set_bits": 0, "seconds": 0}
    return History.empty("x").append(range(CLASSES), table, **figures, answers=right.ravel())


def drawn(rng: np.random.Generator, seeds: int, ability: np.ndarray, advantage: float = 0.0) -> MethodRuns:
    """Runs of a method that answers each test sample right with a probability of the sample's own."""
    histories = [answered(rng.random((CLASSES, SAMPLES)) < ability + advantage) for _ in range(seeds)]
    return MethodRuns("x", tuple(range(seeds)), tuple(histories))


def test_the_error_of_the_test_set_is_that_of_paired_answers():
    rng = np.random.default_rng(0)
    a, b = (rng.random((CLASSES, SAMPLES)) < share for share in (0.8, 0.7))
    found = difference(MethodRuns("a", (0,), (answered(a),)), MethodRuns("b", (0,), (answered(b),)))
    gains = a.astype(float) - b
    assert found.mean == pytest.approx(gains.mean())
    assert found.seeds.error == 0
    # The textbook error of a mean of independent pairs; 20 parts know it to about a sixth of itself.
    assert found.test_error == pytest.approx(gains.std() / np.sqrt(gains.size), rel=0.35)
    assert found.n_parts == 20


def test_answers_that_agree_have_no_error_however_few_they_are():
    right = np.arange(SAMPLES) < 40
    a = np.tile(right, (CLASSES, 1))
    b = a.copy()
    b[:, ::20] = ~b[:, ::20]  # differ in the same way in every part
    found = difference(MethodRuns("a", (0,), (answered(a),)), MethodRuns("b", (0,), (answered(a),)))
    assert (found.mean, found.test_error) == (0, 0)
    assert found.verdict.holds is None


@pytest.mark.parametrize("seeds", [1, 3])
def test_chance_alone_is_seldom_taken_for_a_difference(seeds):
    """New test sets, new seeds, two equal methods: 95 % of the intervals must hold 0, and seeds must not hide that."""
    rng = np.random.default_rng(seeds)
    wrong = 0
    for _ in range(200):
        abilities = (rng.random((2, CLASSES, SAMPLES)) < 0.7) * 0.9  # which samples a method can do is drawn, too
        one, other = (drawn(rng, seeds, ability) for ability in abilities)
        wrong += difference(one, other, metrics.final).verdict.holds is not None
    assert wrong <= 20  # expected 10; more than 20 in one of 500 runs of a right rule


def test_what_is_there_is_found():
    rng = np.random.default_rng(1)
    ability = np.full((CLASSES, SAMPLES), 0.6)
    assert difference(drawn(rng, 3, ability, 0.2), drawn(rng, 3, ability)).verdict.holds is True
    assert difference(drawn(rng, 3, ability), drawn(rng, 3, ability, 0.2)).verdict.holds is False


def test_both_errors_count():
    seeds = np.std([0.010, 0.012, 0.014], ddof=1) / np.sqrt(3)
    found = Difference([0.010, 0.012, 0.014], test_error=0.003)
    assert found.error == pytest.approx(np.hypot(seeds, 0.003))
    by_themselves = [Difference([0.010, 0.012, 0.014]).margin, Difference([0.012], test_error=0.003).margin]
    assert by_themselves == pytest.approx([4.3027 * seeds, 2.0930 * 0.003], rel=1e-4)  # Student's t, 2 and 19 degrees
    assert found.margin == pytest.approx(np.hypot(*by_themselves))
    assert Difference([0.010, 0.012, 0.014], test_error=0.01).verdict.holds is None
    assert Difference([0.010, 0.012, 0.014], test_error=0.0001).verdict.holds is True


@pytest.mark.parametrize(
    ("values", "holds"),
    [
        ([0.004, 0.008, 0.006], True),  # 5.2 standard errors of three seeds, and 95 % are 4.3
        ([0.003, 0.009, 0.006], None),  # 3.5
        ([0.003, 0.009, 0.006] * 2, True),  # 5.5 of six, and 95 % are 2.6
        ([-0.03, -0.028], False),
        ([0.006], None),  # a single number, of which nothing is known
        ([0.0, 0.0], None),
        ([0.004, 0.004], True),  # nothing random, and no test set
    ],
)
def test_seeds_alone_by_students_t(values, holds):
    assert Difference(values).verdict.holds is holds


def test_histories_without_answers_are_taken_for_answers_about_different_samples():
    few, many = (difference(method("a", 0.52, samples=n), method("b", 0.5, samples=n)) for n in (500, 50_000))
    assert few.test_error == pytest.approx(np.sqrt(2 * 0.5 * 0.5 / 1000))
    assert few.verdict.holds is None
    assert many.verdict.holds is True


def test_the_interval_is_shown():
    assert str(Difference([0.010, 0.012, 0.014])) == "+1.2 points (95 %: +0.7 to +1.7)"
    assert str(Difference([0.0010, 0.0012])) == "+0.1 points (95 %: -0.0 to +0.2)".replace("-0.0", "+0.0")
    assert str(Difference([0.00100, 0.00101, 0.00102])) == "+0.10 points (95 %: +0.10 to +0.10)"
    assert str(Difference([-0.0001])) == "+0.0 points"


def test_pairs_of_a_seed_are_averaged_before_they_are_counted():
    """Twelve differences of three seeds are three, as those of a seed share its chance."""
    rng = np.random.default_rng(2)
    ability = np.full((CLASSES, SAMPLES), 0.6)
    one, other = drawn(rng, 3, ability, 0.05), drawn(rng, 3, ability)
    single, pooled = difference(one, other), mean_difference([(one, other)] * 4)
    assert pooled.values == pytest.approx(single.values)
    assert pooled.error == pytest.approx(single.error)


def test_any_statistic_is_thinned_as_a_whole():
    rng = np.random.default_rng(3)
    runs = drawn(rng, 1, np.full((CLASSES, SAMPLES), 0.7))
    found = difference_of(lambda view: [metrics.final(view(history)) for history in runs.histories])
    accuracy = metrics.final(runs.histories[0])
    assert found.test_error == pytest.approx(np.sqrt(accuracy * (1 - accuracy) / (CLASSES * SAMPLES)), rel=0.35)


def test_a_difference_reaches_a_figure_if_it_is_positive_and_not_clearly_smaller():
    assert Difference([0.3, 0.32, 0.31]).reaches(0.33).holds is True
    assert Difference([0.2, 0.22, 0.21]).reaches(0.33).holds is False
    assert Difference([-0.2, 0.9, 0.1]).reaches(0.33).holds is None
    assert Difference([-0.2, -0.22, -0.21]).reaches(0.33).holds is False


def test_at_most_is_surely_below_surely_above_or_unsure():
    assert Difference([0.010, 0.011, 0.012]).at_most(0.02).holds is True
    assert Difference([0.030, 0.031, 0.032]).at_most(0.02).holds is False
    assert Difference([0.010, 0.025, 0.020]).at_most(0.02).holds is None


def test_a_claim_of_parts_fails_with_one_of_them():
    sure, unsure, against = Verdict(True, 0.001), Verdict(True, 0.3), Verdict(False, 0.001)
    assert all_hold([sure, sure]).holds is True
    assert all_hold([sure, unsure]).holds is None
    assert all_hold([unsure, against, sure]).holds is False
    assert all_hold([Verdict(False, 0.03), sure, sure]).holds is None  # one of three is off by 0.03 one time in eleven


def test_holms_correction_whatever_the_order():
    ps = (0.01, 0.04, 0.03, 0.005)
    expected = {0.005: 0.02, 0.01: 0.03, 0.03: 0.06, 0.04: 0.06}  # times 4, 3, 2, 1, and never falling
    for order in permutations(ps):
        found = holm([Verdict(True, p) for p in order])
        assert [verdict.p for verdict in found] == pytest.approx([expected[p] for p in order])
    known = [Verdict.fact(True), Verdict.inconclusive(), Verdict(False, 0.04)]  # two were not tested
    assert [verdict.p for verdict in holm(known)] == [0.0, 1.0, 0.04]
    assert [verdict.p for verdict in holm([Verdict(True, 1.0), Verdict(True, 0.03)])] == [1.0, 0.06]
    assert all_hold([]).holds is None
