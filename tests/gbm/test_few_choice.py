"""What is decided for classes of few samples, by pretending that some of the first call had few."""

import numpy as np
import pytest

from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, pack
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.gbm import _choice as choice
from bitreplay.gbm import _update as update_module
from bitreplay.heads import ClosedForm

D, CLASSES = 60, 12


def samples(n, n_classes=CLASSES, seed=0, first=0):
    layout, rng = np.random.default_rng(1), np.random.default_rng(seed)
    rates = layout.beta(0.6, 0.6, (30, D))
    return {c: pack(rng.random((n, D)) < 0.25 + 0.5 * rates[c]) for c in range(first, first + n_classes)}


def empty(seed=0, **options):
    return GBMState.empty(GBMOptions(prototypes=2, **options), Identity(), Fingerprint(D), seed)


def test_every_class_has_few_samples_once_a_quarter_at_a_time_whatever_their_order():
    kept = choice.split(samples(120), 0).kept
    turns = choice.pretend(kept, seed=3)
    assert [len(few) for few in turns] == [CLASSES // 4] * 4
    assert sorted(label for few in turns for label in few) == sorted(kept)
    assert all(len(bits) == choice.PRETENDED for few in turns for bits in few.values())
    again = choice.pretend(dict(reversed(kept.items())), seed=3)
    assert list(map(set, again)) == list(map(set, turns))
    assert list(map(set, choice.pretend(kept, seed=4))) != list(map(set, turns))


def test_of_very_many_classes_one_quarter_has_its_turn(monkeypatch):
    monkeypatch.setattr(choice, "ALL_TURNS", CLASSES - 1)
    [few] = choice.pretend(samples(10), seed=0)
    assert len(few) == CLASSES // 4


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
    assert first.head.offset in ClosedForm.few_choices["offset"]
    assert fits == [12 * 336, *[3 * 5] * 4, 12 * 420]
    second = first.learned(samples(5, 4, first=20))
    assert fits[6:] == [20]
    assert (second.head.offset, second.head.strength) == (first.head.offset, first.head.strength)


@pytest.mark.parametrize("head", [ClosedForm(0.8, 0.05, offset=0.6), ClosedForm(0.8, 0.05, strength=0.0)])
def test_what_is_given_is_not_decided(head):
    state = empty(head=head, calibrate=False).learned(samples(420))
    assert (state.head.strength, state.head.offset) == (head.strength, head.offset)


def test_small_calls_leave_it_open_and_a_later_one_decides():
    state = empty().learned(samples(50))
    assert state.head.offset is None
    assert state.learned(samples(420, first=12)).head.offset is not None


def test_the_least_help_is_taken_that_is_as_good_as_the_best():
    right = {0.25: 0.7, 0.5: 0.789, 0.75: 0.795, 1.0: 0.8}  # an error of the best is 0.0126
    open_options = ClosedForm().open_few_options()
    assert choice.choose_sparingly(ClosedForm(), lambda head: right[head.offset], 1000, open_options).offset == 0.5
    assert choice.choose_sparingly(ClosedForm(), lambda head: right[head.offset], 100_000, open_options).offset == 1.0


def test_heads_of_other_people_need_not_know_of_it():
    assert choice.open_few_options(object()) == {}


@pytest.mark.parametrize("n", [1, 4, 9, 12, 26])
def test_few_samples_are_stored_in_few_prototypes(n):
    state = GBMState.empty(GBMOptions(prototypes=8), Identity(), Fingerprint(D), 0)
    memory = state.learned(samples(60, 3)).learned(samples(n, 1, first=20)).memory
    assert len(memory.mixture(20).weights) <= max(1, n // 5)
    assert memory.size_bits == sum(len(memory.mixture(c).weights) for c in memory.labels) * D * 3
