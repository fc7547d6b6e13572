"""What the service answers, without a network: the same as the library, and saved."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient
from torch import nn

from bitreplay import Encoder, GBMClassifier
from bitreplay.backbones import Preprocessing
from bitreplay.errors import FullDiskError
from bitreplay.images import ImageClassifier
from bitreplay.service import ServedModel, make_app
from tests.service.conftest import BASE
from tests.service.tiny import encoder, picture, pictures, served


def labels(client: TestClient) -> list[str]:
    return [one["label"] for one in client.get("/v1/classes").json()["classes"]]


def test_it_answers_as_the_library_does(taught: TestClient, model: ServedModel) -> None:
    shown = [picture(colour, 100 + number) for colour in ("red", "green", "grey") for number in range(3)]
    answer = taught.post("/v1/predict?top=2", files=[("image", one) for one in shown]).json()
    expected = ImageClassifier.load(model.path, encoder()).predict_proba(shown)
    for prediction, row in zip(answer["predictions"], expected, strict=True):
        told = {guess["label"]: guess["probability"] for guess in prediction["top"]}
        assert [told["green"], told["red"]] == pytest.approx(row.tolist(), abs=1e-6)
    assert [prediction["label"] for prediction in answer["predictions"][:6]] == ["red"] * 3 + ["green"] * 3
    alone = taught.post("/v1/predict", content=shown[0], headers={"content-type": "image/png"}).json()
    assert alone["predictions"][0]["top"] == answer["predictions"][0]["top"]


def test_nothing_is_predicted_before_something_is_learned(client: TestClient) -> None:
    answer = client.post("/v1/predict", files=pictures("red", 1))
    assert answer.status_code == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert client.get("/v1/model").status_code == 409
    assert client.get("/v1/device.zip").status_code == 409


def test_every_change_is_in_the_file(taught: TestClient, model: ServedModel) -> None:
    assert ImageClassifier.load(model.path, encoder()).classes_.tolist() == ["green", "red"]
    freed = taught.post("/v1/forget", data={"label": "red"}).json()["bytes_freed"]
    assert freed > 0
    assert ImageClassifier.load(model.path, encoder()).classes_.tolist() == ["green"]
    assert [entry.name for entry in model.path.parent.iterdir() if "part" in entry.name] == []


def test_what_cannot_be_saved_has_not_happened(
    taught: TestClient, model: ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, path: object, **more: object) -> None:
        raise FullDiskError("cannot write to /small: No space left on device")

    content, version = model.path.read_bytes(), model.now.version
    with monkeypatch.context() as patched:
        patched.setattr(ImageClassifier, "save", full)
        answer = taught.post("/v1/learn", data={"label": "blue"}, files=pictures("blue"))
        assert (answer.status_code, answer.json()["status"]) == (507, 507)
        assert "No space left" in answer.json()["detail"]
        assert "/small" not in answer.text
        assert taught.post("/v1/forget", data={"label": "red"}).status_code == 507
    assert labels(taught) == ["red", "green"]
    assert (model.path.read_bytes(), model.now.version, model.undoes) == (content, version, "learning 'green'")


def test_two_programs_on_one_file_lose_no_class(tmp_path: Path) -> None:
    path = tmp_path / "shared.bitreplay"
    with (
        TestClient(make_app(served(path)), base_url=BASE) as one,
        TestClient(make_app(served(path)), base_url=BASE) as other,
    ):
        for client, colour in ((one, "red"), (other, "green"), (one, "blue"), (other, "grey")):
            assert client.post("/v1/learn", data={"label": colour}, files=pictures(colour, 8)).status_code == 200
        assert labels(one) == labels(other) == ["red", "green", "blue", "grey"]
        one.post("/v1/forget", data={"label": "green"})
        assert labels(other) == ["red", "blue", "grey"]


@pytest.mark.parametrize("lost", ["damaged", "gone", "another model"])
def test_a_file_that_cannot_be_used_leaves_the_model_as_it_was(
    lost: str, taught: TestClient, model: ServedModel, caplog: pytest.LogCaptureFixture
) -> None:
    content = model.path.read_bytes()
    if lost == "gone":
        model.path.unlink()
    elif lost == "damaged":
        model.path.write_bytes(content[: len(content) // 2])
    else:
        own = Encoder(nn.Flatten(), Preprocessing(size=4), name="pixels")
        ImageClassifier(own, GBMClassifier(random_state=0)).fit([picture("red")], "red").save(model.path)
    there = model.path.read_bytes() if model.path.exists() else None
    for _ in range(2):
        assert labels(taught) == ["red", "green"]
    assert [str(model.path) in record.message for record in caplog.records if record.levelname == "WARNING"] == [True]
    assert taught.post("/v1/predict", files=pictures("red", 1)).status_code == 200
    answers = [
        taught.post("/v1/learn", data={"label": "blue"}, files=pictures("blue", 8)),
        taught.post("/v1/forget", data={"label": "red"}),
        taught.post("/v1/undo"),
        taught.get("/v1/model"),
    ]
    for answer in answers:
        assert answer.status_code == 503
        assert model.path.name in answer.json()["detail"]
        assert str(model.path.parent) not in answer.text
    assert (model.path.read_bytes() if model.path.exists() else None) == there  # nothing is overwritten
    model.path.write_bytes(content)
    assert taught.post("/v1/forget", data={"label": "red"}).status_code == 200
    assert labels(taught) == ["green"]


def test_no_answer_says_where_the_file_is(taught: TestClient, model: ServedModel) -> None:
    model.path.parent.rename(model.path.parent.with_name("elsewhere"))
    answer = taught.post("/v1/forget", data={"label": "red"})
    assert answer.status_code == 503
    assert str(model.path.parent) not in answer.text
    assert labels(taught) == ["red", "green"]


def test_undo_goes_back_one_change_at_a_time(taught: TestClient, model: ServedModel) -> None:
    before = model.path.read_bytes()
    taught.post("/v1/forget", data={"label": "red"})
    taught.post("/v1/learn", data={"label": "green"}, files=pictures("green", 5, first=50))
    assert taught.post("/v1/undo").json()["undone"] == "learning 'green'"
    answer = taught.post("/v1/undo").json()
    assert (answer["undone"], answer["model"]["undo"]) == ("forgetting 'red'", "learning 'green'")
    assert labels(taught) == ["red", "green"]
    assert model.path.read_bytes() == before
    taught.post("/v1/undo")
    assert taught.post("/v1/undo").json()["classes"] == []
    assert not model.path.exists()
    assert taught.post("/v1/undo").status_code == 409
    assert taught.post("/v1/learn", data={"label": "blue"}, files=pictures("blue")).status_code == 200


def test_the_service_without_a_page_forgets_at_once(tmp_path: Path) -> None:
    with TestClient(make_app(served(tmp_path / "a.bitreplay")), base_url=BASE) as client:
        client.post("/v1/learn", data={"label": "red"}, files=pictures("red"))
        assert client.get("/v1/classes").json()["model"]["undo"] is None
        assert client.post("/v1/undo").status_code == 409


def test_frames_held_back_test_and_do_not_teach(client: TestClient, model: ServedModel) -> None:
    for colour in ("red", "green"):
        answer = client.post(
            "/v1/learn", data={"label": colour, "hold_back": "true"}, files=pictures(colour, 23)
        ).json()
        assert (answer["learned"], answer["held_back"]) == (19, 4)
    alone = ImageClassifier(encoder(), GBMClassifier(p=4, random_state=0))
    for colour in ("red", "green"):
        alone.partial_fit([picture(colour, n) for n in range(23) if n >= 20 or n % 5 != 2], [colour] * 19)
    kept, expected = model.now.classifier, alone.classifier_
    assert kept is not None
    for label in ("red", "green"):
        assert np.array_equal(kept.memory_.mixture(label).prototypes, expected.memory_.mixture(label).prototypes)
    counts = {one["label"]: one["held_back"] for one in client.get("/v1/classes").json()["classes"]}
    assert counts == {"red": {"recognised": 4, "of": 4}, "green": {"recognised": 4, "of": 4}}
    wrong = client.post(
        "/v1/learn", data={"label": "red", "hold_back": "on"}, files=pictures("green", 5, first=60)
    ).json()
    assert {one["label"]: one["held_back"] for one in wrong["classes"]}["red"]["of"] == 5
    client.post("/v1/forget", data={"label": "red"})
    assert set(model.now.held.features) == {"green"}


def test_what_is_kept_is_what_the_memory_has(taught: TestClient, model: ServedModel) -> None:
    kept = taught.get("/v1/kept", params={"label": "red"}).json()
    assert model.now.classifier is not None
    mixture = model.now.classifier.memory_.mixture("red")
    rows = np.array([np.frombuffer(base64.b64decode(one["shades"]), np.uint8) for one in kept["prototypes"]])
    order = np.argsort(-mixture.weights, kind="stable")
    assert np.array_equal(rows, np.rint(255 * mixture.prototypes[order]))
    assert sum(one["weight"] for one in kept["prototypes"]) == pytest.approx(1, abs=1e-3)
    assert taught.get("/v1/kept", params={"label": "mauve"}).status_code == 404
    sizes = [one["bytes"] for one in taught.get("/v1/classes").json()["classes"]]
    assert sum(sizes) == pytest.approx(model.now.classifier.memory_.nbytes, abs=2)  # rounded up to bytes


def test_the_model_can_be_taken_along(taught: TestClient, model: ServedModel, tmp_path: Path) -> None:
    answer = taught.get("/v1/model")
    assert "attachment" in answer.headers["content-disposition"]
    (tmp_path / "copy").write_bytes(answer.content)
    assert ImageClassifier.load(tmp_path / "copy", encoder()).classes_.tolist() == ["green", "red"]
    with zipfile.ZipFile(io.BytesIO(taught.get("/v1/device.zip").content)) as archive:
        assert {"device/model.c", "device/bitreplay.h", "device/Makefile"} <= {*archive.namelist()}


def test_a_file_keeps_its_weights_and_its_kind_of_labels(tmp_path: Path) -> None:
    network = nn.Sequential(nn.Conv2d(3, 8, 5), nn.AdaptiveAvgPool2d(3), nn.Flatten())
    own = Encoder(network, Preprocessing(size=16), name="own")
    path = tmp_path / "numbers.bitreplay"
    ImageClassifier(own, GBMClassifier(p=2, random_state=0)).partial_fit(
        [picture(colour, number) for colour in ("red", "green") for number in range(9)], [3] * 9 + [7] * 9
    ).save(path, weights=True)
    with TestClient(make_app(ServedModel(path, own)), base_url=BASE) as client:
        assert client.post("/v1/learn", data={"label": "12"}, files=pictures("blue", 9)).status_code == 200
        assert client.post("/v1/forget", data={"label": "3"}).status_code == 200
        assert client.post("/v1/predict", files=pictures("blue", 1)).json()["predictions"][0]["top"][0]["label"] == "12"
    stored = ImageClassifier.load(path, nn.Sequential(nn.Conv2d(3, 8, 5), nn.AdaptiveAvgPool2d(3), nn.Flatten()))
    assert stored.classes_.tolist() == [7, 12]  # with weights that only the file had


def test_numbers_for_prometheus(taught: TestClient) -> None:
    taught.post("/v1/predict", files=pictures("red", 3))
    taught.post("/v1/predict", content=b"no image", headers={"content-type": "image/png"})
    lines = taught.get("/metrics").text.splitlines()
    assert 'bitreplay_requests_total{route="learn",status="200"} 2' in lines
    assert 'bitreplay_requests_total{route="predict",status="422"} 1' in lines
    assert "bitreplay_images_predicted_total 3" in lines
    assert "bitreplay_classes 2" in lines
    buckets = [int(line.split()[-1]) for line in lines if line.startswith('bitreplay_seconds_bucket{route="predict"')]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 2
    for line in lines:
        assert re.fullmatch(r'# TYPE \w+ (counter|gauge|histogram)|\w+(\{(\w+="[^"]*",?)+\})? [0-9.e+]+', line), line


def test_the_document_describes_the_routes_that_there_are(client: TestClient, model: ServedModel) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    for path, methods in document["paths"].items():
        for method in methods:
            assert client.request(method, path).status_code not in (404, 405)
        assert client.request("patch", path).status_code == 405
    page = client.get("/docs").text
    assert all(path in page for path in document["paths"])
    assert client.get("/", follow_redirects=False).status_code == 200
    with TestClient(make_app(model), base_url=BASE) as without:
        assert without.get("/", follow_redirects=False).headers["location"] == "/docs"


def known(client: TestClient, colour: str) -> list[bool]:
    files = pictures(colour, 10, first=200)
    return [one["known"] for one in client.post("/v1/predict", files=files).json()["predictions"]]


@pytest.mark.parametrize("count", [20, 60], ids=["by frames held back", "by the model itself"])
def test_what_was_never_shown_is_unknown(count: int, client: TestClient, model: ServedModel) -> None:
    for colour in ("red", "green"):
        client.post("/v1/learn", data={"label": colour, "hold_back": "true"}, files=pictures(colour, count))
    assert sum(known(client, "red") + known(client, "green")) >= 15
    assert sum(known(client, "blue")) <= 1
    classifier = ImageClassifier.load(model.path, encoder()).classifier_
    assert (classifier.refuse is not None) == (count == 60)  # then the file says the same everywhere
    if count == 60:
        blue = ImageClassifier.load(model.path, encoder()).predict([picture("blue", n) for n in range(200, 210)])
        assert (blue == "unknown").sum() >= 9


def test_a_class_may_be_called_unknown(client: TestClient) -> None:
    for label, colour in (("red", "red"), ("unknown", "green"), ("third", "blue")):
        client.post("/v1/learn", data={"label": label, "hold_back": "true"}, files=pictures(colour, 60))
    answer = client.post("/v1/predict", files=pictures("green", 1)).json()["predictions"][0]
    assert (answer["label"], answer["known"]) == ("unknown", True)
