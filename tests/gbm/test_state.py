"""The core: one state after another, the same from the same seed, and what is decided on held-out samples."""

import dataclasses
import itertools

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, concatenate, pack
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.gbm._choice import ENOUGH, choose_options
from bitreplay.gbm._held_out import split
from bitreplay.heads import Bayes, ClosedForm, fit_temperature, held_out_loss, waits

D = 40


def samples(labels, n=60, seed=0):
    layout, rng = np.random.default_rng(1), np.random.default_rng(seed)
    rates = {label: layout.beta(0.6, 0.6, D) for label in "abcdef"}
    return {label: pack(rng.random((n, D)) < 0.25 + 0.5 * rates[label]) for label in labels}


def empty(seed=0, **options):
    return GBMState.empty(GBMOptions(prototypes=2, **options), Identity(), Fingerprint(D), seed)


def accuracy(state, tested):
    answers = [np.array(state.labels)[state.scores(bits).argmax(1)] == label for label, bits in tested.items()]
    return np.concatenate(answers).mean()


def test_classes_are_learned_call_after_call_and_earlier_states_stay_as_they_were():
    first = empty().learned(samples("abc"))
    before = first.scores(samples("abc", seed=1)["a"])
    second = first.learned(samples("de"))
    assert first.labels == ("a", "b", "c")
    assert second.labels == (*"abcde",)
    assert np.array_equal(first.scores(samples("abc", seed=1)["a"]), before)
    assert accuracy(second, samples("abcde", n=300, seed=1)) > 0.75
    with pytest.raises(dataclasses.FrozenInstanceError):
        second.calls = 7


def test_the_seed_and_nothing_else_decides():
    def learned(seed):
        return empty(seed).learned(samples("abc")).learned(samples("d"))

    one, two, other = learned(3), learned(3), learned(4)
    for label in "abcd":
        assert np.array_equal(one.memory.mixture(label).prototypes, two.memory.mixture(label).prototypes)
    assert any(not np.array_equal(one.memory.mixture(c).prototypes, other.memory.mixture(c).prototypes) for c in "abcd")


def test_every_call_is_counted_and_has_seeds_of_its_own():
    state = empty().learned(samples("abc"))
    more = samples("a", n=30, seed=2)
    later = state.without("c").learned(more)
    assert [empty().calls, state.calls, later.calls] == [0, 1, 3]
    other = dataclasses.replace(state.without("c"), calls=1).learned(more)  # as if forgetting were no call
    assert not np.array_equal(later.memory.mixture("a").prototypes, other.memory.mixture("a").prototypes)


def test_more_samples_of_a_known_class_count_with_those_before():
    state = empty().learned(samples("ab")).learned(samples("a", n=30, seed=2))
    assert state.memory.count("a") == 90
    assert state.labels == ("a", "b")


def test_a_class_that_is_forgotten_leaves_the_state_of_a_memory_without_it():
    state = empty().learned(samples("abc"))
    rest = state.without("b")
    assert rest.labels == ("a", "c")
    memory = state.memory.copy()
    memory.remove("b")
    again = ClosedForm(*rest.head.describe()[0].values()).fit(memory, Identity(), 0)
    bits = samples("ac", seed=1)["c"]
    assert np.allclose(rest.scores(bits), again.scores(bits))
    with pytest.raises(InputError, match="only one"):
        empty().learned(samples("a")).without("a")


# ---------------------------------------------------------------------- what is decided


def test_a_fifth_of_every_class_is_set_aside_and_nothing_is_lost():
    whole = {**samples("ab", n=53), **samples("c", n=4)}
    parts = split(whole, seed=0)
    assert {label: len(bits) for label, bits in parts.held.items()} == {"a": 10, "b": 10, "c": 0}
    for label, bits in whole.items():
        both = concatenate([parts.kept[label], parts.held[label]])
        assert sorted(row.tobytes() for row in both.data) == sorted(row.tobytes() for row in bits.data)


@pytest.mark.parametrize("head", [ClosedForm(), Bayes(), ClosedForm(ridge=0.07)])
def test_open_options_make_held_out_samples_likeliest(head):
    """Chosen by hand: mixtures of four fifths, and every option in turn with the one that was best before it."""
    given = samples("abcd", n=100)
    state = empty(head=head).learned(given)
    parts = split(given, 0)
    memory, _ = empty(head=head)._remembered(parts.kept)
    held = concatenate(list(parts.held.values()))
    targets = np.repeat(np.arange(4), [len(bits) for bits in parts.held.values()])

    def loss(**options):
        scores = head.decided(**options).fit(memory, Identity(), 0).scores(held)
        return held_out_loss(scores, targets, fit_temperature(scores, targets))

    chosen = {name: values[len(values) // 2] for name, values in head.open_options().items()}
    assert chosen
    for name, values in head.open_options().items():
        chosen[name] = min(values, key=lambda value, name=name: loss(**{**chosen, name: value}))
    found = state.head.describe()[0]
    assert {name: found[name] for name in chosen} == chosen
    assert all(loss(**chosen) <= loss(**{**chosen, name: v}) for name, vs in head.open_options().items() for v in vs)


def test_choosing_reads_every_option_once():
    """It costs one fit of the mixtures, and a solution per value."""
    tried = []

    def score(head):
        tried.append((head.blend, head.ridge))
        return np.random.default_rng(len(tried)).random((6, 3))

    choose_options(ClosedForm(), score, np.arange(6) % 3, ClosedForm().open_options())
    assert len(tried) == len(set(tried)) == 5


@pytest.mark.parametrize(("n", "decided"), [(5 * ENOUGH // 2, True), (5 * ENOUGH // 2 - 5, False)])
def test_options_are_decided_by_enough_samples_only(n, decided):
    state = empty().learned(samples("ab", n=n))
    assert (not state.head.open_options()) is decided
    assert accuracy(state, samples("ab", seed=1)) > 0.85


def test_what_a_small_first_call_left_open_is_decided_by_a_later_one():
    state = empty().learned(samples("ab", n=20))
    assert state.head.open_options()
    assert not state.learned(samples("cde", n=100)).head.open_options()


def test_the_temperature_is_that_of_held_out_samples():
    given = samples("abc", n=100)
    state = empty(head=ClosedForm(0.8, 0.05)).learned(given)
    parts = split(given, 0)
    memory, _ = empty()._remembered(parts.kept)
    scores = ClosedForm(0.8, 0.05).fit(memory, Identity(), 0).scores(concatenate(list(parts.held.values())))
    targets = np.repeat(np.arange(3), [len(bits) for bits in parts.held.values()])
    assert state.temperature == pytest.approx(fit_temperature(scores, targets))
    few = empty(head=ClosedForm(0.8, 0.05)).learned(samples("abc", n=4)).temperature
    assert few is not None
    assert few > state.temperature  # of twelve samples, all held out in turn, and doubted
    assert empty(calibrate=False).learned(given).temperature is None


def test_options_out_of_range_are_refused():
    for wrong, words in (
        ({"prototypes": 0}, "prototypes"),
        ({"bits": 17}, "bits"),
        ({"head": "svm"}, "head must be one of"),
        ({"em": 3}, "em must be"),
        ({"n_jobs": 0}, "n_jobs"),
    ):
        with pytest.raises(InputError, match=words):
            GBMOptions(**wrong)


@pytest.mark.parametrize("order", list(itertools.permutations("abc"))[:3])
def test_the_order_of_classes_within_a_call_changes_no_mixture(order):
    """Seeds belong to labels: mixtures do not depend on who was learned beside them."""
    given = samples("abc")
    one, two = (empty(head=ClosedForm(0.8, 0.05)).learned({c: given[c] for c in o}) for o in ("abc", order))
    for label in "abc":
        assert np.array_equal(one.memory.mixture(label).prototypes, two.memory.mixture(label).prototypes)


def test_where_scores_would_be_too_many_rows_are_left_out_evenly(monkeypatch):
    seen = []
    scores = ClosedForm.scores

    def watched(head, bits):
        seen.append(len(bits))
        return scores(head, bits)

    monkeypatch.setattr(ClosedForm, "scores", watched)
    given = samples("abcdef", n=50)  # 60 are held out
    known = {240, 300}  # those that mixtures were fitted to are scored too, to see how they look
    empty().learned(given)
    assert set(seen) - known == {60}
    for most, rows in ((360, 60), (359, 30), (100, 15)):
        monkeypatch.setattr("bitreplay.gbm._choice.MOST_JUDGED", most)
        seen.clear()
        state = empty().learned(given)
        assert set(seen) - known == {rows}
        assert state.temperature is not None
        assert not state.head.open_options()


@pytest.mark.parametrize(("n", "enough"), [(50, True), (49, False)])
def test_a_single_further_class_brings_a_temperature_if_ten_samples_can_be_held_out(n, enough):
    state = empty().learned(samples("a", n=20))
    assert state.temperature is None  # one class is always certain
    assert (state.learned(samples("b", n=n)).temperature is not None) is enough


@pytest.mark.parametrize(("n_rows", "n_jobs", "expected"), [(1, None, 1), (1, 2, 1), (100, None, 1), (100, 2, 2)])
def test_linear_algebra_keeps_to_n_jobs_whatever_the_number_of_rows(monkeypatch, n_rows, n_jobs, expected):
    seen = []
    scores = ClosedForm.scores

    def watched(head, bits):
        seen.extend(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return scores(head, bits)

    state = empty(n_jobs=n_jobs).learned(samples("abc"))
    monkeypatch.setattr(ClosedForm, "scores", watched)
    with threadpool_limits(3):
        state.scores(samples("a")["a"][np.zeros(n_rows, dtype=int)])
    assert set(seen) <= {expected}


def test_of_a_large_memory_two_heads_are_never_there_at_once(monkeypatch):
    first = empty().learned(samples("abc"))
    other = empty().learned(samples("ef")).memory
    bits = samples("a", seed=1)["a"]
    at_once = [first.learned(samples("d")), first.merged(other), first.without("b")]
    monkeypatch.setattr("bitreplay.gbm._state.LARGE", 3 * 2 * D - 1)
    waiting = [first.learned(samples("d")), first.merged(other), first.without("b")]
    assert not any(waits(state.head) for state in at_once)
    assert all(waits(state.head) for state in waiting)
    for one, same in zip(waiting, at_once, strict=True):
        assert np.array_equal(one.scores(bits), same.scores(bits))
    assert "d" not in waiting[0].familiar.numbers  # an average class stands in for it
    assert not waits(empty().learned(samples("abcdef")).head)  # there was none before
