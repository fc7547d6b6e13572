"""`bitreplay export onnx`, as a user types it; `export c` is tested with the C library."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bitreplay import GBMClassifier, ImageClassifier
from bitreplay.cli import main
from tests.images.problems import COLOURS, photographs, save_network, taught

Capture = pytest.CaptureFixture[str]


def shop(folder: Path) -> ImageClassifier:
    """Knows three colours, by a network that is in its file."""
    clf = ImageClassifier(str(save_network(folder / "network")), GBMClassifier(2, random_state=0), device="cpu")
    return clf.fit([image for colour in COLOURS for image in photographs(colour)], np.repeat(COLOURS, 12))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of features, its memory, and a model of images that knows three colours."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    clf = GBMClassifier(2, random_state=0).fit(rng.normal(size=(40, 6)), np.repeat(["cup", "mug"], 20))
    clf.save(folder / "features.safetensors")
    clf.memory_.save(folder / "memory.safetensors")
    taught().save(folder / "own.bitreplay")  # of a network that no file can bring back
    shop(folder).save(folder / "shop.bitreplay")
    return folder


def test_features_to_classes_beside_the_model(folder: Path, capsys: Capture) -> None:
    runtime = pytest.importorskip("onnxruntime")
    assert main(["export", "onnx", str(folder / "features.safetensors")]) == 0
    assert "input: features, float32 (N, 6)" in capsys.readouterr().out
    X = np.random.default_rng(1).normal(size=(100, 6)).astype(np.float32)
    label, _, probabilities = runtime.InferenceSession(folder / "features.onnx").run(None, {"features": X})
    clf = GBMClassifier.load(folder / "features.safetensors")
    assert (label == clf.predict(X)).all()
    np.testing.assert_allclose(probabilities, clf.predict_proba(X), atol=1e-4)


def test_images_to_classes_with_and_without_the_encoder(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model, output = str(folder / "shop.bitreplay"), tmp_path / "shop.onnx"
    assert main(["export", "onnx", model, "--output", str(output)]) == 0
    assert "input: images, uint8 (N, 16, 16, 3)" in capsys.readouterr().out
    images = np.concatenate([photographs(colour, seed=7, size=(16, 16)) for colour in COLOURS])
    label, _, _ = runtime.InferenceSession(output).run(None, {"images": images})
    clf = ImageClassifier.load(model)
    expected = clf.predict(list(images))
    assert (label == expected).mean() > 0.97  # a feature at a threshold may change sides
    assert main(["export", "onnx", model, "--output", str(output), "--without_encoder"]) == 0
    features = clf.features(list(images))
    label, _, _ = runtime.InferenceSession(output).run(None, {"features": features.astype(np.float32)})
    assert (label == expected).all()


def test_what_cannot_be_exported_is_said_and_nothing_written(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    output = tmp_path / "model.onnx"
    for words, complaint in [
        (["features.safetensors", "--weight_bits", "4"], "only `export c` has --weight_bits"),
        (["features.safetensors", "--image_size", "32"], "without an encoder"),
        (["own.bitreplay"], "--without_encoder"),
        (["memory.safetensors"], "holds a memory only"),
        (["gone.bitreplay"], "gone.bitreplay; `bitreplay learn "),
    ]:
        arguments = ["export", "onnx", str(folder / words[0]), *words[1:], "--output", str(output)]
        assert main(arguments) == 2
        assert complaint in capsys.readouterr().err
    assert main(["export", "c", str(folder / "shop.bitreplay"), "--without_encoder"]) == 2
    assert "only `export onnx` has" in capsys.readouterr().err
    assert not output.exists()


def test_a_missing_package_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["export", "onnx", str(folder / "features.safetensors")]) == 2
    assert "bitreplay[onnx]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "m.bitreplay", "x.jpg"],
        ["show", "m.bitreplay"],
        ["forget", "m.bitreplay", "mug"],
        ["merge", "m.bitreplay", "n.bitreplay"],
        ["evaluate", "m.bitreplay", "."],
        ["serve", "m.bitreplay"],
        ["export", "c", "m.bitreplay"],
    ],
)
def test_a_model_that_is_not_there(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert capsys.readouterr().err.startswith(
        "error: there is no model m.bitreplay; `bitreplay learn m.bitreplay FOLDER` creates one"
    )
    assert not list(tmp_path.iterdir())
