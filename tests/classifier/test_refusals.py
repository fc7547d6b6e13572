"""GBMClassifier refuses what it cannot use, and a call that fails leaves everything as it was."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bitreplay import BinaryMemory, EMOptions, GBMClassifier, pack
from bitreplay.classifier._checks import check_features
from bitreplay.errors import BitreplayError, FingerprintError, InputError, UnknownClassError
from bitreplay.heads import Replay

GOOD = (np.random.default_rng(0).random((30, 6)), np.arange(30) % 3)


@pytest.fixture(scope="module")
def digits():
    return train_test_split(*load_digits(return_X_y=True), test_size=0.3, random_state=0)


@pytest.mark.parametrize(
    ("options", "call"),
    [
        ({}, lambda clf: clf.partial_fit(np.empty((0, 6)), [])),
        ({}, lambda clf: clf.partial_fit(np.full((2, 6), np.nan), [7, 7])),
        ({}, lambda clf: clf.partial_fit(np.full((2, 6), np.inf), [7, 7])),
        ({}, lambda clf: clf.partial_fit(np.zeros((2, 5)), [7, 7])),
        ({}, lambda clf: clf.partial_fit(np.zeros((2, 6)), [7])),
        ({}, lambda clf: clf.partial_fit(np.zeros((2, 6)), ["cup", "mug"])),
        ({}, lambda clf: clf.partial_fit(np.zeros((2, 6)), [7, 8], classes=[0, 1, 2, 7])),
        ({}, lambda clf: clf.partial_fit(np.zeros((2, 6)), [0.5, 1.5])),
        ({}, lambda clf: clf.partial_fit(np.zeros((2, 6)), None)),
        ({}, lambda clf: clf.partial_fit(pack(np.zeros((2, 6))), [7, 7])),
        ({}, lambda clf: clf.predict(np.zeros((2, 7)))),
        ({}, lambda clf: clf.predict(pack(np.zeros((2, 6))))),
        ({}, lambda clf: clf.forget(99)),
        ({}, lambda clf: clf.calibrate(np.zeros((2, 6)), [0, 99])),
        ({}, lambda clf: clf.merge(BinaryMemory(3, 5))),
        ({}, lambda clf: clf.set_params(prototypes=0).partial_fit(*GOOD)),
        ({}, lambda clf: clf.set_params(reject=2.0).predict(GOOD[0])),
        ({}, lambda clf: clf.set_params(refuse=1.0).predict(GOOD[0])),
        ({}, lambda clf: clf.set_params(refuse=0.1).predict(GOOD[0])),  # nothing has been held out
    ],
)
def test_a_failed_call_leaves_everything_as_it_was(options, call):
    clf = GBMClassifier(random_state=0, **options).fit(*GOOD)
    before, codes = clf.predict_proba(GOOD[0]), clf.memory_.to_content()
    attributes = {name: value for name, value in vars(clf).items() if name.endswith("_")}
    with pytest.raises(ValueError):
        call(clf)
    clf.set_params(prototypes=8, reject=None, refuse=None)
    assert {name: value for name, value in vars(clf).items() if name.endswith("_")} == attributes
    assert np.array_equal(clf.predict_proba(GOOD[0]), before)
    assert str(clf.memory_.to_content()) == str(codes)


@pytest.mark.parametrize(
    "options",
    [
        {"prototypes": 0},
        {"prototypes": 2.5},
        {"bits": 0},
        {"bits": 17},
        {"bits": 31},
        {"p": 0},
        {"head": "svm"},
        {"binarizer": "sigmoid"},
        {"reject": 1.5},
        {"reject": -0.1},
        {"refuse": 1},
        {"refuse": -0.1},
        {"refuse": "some"},
        {"refuse": 0.1, "reject": 0.1},
        {"refuse_by": "luck"},
        {"encoder_name": 3},
        {"em": EMOptions, "prototypes": 3},
        {"head": [1]},
        {"head": Replay},
        {"binarizer": GOOD[0]},
        {"n_jobs": 0},
        {"random_state": "x"},
    ],
)
def test_bad_options_are_refused_at_the_first_fit_and_leave_nothing_behind(options):
    clf = GBMClassifier(**options)
    with pytest.raises(BitreplayError):
        clf.fit(*GOOD)
    assert not [name for name in vars(clf) if name.endswith("_")]


def test_unknown_class_error_names_what_is_known():
    clf = GBMClassifier().fit(*GOOD)
    with pytest.raises(UnknownClassError, match=r"99 is not in the memory; it knows 0, 1, 2"):
        clf.forget(99)


def test_memories_with_other_thresholds_are_not_merged(digits):
    train, _, y_train, _ = digits
    one = GBMClassifier(random_state=0).fit(train[:300], y_train[:300])
    other = GBMClassifier(random_state=0).fit(train[300:], y_train[300:])
    with pytest.raises(FingerprintError, match="thresholds"):
        one.merge(other.memory_)


def test_unknown_must_not_be_a_class(digits):
    train, _, y_train, _ = digits
    clf = GBMClassifier(refuse=0.5, random_state=0).fit(train, y_train - 1)
    with pytest.raises(InputError, match="-1 is a class"):
        clf.predict(train)


def test_merging_text_into_numbers_is_refused_and_changes_nothing(digits):
    train, test, y_train, _ = digits
    one = GBMClassifier(random_state=0).fit(train, y_train)
    other = GBMClassifier(binarizer=one.binarizer_, random_state=0).fit(train, y_train.astype(str))
    before = one.predict(test)
    with pytest.raises(InputError, match="all text or all numbers"):
        one.merge(other.memory_)
    assert np.array_equal(one.predict(test), before)


BAD_ROWS = {
    "not a number": np.full((1, 6), np.nan),
    "infinite": np.full((1, 6), np.inf),
    "infinities that cancel": np.array([[np.inf, -np.inf, 0, 0, 0, 0]]),
    "too large for float32": np.full((1, 6), 1e300),
    "too wide": np.zeros((1, 7), np.float32),
    "no rows": np.empty((0, 6), np.float32),
    "a vector": np.zeros(6, np.float32),
    "a cube": np.zeros((1, 6, 1), np.float32),
    "complex": np.zeros((1, 6), complex),
    "text": np.array([["a"] * 6]),
    "objects": np.array([[None] * 6], dtype=object),
    "records": np.zeros((1, 6), dtype=[("a", float)]),
}


@pytest.mark.parametrize("name", BAD_ROWS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # scikit-learn's, before it refuses numbers that are too large
def test_a_single_row_is_looked_at_as_closely_as_scikit_learn_does(monkeypatch, name):
    """Plain matrices take a short way; what is refused and how it is said must not depend on it."""
    clf = GBMClassifier(random_state=0).fit(*GOOD)
    with pytest.raises(InputError) as short:
        clf.predict(BAD_ROWS[name])
    monkeypatch.setattr("bitreplay.classifier._checks.PLAIN", "")
    with pytest.raises(InputError) as long:
        clf.predict(BAD_ROWS[name])
    assert str(short.value) == str(long.value)


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">f4", ">f8", ">i4", "f2", "g", "O"]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_any_kind_are_what_scikit_learn_makes_of_them(monkeypatch, dtype, order):
    clf = GBMClassifier(random_state=0).fit(*GOOD)
    X = np.array(100 * np.random.default_rng(1).random((5, 6)), dtype=dtype, order=order)
    short = check_features(X, clf._fitted, takes_bits=False)
    monkeypatch.setattr("bitreplay.classifier._checks.PLAIN", "")
    long = check_features(X, clf._fitted, takes_bits=False)
    assert short.dtype == long.dtype == np.float32
    np.testing.assert_array_equal(short, long)


def test_large_numbers_whose_sum_is_not_finite_are_no_mistake():
    clf = GBMClassifier(random_state=0).fit(*GOOD)
    assert len(clf.predict(np.full((3, 6), 3e38, np.float32))) == 3


def test_names_of_features_are_still_compared():
    frame = pytest.importorskip("pandas").DataFrame(GOOD[0], columns=list("abcdef"))
    clf = GBMClassifier(random_state=0).fit(frame, GOOD[1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        clf.predict(GOOD[0][:1])
    with pytest.raises(InputError, match="feature names"):
        clf.predict(frame[list("bacdef")])
