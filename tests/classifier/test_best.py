"""The best class of every row, however classes are ordered and rows are divided."""

import numpy as np
import pytest

from bitreplay import GBMClassifier
from bitreplay.classifier import _fitted


@pytest.fixture
def clf():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(9, 20))
    which = np.repeat(np.arange(9), 30)
    X = (centres[which] + rng.normal(size=(270, 20))).astype(np.float32)
    names = np.array(["pan", "cup", "jug", "ace", "mug", "pot", "zoo", "bin", "lid"])
    clf = GBMClassifier(2, random_state=0)
    for task in (slice(0, 90), slice(90, 180), slice(180, 270)):
        clf.partial_fit(X[task], names[which][task])
    return clf, X


def test_answers_are_those_of_sorted_scores(clf):
    clf, X = clf
    assert not clf._fitted._is_sorted
    best = clf._fitted.scores(X).argmax(1)
    assert clf.predict(X).tolist() == clf.classes_[best].tolist()
    for reject in (0.0, 0.5, 1.0):
        answers = clf.set_params(reject=reject).predict(X)
        confidence = clf.predict_proba(X).max(1)
        assert answers.tolist() == np.where(confidence < reject, "unknown", clf.classes_[best]).tolist()


def test_of_equal_scores_the_first_class_wins(clf):
    fitted = clf[0]._fitted
    scores = np.random.default_rng(0).integers(0, 3, (500, 9)).astype(float)  # ties nearly everywhere
    assert fitted._best(scores).tolist() == scores[:, fitted.order].argmax(1).tolist()


@pytest.mark.parametrize("n", [1, 7, 270])
def test_blocks_of_rows_answer_as_all_rows_do(monkeypatch, clf, n):
    clf, X = clf
    expected = clf.predict(X[:n]).tolist()
    monkeypatch.setattr(_fitted, "SCORES", 100)
    monkeypatch.setattr(_fitted, "FEWEST_ROWS", 5)
    sizes = [len(scores) for scores in clf._fitted.in_blocks(X[:n])]
    assert sum(sizes) == n
    assert sizes == {1: [1], 7: [7], 270: [12] * 22 + [6]}[n]
    assert clf.predict(X[:n]).tolist() == expected


def test_a_row_alone_is_answered_as_among_others(clf):
    clf, X = clf
    assert [clf.predict(row[None])[0] for row in X] == clf.predict(X).tolist()
    np.testing.assert_allclose(np.concatenate([clf.predict_proba(row[None]) for row in X]), clf.predict_proba(X))
