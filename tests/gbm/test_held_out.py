"""Held-out samples of small calls: every one has its turn, and what they say makes confidence honest."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_digits

from bitreplay import GBMClassifier
from bitreplay.bits import pack
from bitreplay.gbm._held_out import FOLDS, LEAST, folds


@pytest.mark.parametrize("sizes", [(3, 7, 1), (12, 2), (5, 5, 5)])
def test_every_sample_of_a_class_of_some_size_is_held_out_once(sizes):
    rng = np.random.default_rng(0)
    samples = {place: pack(rng.integers(0, 2, (n, 64))) for place, n in enumerate(sizes)}
    turns = folds(samples, seed=3)
    assert len(turns) == min(FOLDS, max(sizes))
    for label, bits in samples.items():
        rows = [row.tobytes() for row in bits.data]
        held = [row.tobytes() for turn in turns if label in turn.held for row in turn.held[label].data]
        assert sorted(held) == (sorted(rows) if len(bits) >= LEAST else [])
        for turn in turns:
            there = [row.tobytes() for part in turn if label in part for row in part[label].data]
            assert sorted(there) == sorted(rows)
            assert len(turn.kept[label]) >= 1


@pytest.mark.parametrize("head", ["closed_form", "bayes"])
def test_a_handful_of_samples_is_enough_for_a_confidence_that_can_be_believed(head):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    apart = []
    for _ in range(5):
        rows = np.concatenate([rng.permutation(np.flatnonzero(y == digit))[:6] for digit in range(10)])
        clf = GBMClassifier(head=head, p=4, random_state=0).fit(X[rows], y[rows])
        bare = softmax(clf.decision_function(X), axis=1)
        right = clf.score(X, y)
        apart.append([probabilities.max(axis=1).mean() - right for probabilities in (clf.predict_proba(X), bare)])
    calibrated, without = np.mean(apart, axis=0)
    assert abs(calibrated) < 0.08
    assert without > 0.12
