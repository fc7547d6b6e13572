"""The answer "unknown" for a share of the known: calibrated, kept while classes are added, saved, merged, forgotten."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from bitreplay import GBMClassifier, Replay
from bitreplay._floor.container import read_file, write_file
from bitreplay.errors import FileFormatError, InputError

OLD = Path(__file__).parents[1] / "recorded" / "version_0_1_0" / "closed_form.safetensors"


@pytest.fixture(scope="module")
def digits():
    return train_test_split(*load_digits(return_X_y=True), test_size=0.4, random_state=0)


def days(clf, X, y, *tasks):
    for task in tasks:
        clf.partial_fit(X[np.isin(y, task)], y[np.isin(y, task)])
    return clf


def refused(clf, X):
    return (clf.predict(X) == -1).mean()


@pytest.mark.parametrize("by", ["novelty", "probability", "both"])
def test_about_the_share_is_refused_of_the_known_and_more_of_strangers(digits, by):
    train, test, y_train, y_test = digits
    clf = GBMClassifier(p=4, refuse=0.1, refuse_by=by, random_state=0)
    for task in ([0, 1, 2, 3], [4, 5], [6, 7]):
        days(clf, train, y_train, task)
        known = y_test <= max(task)
        assert 0.03 < refused(clf, test[known]) < 0.2
        assert refused(clf, test[~known]) > 0.4
    kept = clf.predict(test[known])
    assert np.array_equal(kept[kept != -1], clf.set_params(refuse=None).predict(test[known])[kept != -1])


def test_more_is_refused_as_one_is_willing_to_refuse_more(digits):
    train, test, y_train, _ = digits
    clf = GBMClassifier(p=4, random_state=0).fit(train, y_train)
    shares = [refused(clf.set_params(refuse=share), test) for share in (0.0, 0.02, 0.1, 0.3, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert abs(shares[3] - 0.3) < 0.1
    names = GBMClassifier(p=4, refuse=0.5, random_state=0).fit(train, y_train.astype(str))
    assert "unknown" in names.predict(test)


def test_novelty_tells_strangers_from_the_known(digits):
    train, test, y_train, y_test = digits
    known = y_train < 7
    clf = GBMClassifier(p=4, random_state=0).fit(train[known], y_train[known])
    new = clf.novelty(test)
    assert abs(np.median(new[y_test < 7])) < 1
    assert new[y_test >= 7].mean() > 2
    assert clf.score_samples(test[y_test < 7]).mean() > clf.score_samples(test[y_test >= 7]).mean()


@pytest.mark.parametrize("head", ["closed_form", Replay(epochs=1, min_steps=50)], ids=["closed_form", "replay"])
def test_what_is_familiar_is_saved(digits, head, tmp_path):
    train, test, y_train, _ = digits
    clf = days(GBMClassifier(p=4, head=head, refuse=0.2, random_state=0), train, y_train, [0, 1, 2, 3], [4, 5])
    clf.save(tmp_path / "clf.safetensors")
    loaded = GBMClassifier.load(tmp_path / "clf.safetensors")
    assert (loaded.refuse, loaded.refuse_by) == (0.2, "novelty")
    assert np.array_equal(loaded.novelty(test), clf.novelty(test))
    for one in (clf, loaded):
        days(one, train, y_train, [6, 7])
    assert np.array_equal(loaded.novelty(test), clf.novelty(test))
    for by in ("novelty", "probability", "both"):
        assert np.array_equal(loaded.set_params(refuse_by=by).predict(test), clf.set_params(refuse_by=by).predict(test))


def test_forgetting_and_merging(digits):
    train, test, y_train, y_test = digits
    one = days(GBMClassifier(p=4, refuse=0.1, random_state=0), train, y_train, [0, 1, 2, 3, 4])
    other = days(GBMClassifier(binarizer=one.binarizer_, random_state=1), train, y_train, [5, 6])
    one.merge(other.memory_)
    assert set(one._fitted.state.familiar.numbers) == {0, 1, 2, 3, 4}
    assert 0.02 < refused(one, test[y_test < 7]) < 0.3, "merged classes count as average ones"
    assert refused(one, test[y_test >= 7]) > 0.4
    one.forget(3)
    assert set(one._fitted.state.familiar.numbers) == {0, 1, 2, 4}
    assert refused(one, test[y_test == 3]) > 0.4


def test_a_file_of_before_knows_nothing_and_can_be_told():
    clf = GBMClassifier.load(OLD)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, clf.n_features_in_)).astype(np.float32)
    assert np.isfinite(clf.novelty(X)).all()
    clf.set_params(refuse=0.1)
    with pytest.raises(InputError, match="calibrate"):
        clf.predict(X)
    y = clf.set_params(refuse=None).predict(X)
    clf.calibrate(X, y).set_params(refuse=0.1)
    assert abs((clf.predict(X) == "unknown").mean() - 0.1) < 0.02


def test_a_call_of_few_samples_cannot_say_what_a_share_is(digits):
    train, _, y_train, _ = digits
    rows = np.concatenate([np.flatnonzero(y_train == c)[:9] for c in range(10)])  # of whom one each is held out
    clf = GBMClassifier(p=4, refuse=0.1, random_state=0).partial_fit(train[rows], y_train[rows])
    with pytest.raises(InputError, match="held out"):
        clf.predict(train)
    days(clf, train, y_train, [0, 1])
    assert refused(clf, train) < 1


def test_reject_is_deprecated_and_does_what_it_did(digits):
    train, test, y_train, _ = digits
    with pytest.warns(FutureWarning, match=r"refuse=0\.05"):
        clf = GBMClassifier(p=4, reject=0.9, random_state=0).fit(train, y_train)
    assert np.array_equal(clf.predict(test) == -1, clf.predict_proba(test).max(axis=1) < 0.9)


@pytest.mark.parametrize(
    ("tensor", "change"),
    [
        ("familiar.quantiles", lambda v: v[:2]),
        ("familiar.quantiles", lambda v: v[:, ::-1].copy()),
        ("familiar.quantiles", lambda v: np.full_like(v, np.nan)),
        ("familiar.quantiles", None),
        ("familiar.numbers", lambda v: v[1:]),
        ("familiar.numbers", lambda v: v[:, :3].copy()),
        ("familiar.numbers", lambda v: -v),
        ("familiar.numbers", lambda v: np.full_like(v, np.inf)),
        ("familiar.growth", lambda v: v[:, 1:].copy()),
    ],
)
def test_forged_numbers_are_refused(tmp_path, tensor, change):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10), 210)
    X = (rng.random((2100, 20)) < rng.random((10, 20))[y]).astype(np.float32)
    path = tmp_path / "clf.safetensors"
    GBMClassifier(1, binarizer="identity", random_state=0).fit(X, y).save(path)
    content, tensors = read_file(path)
    if change is None:
        del tensors[tensor]
    else:
        tensors[tensor] = change(tensors[tensor])
    write_file(path, "classifier", content, tensors)
    with pytest.raises(FileFormatError):
        GBMClassifier.load(path)


def test_a_handful_of_samples_to_calibrate_leaves_what_is_known_of_strangers(digits):
    train, test, y_train, _ = digits
    clf = GBMClassifier(p=4, refuse=0.1, random_state=0).fit(train, y_train)
    before = refused(clf, test)
    clf.calibrate(train[:5], y_train[:5])
    assert refused(clf, test) == pytest.approx(before, abs=0.05)


def test_truths_are_refused_as_numbers_that_are_equal_to_them(digits):
    train, test, y_train, y_test = digits
    clf = GBMClassifier(p=4, refuse=0.1, random_state=0).fit(train, y_train < 5)
    assert set(clf.predict(test)) == {0, 1, -1}
    assert clf.score(test, y_test < 5) > 0.7
