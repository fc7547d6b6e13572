"""What is decided for classes of few samples, by pretending that some of the first call had few."""

import numpy as np
import pytest

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, concatenate, pack
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.gbm import _choice as choice
from bitreplay.gbm import _update as update_module
from bitreplay.heads import Bayes, ClosedForm

D, CLASSES = 60, 12


def samples(n, n_classes=CLASSES, seed=0, first=0):
    layout, rng = np.random.default_rng(1), np.random.default_rng(seed)
    rates = layout.beta(0.6, 0.6, (30, D))
    return {c: pack(rng.random((n, D)) < 0.25 + 0.5 * rates[c]) for c in range(first, first + n_classes)}


def empty(seed=0, **options):
    return GBMState.empty(GBMOptions(prototypes=2, **options), Identity(), Fingerprint(D), seed)


def test_every_class_has_few_samples_once_a_round_a_quarter_at_a_time_whatever_their_order():
    kept = choice.split(samples(120), 0).kept
    turns = choice.pretend(kept, seed=3)
    assert [len(turn.few) for turn in turns] == [CLASSES // 4] * 8
    for part in (turns[:4], turns[4:]):
        assert sorted(label for turn in part for label in turn.few) == sorted(kept)
    assert all(len(bits) == choice.PRETENDED for turn in turns for bits in turn.few.values())
    again = choice.pretend(dict(reversed(kept.items())), seed=3)
    assert [set(turn.few) for turn in again] == [set(turn.few) for turn in turns]
    assert [set(turn.few) for turn in choice.pretend(kept, seed=4)] != [set(turn.few) for turn in turns]


def test_rounds_pretend_with_other_samples_and_those_that_judge_are_neither():
    numbered = {c: pack((np.arange(60)[:, None] >> np.arange(6)) & 1) for c in range(8)}  # all rows differ
    drawn = {c: [] for c in numbered}
    for turn in choice.pretend(numbered, seed=0):
        assert set(turn.rest) == set(turn.few)
        for label, few in turn.few.items():
            drawn[label] += map(tuple, few.unpack())
    rest = {label: turn.rest[label] for turn in choice.pretend(numbered, seed=0) for label in turn.rest}
    for label, rows in drawn.items():
        assert len(set(rows)) == choice.ROUNDS * choice.PRETENDED
        assert set(rows).isdisjoint(map(tuple, rest[label].unpack()))
        assert len(rest[label]) == 60 - len(rows)


def test_of_very_many_classes_one_quarter_has_its_turn(monkeypatch):
    monkeypatch.setattr(choice, "ALL_TURNS", CLASSES - 1)
    turns = choice.pretend(samples(20), seed=0)
    assert [len(turn.few) for turn in turns] == [CLASSES // 4] * choice.ROUNDS


@pytest.mark.parametrize(
    ("n", "n_classes", "enough"), [(420, 12, True), (415, 12, False), (600, 9, False), (99, 30, False)]
)
def test_it_takes_enough_large_classes(n, n_classes, enough):
    assert choice.can_pretend(samples(n, n_classes)) is enough


def test_the_offset_is_decided_once_with_further_fits_of_a_few_samples(monkeypatch):
    fits = []
    fit = update_module.fit_mixtures
    monkeypatch.setattr(
        update_module, "fit_mixtures", lambda x, *a, **k: fits.append(sum(map(len, x))) or fit(x, *a, **k)
    )
    first = empty().learned(samples(420))
    least, greatest = ClosedForm.few_choices["offset"]
    assert least <= first.head.offset <= greatest
    assert fits == [12 * 336, *[3 * 5] * 8, 12 * 420]
    second = first.learned(samples(5, 4, first=20))
    assert fits[10:] == [20]
    assert (second.head.offset, second.head.strength) == (first.head.offset, first.head.strength)


@pytest.mark.parametrize("head", [ClosedForm(0.8, 0.05, offset=0.6), ClosedForm(0.8, 0.05, strength=0.0)])
def test_what_is_given_is_not_decided(head):
    state = empty(head=head, calibrate=False).learned(samples(420))
    assert (state.head.strength, state.head.offset) == (head.strength, head.offset)


def test_small_calls_leave_it_open_and_a_later_one_decides():
    state = empty().learned(samples(50))
    assert state.head.offset is None
    assert state.learned(samples(420, first=12)).head.offset is not None


def test_the_least_help_is_taken_that_gains_most_of_what_the_best_does():
    values = np.linspace(0, 2, 5)
    assert choice.least_help(values, np.array([0.5, 0.58, 0.6, 0.6, 0.4])) == pytest.approx(0.75)  # 0.59 on the way
    assert choice.least_help(values, np.array([0.5, 0.6, 0.55, 0.595, 0.4])) == pytest.approx(0.45)  # its first time
    assert choice.least_help(values, np.array([0.6, 0.5, 0.4, 0.3, 0.2])) == 0  # nothing to be gained
    assert choice.least_help(values, np.full(5, 0.5)) == 0


@pytest.mark.parametrize("head", [ClosedForm(0.8, 0.05), Bayes(0.1)])
def test_scores_are_linear_in_the_offset_so_that_two_fits_say_what_any_would_do(head):
    memory = empty(head=head, calibrate=False).learned(samples(300)).learned(samples(5, 4, first=20)).memory
    bits = samples(9)[0]
    none, some, more = (head.decided(offset=value).fit(memory, Identity(), 0).scores(bits) for value in (0.0, 0.6, 2.0))
    assert np.allclose(none + 0.3 * (more - none), some, atol=1e-3)
    assert not np.allclose(none, more, atol=0.05)


def test_the_accuracy_that_decides_is_that_of_heads_with_these_offsets():
    state, parts = empty(head=ClosedForm(0.8, 0.05), calibrate=False), choice.split(samples(420), 0)
    memory, _ = state._remembered(parts.kept)
    turn = choice.pretend(parts.kept, 0)[0]
    bits = concatenate(list(parts.held.values()))
    targets = np.repeat(np.arange(CLASSES), [len(held) for held in parts.held.values()])
    rates = choice._rates(state, state.head, "offset", np.array([0.0, 0.5, 2.0]), memory, turn, bits, targets)
    small = memory.copy()
    small.replace(state._enrolment().fitted(turn.few))
    for offset, rate in zip((0.0, 0.5, 2.0), rates, strict=True):
        head = state.head.decided(offset=offset).fit(small, Identity(), 0)
        large = np.mean(np.concatenate([
            head.scores(bits[targets == c]).argmax(1) == c for c in range(CLASSES) if c not in turn.few
        ]))  # fmt: skip
        right = [
            head.scores(concatenate([parts.held[c], rest])).argmax(1) == c for c, rest in turn.rest.items()
        ]  # fmt: skip
        assert rate == pytest.approx(0.75 * large + 0.25 * np.concatenate(right).mean())


def test_the_offset_is_that_of_the_mean_accuracy_of_all_turns():
    state, parts = empty(head=ClosedForm(0.8, 0.05), calibrate=False), choice.split(samples(420), 0)
    memory, _ = state._remembered(parts.kept)
    bits = concatenate(list(parts.held.values()))
    targets = np.repeat(np.arange(CLASSES), [len(held) for held in parts.held.values()])
    values = np.linspace(*ClosedForm.few_choices["offset"], choice.STEPS)
    total = np.zeros(choice.STEPS)
    for turn in choice.pretend(parts.kept, 0):
        total += choice._rates(state, state.head, "offset", values, memory, turn, bits, targets)
    assert state.learned(samples(420)).head.offset == choice.least_help(values, total / 8)


def test_heads_of_other_people_need_not_know_of_it():
    assert choice.open_few_options(object()) == {}


@pytest.mark.parametrize("n", [1, 4, 9, 12, 26])
def test_few_samples_are_stored_in_few_prototypes(n):
    state = GBMState.empty(GBMOptions(prototypes=8), Identity(), Fingerprint(D), 0)
    memory = state.learned(samples(60, 3)).learned(samples(n, 1, first=20)).memory
    assert len(memory.mixture(20).weights) <= max(1, n // 5)
    assert memory.size_bits == sum(len(memory.mixture(c).weights) for c in memory.labels) * D * 3


def test_the_least_help_is_said_in_hundredths():
    found = choice.least_help(np.array([0.0, 0.777]), np.array([0.0, 1.0]))
    assert found == round(choice.MOST * 0.777, 2)


def test_a_class_that_is_small_itself_need_not_pretend_and_does_not_hinder_the_others():
    tail = {CLASSES + number: bits for number, bits in enumerate(samples(7, n_classes=3, seed=2).values())}
    many = {**samples(500), **tail}
    assert not any(set(tail) & set(turn.few) for turn in choice.pretend(choice.split(many, 0).kept, seed=0))
    assert set(empty().learned(many).labels) == set(many)
