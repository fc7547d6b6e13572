"""Heads that go on learning: temperature and numbers follow the scale of their scores; answers stay the same."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bitreplay.gbm._drift import followed
from bitreplay.gbm._looks import SURER
from bitreplay.gbm._novelty import doubts
from bitreplay.heads import Head
from tests.gbm.test_novelty import drawn, empty, world


@dataclass
class Louder:
    """A head that says the same as another one, only louder."""

    head: Head
    factor: float

    def scores(self, bits):
        return self.factor * self.head.scores(bits)


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


def test_limits_by_probability_move_faster_for_heads_that_go_on_learning():
    rates = world(12, seed=1)
    state = empty().learned(drawn(rates, 100, 1))
    own, held = drawn(rates, 100, 1), drawn(rates, 40, 2)
    still = state.looks.shown(held, own).growth
    trained = replace(state, head=Louder(state.head, 1.0)).looks.shown(held, own).growth
    assert still is not None
    np.testing.assert_array_equal(trained[0], still[0])
    np.testing.assert_allclose(trained[1], SURER * still[1], rtol=1e-6)
