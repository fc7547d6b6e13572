"""Exports answer as the classifier does, in torch and in ONNX Runtime."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from bitreplay import Encoder, GBMClassifier, HubClassifier, Replay, as_module, export_onnx
from bitreplay.backbones import Preprocessing
from bitreplay.errors import InputError

X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32)
NAMES = np.array([f"digit {9 - i}" for i in range(10)])  # sorted in another order than learned


def classifier(labels, **options):
    """Learned in two calls, and with classes of different sizes, so that some have fewer prototypes."""
    clf = GBMClassifier(**{"prototypes": 3, "random_state": 0, **options})
    first = labels < 6
    few = np.concatenate([np.flatnonzero(labels == c)[: 7 if c == 8 else None] for c in range(6, 10)])
    names = NAMES[labels]
    return clf.partial_fit(X[first], names[first]).partial_fit(X[few], names[few])


@pytest.mark.parametrize("binarizer", [{"p": 2}, {"binarizer": "heaviside"}, {"binarizer": "native"}])
@pytest.mark.parametrize("head", ["closed_form", "bayes", Replay(hidden=(8,), min_steps=20, epochs=1)])
def test_the_module_answers_alike(head, binarizer):
    clf = classifier(Y, head=head, **binarizer)
    places, probabilities = as_module(clf)(torch.from_numpy(X))
    assert (clf.classes_[places] == clf.predict(X)).all()
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("head", ["closed_form", "bayes", Replay(min_steps=20, epochs=1)])
def test_what_is_done_to_the_module_does_not_reach_the_classifier(head):
    clf = GBMClassifier(2, p=2, head=head, random_state=0).fit(X, Y)
    before = clf.predict_proba(X)
    learns = [p.requires_grad for p in clf.head_.network.parameters()] if isinstance(head, Replay) else []
    module = as_module(clf).half()
    for tensor in (*module.parameters(), *module.buffers()):
        tensor.data.zero_()
    assert (clf.predict_proba(X) == before).all()
    if isinstance(head, Replay):
        assert [p.requires_grad for p in clf.head_.network.parameters()] == learns
    assert (clf.partial_fit(X[:50], Y[:50]).predict(X) == Y).mean() > 0.8  # and it learns on


@pytest.mark.parametrize(("head", "numbers"), [("closed_form", False), ("bayes", True)])
def test_onnx_runtime_answers_alike_for_any_number_of_rows(tmp_path, head, numbers):
    runtime = pytest.importorskip("onnxruntime")
    clf = classifier(Y, head=head) if not numbers else GBMClassifier(2, head=head, random_state=0).fit(X, Y * 10)
    export_onnx(clf, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    for rows in (1, 5, len(X)):
        label, index, probabilities = session.run(None, {"features": X[:rows]})
        assert (label == clf.predict(X[:rows])).all()
        assert (clf.classes_[index] == label).all()
        np.testing.assert_allclose(probabilities, clf.predict_proba(X[:rows]), atol=1e-4)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_classes_that_are_truth_values_stay_such_in_onnx(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    clf = GBMClassifier(2, head="bayes", random_state=0).fit(X, Y > 4)
    export_onnx(clf, tmp_path / "model.onnx")
    label, index, _ = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"features": X})
    assert label.dtype == clf.classes_.dtype == np.bool_
    assert (label == clf.predict(X)).all()
    assert (clf.classes_[index] == label).all()


def test_onnx_with_the_encoder_in_front(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    torch.manual_seed(0)
    backbone = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten())
    encoder = Encoder(backbone, Preprocessing((0.2,), (0.3,)), name="small")
    images = (X.reshape(-1, 8, 8, 1) * 15).astype(np.uint8)
    clf = GBMClassifier(2, random_state=0).fit(encoder.features(images), Y)
    with pytest.raises(InputError, match="image_size"):
        export_onnx(clf, tmp_path / "model.onnx", encoder=encoder)
    export_onnx(clf, tmp_path / "model.onnx", encoder=encoder, image_size=8, channels=1)
    label, _, _ = runtime.InferenceSession(tmp_path / "model.onnx").run(None, {"images": images})
    assert (label == clf.predict(encoder.features(images))).mean() > 0.999  # a feature at a threshold may change sides


def test_what_cannot_be_exported_is_refused(tmp_path):
    clf = GBMClassifier(1, random_state=0).fit(X, Y)
    pixels = Encoder(lambda images: images.flatten(1), Preprocessing(size=8), name="pixels")
    with pytest.raises(InputError, match="is a function"):
        export_onnx(clf, tmp_path / "model.onnx", encoder=pixels)
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(InputError, match=r"bitreplay\[onnx\]"):
        export_onnx(GBMClassifier(1, random_state=0).fit(X, Y), tmp_path / "model.onnx")


def test_a_published_classifier_comes_back_and_learns_on(tmp_path):
    clf = HubClassifier(prototypes=2, random_state=0)
    clf.partial_fit(X[Y < 8], NAMES[Y[Y < 8]])
    clf.save_pretrained(tmp_path)
    again = HubClassifier.from_pretrained(str(tmp_path))
    for one in (clf, again):
        one.partial_fit(X[Y >= 8], NAMES[Y[Y >= 8]])
    assert (again.predict(X) == clf.predict(X)).all()
    card = (tmp_path / "README.md").read_text()
    assert "8 classes" in card
    assert "library_name: bitreplay" in card
    assert "digit 9" in card  # the memory's table
    assert json.loads((tmp_path / "config.json").read_text())["classes"] == 8


def test_a_folder_without_a_classifier_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"classifier\.safetensors"):
        HubClassifier.from_pretrained(str(tmp_path))
    with pytest.raises(InputError, match="prototypes"):
        HubClassifier.from_pretrained(str(tmp_path), prototypes=3)


def test_a_hub_classifier_is_an_estimator():
    from sklearn.base import clone

    clf = HubClassifier(prototypes=5, p=2)
    assert clone(clf).get_params()["prototypes"] == 5
    assert isinstance(clf, GBMClassifier)
