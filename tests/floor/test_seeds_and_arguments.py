"""Seeds depend on what they are for and on nothing else; arguments are refused with the limits that they break."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import check_random_state

from bitreplay._floor.arguments import integer, number, one_of, truth
from bitreplay._floor.options import options_text, parse_options
from bitreplay._floor.seeds import first_draw, mix_seed, seed_for
from bitreplay._floor.threads import n_threads
from bitreplay.errors import InputError


@given(st.integers(0, 2**32 - 1))
def test_the_first_draw_is_scikit_learns(seed):
    assert first_draw(seed) == check_random_state(seed).randint(2**31)


def test_the_first_draw_of_a_random_state_moves_it_on():
    state, twin = np.random.RandomState(3), np.random.RandomState(3)
    assert [first_draw(state), first_draw(state)] == twin.randint(2**31, size=2).tolist()
    with pytest.raises(InputError, match="random_state"):
        first_draw(-1)


@given(st.lists(st.tuples(st.integers(0, 9), st.text(max_size=3), st.integers(0, 9)), unique=True, min_size=2))
def test_seeds_differ_wherever_their_purpose_does(purposes):
    assert len({seed_for(*one) for one in purposes}) == len(purposes)
    assert len({mix_seed(a, c) for a, _, c in purposes}) == len({(a, c) for a, _, c in purposes})


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_an_integer_is_taken_within_its_limits_and_only_there(value, least, most):
    if least <= value <= most:
        assert integer("x", np.int32(value), least, most) == value
    else:
        with pytest.raises(InputError, match=f"x must be an integer from {least} to {most}"):
            integer("x", value, least, most)


@pytest.mark.parametrize("wrong", [True, 1.0, "1", None, np.nan])
def test_what_is_no_integer_is_refused(wrong):
    with pytest.raises(InputError, match="integer"):
        integer("x", wrong)


@pytest.mark.parametrize(
    ("value", "limits", "fits"),
    [
        (0, {"above": 0}, False),
        (0, {"least": 0}, True),
        (1, {"below": 1}, False),
        (1, {"most": 1}, True),
        (np.float32(0.5), {"above": 0, "below": 1}, True),
        (np.inf, {}, False),
        (np.nan, {}, False),
        (True, {}, False),
        ("1", {}, False),
    ],
)
def test_a_number_is_finite_and_within_its_limits(value, limits, fits):
    if fits:
        assert number("x", value, **limits) == value
    else:
        with pytest.raises(InputError, match="x must be a number"):
            number("x", value, **limits)


def test_words_truth_and_threads():
    one_of("x", "a", ("a", "b"))
    for call in (lambda: one_of("x", "c", ("a", "b")), lambda: one_of("x", ["a"], ("a",)), lambda: truth("x", "no")):
        with pytest.raises(InputError, match="x must be"):
            call()
    assert truth("x", np.True_) is True
    assert (n_threads(None), n_threads(2)) == (1, 2)
    assert n_threads(-1) >= 1
    for wrong in (0, 1.5, True, "all"):
        with pytest.raises(InputError, match="n_jobs"):
            n_threads(wrong)


def test_options_that_went_through_json_are_written_alike():
    options = {"blocks": (1, 1, 1, 2), "width": 16, "rate": 0.5, "bias": False, "weights": None, "mode": "fast"}
    for same in (options, json.loads(json.dumps(options))):
        assert parse_options(options_text("resnet18", same)) == ("resnet18", options)
