"""The noise of training the network again: intervals hold what they should, and chance is seldom taken for a result."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.experiments import _retraining
from bitreplay.experiments._difference import Difference, difference
from bitreplay.experiments._experiment import Claim, Outcome, Table
from bitreplay.experiments._noise import NOTHING, Noise, margin, probability
from bitreplay.experiments._retraining import Spread, retraining
from bitreplay.experiments._verdict import Verdict, all_hold, holm
from tests.experiments.histories import method
from tests.experiments.test_difference import CLASSES, SAMPLES, drawn

MEASURED, PARTS, SEEDS = 5, 20, 3  # networks that the noise was measured with, parts of a test set, seeds of a learner


def once(rng: np.random.Generator, truth: float, network: float, test: float, seed: float) -> Difference:
    """A difference on one network, where all noises are normal and each is known as well as it is in practice."""
    value = truth + rng.normal(0, network) + rng.normal(0, test)
    seeds = value + rng.normal(0, seed, SEEDS)
    known_test = test * np.sqrt(rng.chisquare(PARTS - 1) / (PARTS - 1))
    known_network = np.std(rng.normal(0, network, MEASURED), ddof=1)
    return Difference(seeds.tolist(), known_test, PARTS, Noise(float(known_network), MEASURED - 1))


@pytest.mark.parametrize(
    ("network", "test", "seed"),
    [(0.01, 0.003, 0.002), (0.002, 0.004, 0.001), (0.003, 0.003, 0.005), (0.005, 0.0005, 0.0005)],
)
def test_intervals_hold_the_truth_95_times_of_100(network, test, seed):
    rng = np.random.default_rng(7)
    n, held, wrong = 2000, 0, 0
    for _ in range(n):
        found = once(rng, 0.01, network, test, seed)
        held += abs(found.mean - 0.01) <= found.margin
        wrong += once(rng, 0.0, network, test, seed).verdict.holds is not None
    assert 0.94 <= held / n <= 0.99  # at least 0.95, by the theorem; its own error is 0.005
    assert wrong / n <= 0.06


def test_probabilities_are_those_of_the_interval_that_just_reaches():
    rng = np.random.default_rng(6)
    for _ in range(50):
        noises = [Noise(*pair) for pair in zip(rng.exponential(1, 3), rng.integers(2, 30, 3).tolist(), strict=True)]
        distance = rng.exponential(5)
        assert margin(noises, probability(noises, distance)) == pytest.approx(distance)
    for distance in (1e-17, 1e-13, 1e-9, 1e-5, 1e-2):  # such as the rounding of two equal means
        for noises in ([Noise(2e-5, 23), Noise(0.5, 2)], [Noise(0.4, 1), Noise(8e-5, 23), Noise(0.2, 1)]):
            assert probability(noises, distance) == pytest.approx(1.0, abs=0.03)
    assert probability([Noise(1.0, 2)], 4.302653) == pytest.approx(0.05)  # by itself, Student's t
    assert probability([Noise(0.1, 30), Noise(0.1, 40)], 1000.0) < 1e-60


def test_without_the_noise_of_the_network_chance_passes_for_a_result():
    rng = np.random.default_rng(8)
    wrong = 0
    for _ in range(500):
        found = once(rng, 0.0, 0.01, 0.003, 0.002)
        wrong += Difference(found.values, found.test_error, PARTS).verdict.holds is not None
    assert wrong > 200


def test_ten_claims_together_are_seldom_wrong_once():
    rng = np.random.default_rng(9)
    wrong = 0
    for _ in range(400):
        verdicts = holm([once(rng, 0.0, 0.004, 0.003, 0.002).verdict for _ in range(10)])
        wrong += any(verdict.holds is not None for verdict in verdicts)
    assert wrong <= 32  # expected 20 at most; more than 32 in one of 200 runs of a right rule


@pytest.mark.parametrize("networks", ["same", "different"])
def test_two_equal_methods_on_networks_that_differ(networks, monkeypatch):
    """From answers to verdicts: abilities depend on the network, and the methods on one network share most of that."""
    apart, own = 0.03, 0.015
    monkeypatch.setitem(_retraining.SPREADS, "average", Spread(np.hypot(apart, own), np.sqrt(2) * own, 1000, 1000))
    rng = np.random.default_rng(10)
    wrong = 0
    for _ in range(80):
        ability = 0.2 + 0.6 * rng.random((CLASSES, SAMPLES))
        shared = rng.normal(0, apart)
        shifts = [(shared if networks == "same" else rng.normal(0, apart)) + rng.normal(0, own) for _ in range(2)]
        one, other = (drawn(rng, 2, ability, shift) for shift in shifts)
        wrong += difference(one, other, networks=networks).verdict.holds is not None
    assert wrong <= 10  # expected 4 at most; more than 10 in one of 500 runs of a right rule


@pytest.fixture
def spreads(monkeypatch):
    monkeypatch.setitem(_retraining.SPREADS, "average", Spread(0.01, 0.002, 3, 12))
    monkeypatch.setitem(_retraining.SPREADS, "final", Spread(0.02, 0.004, 3, 12))
    monkeypatch.setattr(_retraining, "RETRAINED", {"average": Noise(0.009, 20)})
    monkeypatch.setattr(_retraining, "UNSTEADY", {"IL2A": {"average": Noise(0.03, 2)}})


def test_which_noise_counts(spreads):
    runs = [History.empty("x")]
    assert retraining(runs) == Noise(0.002, 12)
    assert retraining(runs, "one side", "final") == Noise(0.02, 3)
    assert retraining(runs, "different").error == pytest.approx(np.sqrt(2) * 0.01)
    assert retraining(runs, "trained") == pytest.approx(Noise(np.sqrt(2) * 0.009, 20))
    assert retraining(runs, "mixed") == pytest.approx(Noise(np.hypot(0.009, 0.01), 3))
    assert retraining(runs, "trained", "final") == retraining(runs, "different", "final")  # nothing else is known
    unsteady = [*runs, History.empty("IL2A")]
    assert retraining(unsteady, "trained") == pytest.approx(Noise(np.hypot(0.03, 0.009), 2))
    assert retraining(unsteady, "mixed") == pytest.approx(Noise(np.hypot(0.03, 0.01), 2))
    assert retraining(unsteady, "mixed", "final") == retraining(runs, "mixed", "final")
    given = History.empty("x", {"pretrained": "ImageNet"})
    assert retraining([given, given], "different") == NOTHING
    assert retraining([given, *runs]).error == 0.002


def test_a_difference_says_what_it_allows_for(spreads):
    one, other = method("a", 0.60, 0.62), method("b", 0.5, 0.5)
    found = difference(one, other)
    assert tuple(found.noises) == ("seeds", "test samples", "network")
    assert found.network.error == 0.002
    assert difference(one, other, metrics.final, "different").network.error == pytest.approx(np.sqrt(2) * 0.02)
    assert found.verdict.noises == ("seeds", "test samples", "network")
    assert (-found).verdict.noises == found.verdict.noises
    both = all_hold([Verdict(True, 0.01, noises=("seeds",)), Verdict(True, 0.02, noises=("network", "seeds"))])
    assert both.noises == ("seeds", "network")
    claims = [Claim("a is better", str(found), found.verdict), Claim("again", str(found), found.verdict)]
    kept = Outcome([Table("t", "", ["x"], [[1]])], claims=claims).claims[0].verdict
    assert kept.noises == found.verdict.noises
    assert kept.p == pytest.approx(2 * found.verdict.p)


@pytest.mark.parametrize(("times", "least"), [(0.5, 0.95), (1.0, 0.94), (3.0, 0.82)])
def test_two_seeds_and_what_is_known_of_their_spread(times, least):
    """Intervals hold the truth where seeds spread as expected; where they spread three times as much, less often."""
    rng = np.random.default_rng(11)
    n, held, widths = 3000, 0, []
    for _ in range(n):
        known = np.sqrt(rng.chisquare(23) / 23)
        found = Difference(rng.normal(0, times, 2).tolist(), expected=Noise(float(known), 23))
        held += abs(found.mean) <= found.margin
        widths.append(found.margin)
    assert held / n >= least - 0.01
    assert np.median(widths) < 12.7 * times / np.sqrt(2) / 3 or times > 1  # what two seeds alone would allow for


def test_networks_of_every_seed_are_noise_of_the_seeds(spreads):
    one, other = method("a", 0.60, 0.62), method("b", 0.5, 0.5)
    found = difference(one, other, networks="trained", by_seed=True)
    assert "network" not in found.noises
    assert found.seeds.degrees == 1 + 20
    assert found.seeds.error == pytest.approx(np.sqrt((0.02**2 / 2 + 20 * 2 * 0.009**2) / 21 / 2))
    assert (
        difference(one, other, networks="same", by_seed=True).seeds.degrees == 1
    )  # 0.02 apart, where 0.002 is expected


def test_differences_of_differences_keep_their_noises():
    one = Difference([0.05], 0.003, 20, Noise(0.004, 3))
    other = Difference([0.02], 0.004, 20, Noise(0.003, 3))
    found = one.minus(other)
    assert found.mean == pytest.approx(0.03)
    assert found.noises["test samples"].error == pytest.approx(0.005)
    assert found.noises["network"] == pytest.approx((0.005, 3))
    classes = Difference([3.0, 3.2, 3.1], over="classes").minus(Difference([2.0, 2.2, 2.1], over="classes"))
    assert tuple(classes.noises) == ("classes",)
    assert classes.noises["classes"].degrees == 2


def test_every_kind_was_measured():
    assert all(spread.apart > 0 and spread.paired > 0 for spread in ORIGINAL.values())
    assert ORIGINAL["average"].paired < np.sqrt(2) * ORIGINAL["average"].apart  # what pairing is for


ORIGINAL = dict(_retraining.SPREADS)


def test_correlated_differences_count_as_fewer():
    """Box's degrees of freedom: all of them for independent methods, one for each network where two are compared."""
    script = Path(__file__).parents[2] / "benchmarks" / "retraining.py"
    if not script.exists():
        pytest.skip("the benchmarks are not part of what is installed")
    specification = importlib.util.spec_from_file_location("retraining_script", script)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    values = np.random.default_rng(0).normal(size=(6, 4000))
    assert module.degrees(list(values)) == pytest.approx(5 * 3999, rel=0.01)
    assert module.degrees([values[0], values[1]]) == pytest.approx(3999)
    assert module.degrees([values[0], *[values[1]] * 5]) == pytest.approx(3999)
