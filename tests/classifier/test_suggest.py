"""What is suggested for a budget fits it, was judged on samples that nothing was fitted to, and is what is made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from bitreplay import BinaryMemory, ClosedForm, GBMClassifier, Mixture, pack
from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, concatenate
from bitreplay.classifier import _suggest
from bitreplay.classifier._budget import Budget, in_bytes
from bitreplay.classifier._suggestion import Candidate, Suggestion
from bitreplay.errors import InputError
from bitreplay.gbm import split
from bitreplay.mixture import EMOptions, fit_mixtures

X, Y = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def found() -> Suggestion:
    return GBMClassifier.suggest(X, Y, "4 KB", random_state=0)


# ---------------------------------------------------------------------- budgets


@pytest.mark.parametrize(
    ("text", "nbytes", "per_class"),
    [
        ("64 KB", 64_000, False),
        ("64kB", 64_000, False),
        (" 1.5 KiB  per class ", 1536, True),
        ("500 kbit", 62_500, False),
        ("2 MB", 2_000_000, False),
        ("0.25 MiB", 262_144, False),
        (4096, 4096, False),
        (np.int64(7), 7, False),
    ],
)
def test_budgets_as_people_write_them(text, nbytes, per_class):
    assert Budget.parse(text) == Budget(nbytes, per_class)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("64", 'budget must be a number of bytes, or text such as "64 KB"'),
        ("64 kb", "no unit 'kb'; units are B, KB"),
        ("64 kilobytes", "no unit 'kilobytes'"),
        ("-3 KB", "budget must be a number of bytes"),
        ("KB", "budget must be a number of bytes"),
        ("1e3 KB", "budget must be a number of bytes"),
        ("64 KB per sample", "budget must be a number of bytes"),
        ("1,5 KB", "budget must be a number of bytes"),
        ("", "budget must be a number of bytes"),
        (64.5, "budget must be a number of bytes"),
        (True, "budget must be a number of bytes"),
        (None, "budget must be a number of bytes"),
        (0, "budget must be an integer of at least 1; got 0"),
        ("1 bit", "at least one byte"),
    ],
)
def test_what_is_unclear_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Budget.parse(wrong)


@given(st.integers(1, 10**12))
def test_sizes_are_read_as_they_are_written(number):
    again = Budget.parse(in_bytes(number)).nbytes
    assert abs(again - number) <= 0.05 * max(number, 1)


# ---------------------------------------------------------------------- sizes


@settings(max_examples=40, deadline=None)
@given(
    bits=st.sampled_from([1, 2, 3, 4, 8, 16]),
    n_features=st.integers(1, 70),
    sizes=st.dictionaries(
        st.integers(0, 10**6) | st.text("aé日", min_size=1, max_size=5), st.integers(1, 90), min_size=1
    ),
    most=st.sampled_from(_suggest.PROTOTYPES),
)
def test_the_size_is_that_of_the_memory_that_results(bits, n_features, sizes, most):
    memory = BinaryMemory(bits, Fingerprint(n_features))
    for label, count in sizes.items():
        k = min(most, max(1, count // 5))
        memory.add(label, Mixture(np.zeros((k, n_features), np.float32), np.full(k, 1 / k), count=count))
    assert sum(_suggest._Sizes.of(Fingerprint(n_features), bits).most(sizes, most)) == memory.nbytes


def test_all_candidates_fit_and_no_larger_number_of_prototypes_would(found):
    for one in found.candidates:
        assert one.memory <= 4000
        clf = found.make(one, random_state=0)
        assert (clf.prototypes, clf.bits, clf.p, clf.head) == (one.prototypes, one.bits, one.p, one.head)
        if one.head == "closed_form" and one.prototypes < 32:
            assert 2 * one.memory > 4000  # twice as many prototypes take twice as much, but for counts and labels
    best = found.make(random_state=0).fit(X, Y)
    assert best.memory_.nbytes <= found.best.memory
    assert len({(one.p, one.bits, one.head) for one in found.candidates}) == len(found.candidates) == 30


def test_a_budget_per_class_holds_for_the_largest_class():
    few = np.r_[np.flatnonzero(Y > 0), np.flatnonzero(Y == 0)[:7]]  # the class 0 has one prototype
    found = GBMClassifier.suggest(X[few], Y[few], "400 B per class", heads=["bayes"], random_state=0)
    for one in found.candidates:
        largest = one.prototypes * -(-64 * one.p * one.bits // 8)
        assert largest <= 400
        assert one.memory <= 9 * 400 + 400 / one.prototypes + 20


# ---------------------------------------------------------------------- judgement


def test_accuracies_are_those_of_samples_held_out():
    """The same by hand, for bits."""
    rng = np.random.default_rng(0)
    rates = rng.random((4, 30))
    y = np.repeat(list("abcd"), 100)
    bits = pack(rng.random((400, 30)) < 0.2 + 0.6 * rates[np.repeat(range(4), 100)])
    found = GBMClassifier.suggest(bits, y, 110, heads=["closed_form"], binarizer="identity", random_state=3)
    assert {one.p for one in found.candidates} == {1}
    seed = int(np.random.RandomState(3).randint(2**31))
    parts = split({label: bits[np.flatnonzero(y == label)] for label in "abcd"}, seed)
    one = next(one for one in found.candidates if one.prototypes == 1)  # EM has nothing to draw
    memory = BinaryMemory(one.bits, Fingerprint(30))
    memory.add_all(dict(zip("abcd", fit_mixtures(list(parts.kept.values()), EMOptions(n_components=1)), strict=True)))
    head = ClosedForm().fit(memory, Identity(), 0)
    answers = head.scores(concatenate(list(parts.held.values()))).argmax(1)
    assert found.n_held_out == 80
    assert one.accuracy == (answers == np.repeat(range(4), 20)).mean()
    assert one.working_set == head.nbytes


def test_the_best_is_first_and_equals_are_ordered_by_size():
    rows = [(0.9, 300, 10), (0.9, 200, 30), (0.9, 200, 20), (0.95, 900, 90)]
    made = [Candidate(1, 1, 1, "bayes", accuracy, memory, work, 0.0) for accuracy, memory, work in rows]
    found = Suggestion(made[::-1], Budget(1000), 2, 100, 1.0, GBMClassifier)
    assert found.best is made[3]
    assert found.error == pytest.approx((0.95 * 0.05 / 100) ** 0.5)


def test_the_table_shows_candidates_in_order_and_marks_those_as_good(found):
    accuracies = [one.accuracy for one in found.candidates]
    assert accuracies == sorted(accuracies, reverse=True)
    assert found.best.accuracy > 0.93
    head, *rows = found.table()
    for row, one in zip(rows, found.candidates, strict=True):
        cells = dict(zip(head, row, strict=True))
        assert cells["accuracy"].split()[0] == f"{100 * one.accuracy:.1f}"
        assert ("*" in cells["accuracy"]) == (found.best.accuracy - one.accuracy <= found.error)
        assert cells["working set"] == in_bytes(one.working_set)
    text = str(found)
    assert "4 KB for 10 classes; accuracy on 355 held-out samples; 30 candidates" in text
    assert "and 20 more in `candidates`" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_same_seed_gives_the_same_table(found):
    again = GBMClassifier.suggest(X, Y, "4 KB", random_state=0, n_jobs=2)
    assert again.table() == found.table()
    assert GBMClassifier.suggest(X, Y, "4 KB", random_state=1).table() != found.table()


def test_of_many_samples_a_share_of_every_class_is_drawn():
    which = np.repeat([0, 1, 2], [600, 300, 2])
    rows = _suggest._drawn(which, 300, seed=0)
    assert np.bincount(which[rows]).tolist() == [199, 99, 1]
    assert len(np.unique(rows)) == len(rows)
    assert not np.array_equal(rows, _suggest._drawn(which, 300, seed=1))
    found = GBMClassifier.suggest(X, Y, "1 KB", heads=["bayes"], most_samples=600, random_state=0)
    assert 100 <= found.n_held_out <= 120


def test_replay_is_tried_when_it_is_named(monkeypatch):
    monkeypatch.setattr(_suggest, "THERMOMETERS", (1,))
    monkeypatch.setattr(_suggest, "BITS", (3,))
    found = GBMClassifier.suggest(X[Y < 3], Y[Y < 3], "1 KB", heads=["replay"], random_state=0)
    assert [one.head for one in found.candidates] == ["replay"]
    assert found.best.accuracy > 0.9


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budget": "20 B"}, "a budget of 20 B is too small: .* the classes take 170 bytes"),
        ({"budget": "9 B per class"}, "a budget of 9 B per class is too small: .* a class takes 17 bytes"),
        ({"heads": "bayes"}, "heads must be a list of some of closed_form, replay, bayes; got 'bayes'"),
        ({"heads": []}, "heads must be a list"),
        ({"heads": ["svm"]}, "a head must be one of closed_form"),
        ({"most_samples": 0}, "most_samples must be an integer of at least 1"),
        ({"most_samples": 100}, "needs 50 held-out samples in all; got 1"),
        ({"X": X[Y == 3], "y": Y[Y == 3]}, "at least two classes"),
        ({"X": X[:-1]}, "one label per sample"),
        ({"binarizer": "rounding"}, "binarizer must be one of"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InputError, match=message):
        GBMClassifier.suggest(**{"X": X, "y": Y, "budget": "3 KB", **arguments})
