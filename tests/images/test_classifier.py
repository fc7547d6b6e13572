"""ImageClassifier: every kind of image is the same image, and it computes what its two parts compute."""

from __future__ import annotations

import io
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bitreplay import Encoder, GBMClassifier, ImageClassifier
from bitreplay.data import from_arrays
from bitreplay.errors import BitreplayError, FingerprintError, InputError
from bitreplay.images import _streaming
from tests.images.problems import COLOURS, PREPROCESSING, photographs, small_network, taught, untaught


def png(image: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()


def test_it_is_its_parts() -> None:
    clf = taught()
    images = np.concatenate([photographs(colour, size=(16, 16)) for colour in COLOURS])
    encoder = Encoder(small_network(), PREPROCESSING, name="same", device="cpu")
    features = encoder.features(images)
    np.testing.assert_allclose(clf.features(images), features, rtol=1e-5, atol=1e-6)
    parts = GBMClassifier(prototypes=2, random_state=0).fit(features, np.repeat(COLOURS, 12))
    whole = untaught().fit(images, np.repeat(COLOURS, 12))
    np.testing.assert_allclose(whole.predict_proba(images), parts.predict_proba(features), atol=1e-4)
    assert whole.score(list(images), np.repeat(COLOURS, 12)) == 1
    assert whole.classes_.tolist() == sorted(COLOURS)


def test_every_kind_of_image_is_the_same_image(tmp_path: Path) -> None:
    clf, images = taught(), photographs("red", 3)
    expected = clf.features(images)
    (tmp_path / "one.png").write_bytes(png(images[0]))
    dataset = from_arrays(images, [0, 0, 0], images, [0, 0, 0])
    several = (
        list(images),
        iter(images),
        torch.from_numpy(images),
        torch.from_numpy(images).permute(0, 3, 1, 2),
        [png(image) for image in images],
        [Image.fromarray(image) for image in images],
        [{"bytes": png(image), "path": None} for image in images],
        dataset.samples("train"),
        (tmp_path / "one.png", png(images[1]), Image.fromarray(images[2])),
    )
    for kind in several:
        np.testing.assert_array_equal(clf.features(kind), expected)
    for one in (
        images[0],
        str(tmp_path / "one.png"),
        png(images[0]),
        Image.fromarray(images[0]),
        {"path": tmp_path / "one.png"},
    ):
        np.testing.assert_allclose(clf.features(one), expected[:1], rtol=1e-5, atol=1e-6)


def test_a_column_of_a_data_set(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    images = photographs("blue", 3)
    table = datasets.Dataset.from_dict(
        {"image": [{"bytes": png(image), "path": None} for image in images]},
        features=datasets.Features({"image": datasets.Image()}),
    )
    clf = taught()
    np.testing.assert_array_equal(clf.features(table["image"]), clf.features(images))
    assert clf.predict(table["image"]).tolist() == ["blue"] * 3


def test_pictures_are_read_as_the_network_needs_them() -> None:
    waiting, most = 0, 0

    def pictures():  # type: ignore[no-untyped-def]
        nonlocal waiting, most
        for image in np.repeat(photographs("red", 1), 3000, axis=0):
            waiting += 1
            most = max(most, waiting)
            yield image

    class Counting(torch.nn.Module):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            nonlocal waiting
            waiting -= len(images) if images.any() else 0
            return images.mean((2, 3))

    clf = ImageClassifier(Counting(), preprocessing=PREPROCESSING, device="cpu")
    assert clf.features(pictures()).shape == (3000, 3)
    assert most <= (_streaming.AHEAD + 1) * 256 + 1  # whatever the number of images


def test_a_wrong_image_is_named_and_nothing_changes(tmp_path: Path) -> None:
    clf = taught()
    before = clf.classifier_
    (tmp_path / "text.jpg").write_text("no image")
    good = list(photographs("red", 2))
    for images, said in (
        ([*good, tmp_path / "text.jpg"], r"text\.jpg: it is not an image"),
        ([*good, tmp_path / "absent.jpg"], r"absent\.jpg: there is no such file"),
        ([*good, np.zeros((4, 4, 3))], "number 2 is float64"),
        ([*good, np.zeros((4, 4, 5), np.uint8)], r"number 2 is uint8 of shape \(4, 4, 5\)"),
        ([*good, np.zeros((0, 4, 3), np.uint8)], "number 2 has no pixels"),
        ([*good, tmp_path], "is a folder"),
        ([*good, 3], "number 2 is a int"),
        ([*good, {}], "neither 'bytes' nor 'path'"),
        ([*good, Image.new("F", (4, 4))], "pixels are floats"),
    ):
        with pytest.raises(BitreplayError, match=said):
            clf.partial_fit(images, "red")
    for images, labels, said in (
        (good, ["red"], "got 1 labels for 2 images"),
        (good, "", "a class must have a name"),
        (good, "x" * 300, "at most 255 characters"),
        (iter(good), "red", "their number must be known"),
        ([], [], "there are no images"),
        (3, [3], "got a int"),
    ):
        with pytest.raises(InputError, match=said):
            clf.partial_fit(images, labels)
    with pytest.raises(InputError, match="there are no images"):
        clf.predict([])
    assert clf.classifier_ is before


@pytest.mark.parametrize("name", ["../../etc", "<script>alert(1)</script>", "Ä\u202e", "x" * 255])
def test_a_class_may_be_called_anything_short(name: str, tmp_path: Path) -> None:
    clf = taught().partial_fit(photographs("red", 5, seed=9, size=(4, 4)), name)
    clf.save(tmp_path / "model")
    assert name in ImageClassifier.load(tmp_path / "model", small_network()).classes_
    assert "\u202e" not in clf.summary()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_forget_and_merge() -> None:
    both, here = taught(), taught()
    there = pickle.loads(pickle.dumps(here)).forget("red").partial_fit(photographs("red", 7, 3), "crimson")
    here.merge(there)
    assert here.classes_.tolist() == ["blue", "crimson", "green", "red"]
    counts = {one["name"]: one["samples"] for one in here.describe()["classes"]}
    assert counts == {"blue": 24, "crimson": 7, "green": 24, "red": 12}
    assert both.classes_.tolist() == sorted(COLOURS)
    with pytest.raises(FingerprintError, match="another encoder"):
        here.merge(taught(seed=1))
    with pytest.raises(InputError, match="only an ImageClassifier"):
        here.merge(here.classifier_)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="'mug'"):
        here.forget("mug")


def test_before_anything_is_learned() -> None:
    clf = untaught()
    assert clf.features(photographs("red", 1)).shape == (1, 32)
    for call in (lambda: clf.predict(photographs("red", 1)), clf.describe, lambda: clf.save("x"), lambda: clf.classes_):
        with pytest.raises(NotFittedError):
            call()
    assert clone(clf).get_params()["image_size"] is None
    clf.set_params(image_size=8)
    assert clf.fit(photographs("red", 3), "red").describe()["image_size"] == [8, 8]
    with pytest.raises(InputError, match="needs its preprocessing"):
        ImageClassifier(small_network()).features(photographs("red", 1))
    with pytest.raises(InputError, match="there is no encoder 'toaster'"):
        ImageClassifier("toaster").features(photographs("red", 1))
    with pytest.raises(InputError, match="must be a GBMClassifier"):
        ImageClassifier(small_network(), 3, preprocessing=PREPROCESSING).features(photographs("red", 1))  # type: ignore[arg-type]


def test_times_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1000.5)
    clf = taught()
    monkeypatch.setattr("time.time", lambda: 2000.5)
    clf.partial_fit(photographs("red", 3, 5), "red").forget("green")
    times = {one["name"]: (one["first_learned"], one["last_learned"]) for one in clf.describe()["classes"]}
    assert times == {"red": (1000, 2000), "blue": (1000, 1000)}


def test_readers_never_see_half() -> None:
    clf, images = taught(), photographs("red", 4)
    features = clf.features(images)
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            about = clf.describe()
            now = clf.classifier_
            if now.predict_proba(features).shape[1] != len(now.classes_):
                wrong.append(about)
            if any(one["last_learned"] < one["first_learned"] for one in about["classes"]):
                wrong.append(about)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(5):
        clf.partial_fit_features(features, [f"new {number}"] * 4)
        clf.forget(f"new {number}")
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
