"""Heads that go on learning: temperature and numbers follow the scale of their scores; answers stay the same."""

from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import pytest

from bitreplay.bits import concatenate
from bitreplay.gbm import _novelty
from bitreplay.gbm._drift import DRAWN, FASTEST, followed, rehearsed, spread
from bitreplay.gbm._familiar import Familiar
from bitreplay.gbm._growth import Scored, growth_of
from bitreplay.gbm._novelty import doubts
from bitreplay.heads import Head, fit_temperature
from tests.gbm.test_novelty import drawn, empty, world


@dataclass
class Louder:
    """A head that says the same as another one, only louder."""

    head: Head
    factor: float

    def scores(self, bits):
        return self.factor * self.head.scores(bits)


@dataclass
class Learning(Louder):
    """A head that further training makes louder: to pseudo-exemplars, and by a power of that to other samples."""

    pace: float
    trained: bool = False

    def update(self, memory, binarizer, samples, seed):
        assert not samples, "there are none to rehearse with but those of the memory"
        return replace(self, trained=True)

    def scores(self, bits):
        power = 0 if not self.trained else 1 if len(bits) == DRAWN else self.pace
        return self.factor**power * self.head.scores(bits)


class Refitted(Louder):
    """A head that is twice as loud when it is fitted again."""

    def fit(self, memory, binarizer, seed):
        return replace(self, factor=2 * self.factor)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_nothing_looks_different_to_a_head_that_is_only_surer(factor):
    rates = world(6, seed=1)
    state = empty().learned(drawn(rates, 100, 1))
    before = replace(state, head=Louder(state.head, 1.0))
    after = followed(before, replace(state, head=Louder(state.head, factor)))
    assert after.temperature == pytest.approx(factor * state.temperature)
    bits = drawn(rates, 30, 2)[3]
    novelties = after.looks.novelties(bits, after.scores(bits))
    np.testing.assert_allclose(novelties, before.looks.novelties(bits, before.scores(bits)), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(
        doubts(after.scores(bits), after.temperature), doubts(before.scores(bits), before.temperature), atol=1e-6
    )


def test_heads_of_the_memory_alone_do_not_drift_and_a_new_temperature_is_not_moved():
    state = empty().learned(drawn(world(6), 100, 1))
    assert followed(state, state) is state
    before = replace(state, head=Louder(state.head, 1.0), temperature=None)
    after = followed(before, replace(state, head=Louder(state.head, 2.0)))
    assert after.temperature == state.temperature, "it was fitted to scores of the new head"


@pytest.mark.parametrize(
    ("factor", "pace", "found"), [(1.5, 1.7, 1.7), (1.5, 0.3, 1.0), (1.5, 9.0, FASTEST), (1.001, 1.7, 1.0)]
)
def test_the_pace_of_the_temperature_is_that_of_a_rehearsal(factor, pace, found):
    rates = world(6, seed=1)
    state = empty().learned(drawn(rates, 100, 1))
    held = drawn(rates, 40, 2)
    bits, targets = concatenate(list(held.values())), np.repeat(np.arange(6), 40)
    state = replace(state, temperature=fit_temperature(state.scores(bits), targets))
    assert rehearsed(state, bits, targets, 0) == 1.0, "a head of the memory alone does not drift"
    learning = replace(state, head=Learning(state.head, factor, pace))
    assert rehearsed(learning, bits, targets, 0) == pytest.approx(found, rel=1e-3)


@pytest.mark.parametrize("n_classes", [2, 6])
def test_a_temperature_keeps_its_pace(n_classes):
    state = empty().learned(drawn(world(n_classes, seed=1), 100, 1))
    before = replace(state, head=Louder(state.head, 1.0), familiar=replace(state.familiar, pace=1.5))
    after = followed(before, replace(before, head=Louder(state.head, 2.0)))
    assert after.temperature == pytest.approx(2.0**1.5 * state.temperature)


def test_a_head_that_says_nothing_has_no_scale():
    state = empty().learned(drawn(world(6), 100, 1))
    silent = Louder(state.head, 0.0)
    for before, after in ((silent, state.head), (state.head, silent)):
        assert spread(before, after, state.memory, state.labels) == 1.0
    low, higher = (Louder(state.head, factor) for factor in (1e-4, 2e-4))  # but whoever says little has one
    assert spread(low, higher, state.memory, state.labels) == pytest.approx(2.0)


@pytest.mark.parametrize("calibrate", [True, False])
def test_only_what_calibrates_itself_follows_a_head_that_was_fitted_again(calibrate):
    state = empty().learned(drawn(world(6), 100, 1))
    state = replace(state, head=Refitted(state.head, 1.0), options=replace(state.options, calibrate=calibrate))
    after = state.with_memory(state.memory)
    assert after.temperature == pytest.approx((2 if calibrate else 1) * state.temperature)


def test_the_pace_of_a_rehearsal_is_kept_with_the_temperature(monkeypatch):
    monkeypatch.setattr("bitreplay.gbm._choice.rehearsed", lambda state, bits, targets, seed: 2 * state.temperature)
    state = empty().learned(drawn(world(6), 100, 1))
    assert state.temperature is not None
    assert state.familiar.pace == 2 * state.temperature


def test_a_calibration_forgets_what_was_seen_before():
    rates = world(6)
    state = empty().learned(drawn(rates, 100, 1))
    once = state.calibrated(drawn(rates, 60, 2))
    assert once.familiar.n_held == 360
    np.testing.assert_array_equal(once.calibrated(drawn(rates, 60, 2)).familiar.quantiles, once.familiar.quantiles)
    few = once.calibrated(drawn(rates, 1, 3))  # too few to say how new they look: what is known stays
    np.testing.assert_array_equal(few.familiar.quantiles, once.familiar.quantiles)


def test_a_file_keeps_the_pace_and_one_of_before_has_one_of_1():
    familiar = Familiar(pace=1.5, numbers={"cup": (4.0, 0.0, -3.0, 0.0)})  # all samples alike
    content, tensors = familiar.to_content(("cup",))
    assert Familiar.from_content(content, tensors, ("cup",)) == familiar
    del content["pace"]
    assert Familiar.from_content(content, tensors, ("cup",)).pace == 1.0


def test_that_density_counts_more_with_half_of_the_classes_is_no_growth():
    rates = world(12, seed=1)
    state = empty().learned(drawn(rates, 100, 1))
    own, held = drawn(rates, 100, 1), drawn(rates, 40, 2)
    growth = state.looks.shown(held, own).growth
    assert growth is not None
    assert _novelty.density_weight(6) > _novelty.density_weight(12)
    with mock.patch.object(_novelty, "density_weight", return_value=_novelty.density_weight(12)):
        np.testing.assert_array_equal(state.looks.shown(held, own).growth, growth)


@pytest.mark.parametrize(("n_classes", "n_samples", "enough"), [(10, 400, True), (9, 400, False), (10, 399, False)])
def test_growth_is_measured_from_ten_classes_and_four_hundred_samples_on(n_classes, n_samples, enough):
    rng = np.random.default_rng(0)
    classes = np.arange(n_samples) % n_classes
    scores = rng.normal(size=(n_samples, n_classes)) + 3 * (classes[:, None] == np.arange(n_classes))
    scored = Scored(scores, None, classes)
    growth = growth_of(scored, scored, np.full(n_classes, n_samples // n_classes), None)
    assert (growth is not None) == enough


def test_evidence_among_some_classes_is_that_of_their_scores_and_densities():
    scores, densities = np.random.default_rng(0).normal(size=(2, 6, 5))
    columns, rows = np.array([0, 2, 3]), np.arange(6) % 2 == 0
    some, found = Scored(scores, densities, np.zeros(6, np.intp)).among(columns, rows)
    np.testing.assert_array_equal(some, scores[rows][:, columns])
    np.testing.assert_array_equal(found, _novelty.evidence(some, densities[rows][:, columns]))
    assert found[:, 1].all()


def test_growth_once_measured_is_kept_by_calls_that_cannot_measure_it():
    looks = np.random.default_rng(0).normal(size=(3, 2, 500))
    growth = np.full((2, 101), 0.25)
    first = Familiar().with_held_out(*looks[0], n_classes=10, growth=growth)
    assert first.growth is growth
    np.testing.assert_allclose(first._single(20), first.quantiles[:2] + growth)  # twice as many classes
    assert first.with_held_out(*looks[1], n_classes=11).growth is growth
    assert first.with_held_out(*looks[2], n_classes=11, growth=2 * growth).growth is not growth
