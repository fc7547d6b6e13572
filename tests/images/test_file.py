"""A model's file: what comes back is what was saved, and another encoder is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

from bitreplay import BinaryMemory, Encoder, GBMClassifier, ImageClassifier
from bitreplay._floor.container import read_file, write_file
from bitreplay.backbones import Preprocessing
from bitreplay.errors import BitreplayError, FileFormatError, FullDiskError, InputError
from bitreplay.nn import weights_hash
from tests.attack.test_full_disk import largest_file
from tests.backbones.v02_files import arrays, write
from tests.images.problems import COLOURS, PREPROCESSING, photographs, save_network, small_network, taught, untaught


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    taught().save(tmp_path / "colours.bitreplay")
    return tmp_path / "colours.bitreplay"


def test_what_was_saved_comes_back_and_goes_on(saved: Path) -> None:
    clf, again = taught(), ImageClassifier.load(saved, small_network(), device="cpu")
    images = photographs("red", 6, 4)
    np.testing.assert_array_equal(again.predict_proba(images), clf.predict_proba(images))
    for one in (clf, again):
        one.partial_fit(photographs("green", 9, 7, size=(9, 31)), "lime")
    np.testing.assert_array_equal(again.predict_proba(images), clf.predict_proba(images))
    assert again.get_params()["classifier"].prototypes == 2


def test_it_is_a_classifier_and_a_memory_too(saved: Path) -> None:
    clf = taught()
    images = photographs("blue", 3, 8)
    features = clf.features(images)
    np.testing.assert_array_equal(GBMClassifier.load(saved).predict(features), clf.predict(images))
    assert BinaryMemory.load(saved).labels == clf.classifier_.memory_.labels


def test_other_weights_and_other_preprocessing_are_refused(saved: Path) -> None:
    with pytest.raises(InputError, match="made with other weights of its encoder"):
        ImageClassifier.load(saved, small_network(seed=1))
    other = Encoder(small_network(), Preprocessing(size=32), name="SmallCNN")
    with pytest.raises(InputError, match="made with another preprocessing"):
        ImageClassifier.load(saved, other)
    with pytest.raises(InputError, match="needs its encoder 'SmallCNN', which is not one of ours"):
        ImageClassifier.load(saved)
    assert ImageClassifier.load(saved, Encoder(small_network(), PREPROCESSING, name="x")).classes_.size == 3


def test_weights_can_be_in_the_file(tmp_path: Path) -> None:
    file, images = tmp_path / "model", photographs("green", 3, 3)
    taught().save(file, weights=True)
    again = ImageClassifier.load(file, small_network(seed=5))  # which receives the file's weights
    np.testing.assert_array_equal(again.predict_proba(images), taught().predict_proba(images))
    again.save(file)  # and keeps them
    assert any(name.startswith("encoder.") for name in read_file(file)[1])
    with pytest.raises(InputError, match="is not like that in"):
        ImageClassifier.load(file, torch.nn.Linear(2, 2))
    trained = ImageClassifier(str(save_network(tmp_path / "network")), GBMClassifier(random_state=0))
    trained.fit(photographs("red"), "red").save(file)  # no published weights: they are stored unasked
    assert ImageClassifier.load(file).encoder_.weights == weights_hash(small_network())


def test_the_published_encoder_is_found_by_its_name(tmp_path: Path) -> None:
    clf = ImageClassifier(classifier=GBMClassifier(random_state=0), device="cpu")
    images = np.concatenate([photographs(colour, 6, size=(40, 50)) for colour in COLOURS])
    clf.fit(images, np.repeat(COLOURS, 6)).save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 30_000
    again = ImageClassifier.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(again.predict_proba(images), clf.predict_proba(images))
    assert again.describe()["pretrained"] == "ImageNet"
    assert again.describe()["features"] == 1280


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("times", []),
        ("times", [[1, 2], [2, 1], [1, 1]]),
        ("times", [[1], [1], [1]]),
        ("frame", {"height": 10**9, "width": 16}),
        ("frame", {"height": 16}),
        ("encoder", {"name": 3}),
        ("encoder", {"name": "small_cnn", "options": [], "weights": 3, "pretrained": ""}),
        ("preprocessing", {"mean": [0.4], "std": [0.0], "size": 16, "interpolation": "bilinear"}),
        ("preprocessing", {"mean": [0.4], "std": [1.0], "size": 2**30, "interpolation": "bilinear"}),
        ("preprocessing", {"settings": 3, "size": 3}),
        ("preprocessing", None),
    ],
)
def test_a_forged_file_is_refused(saved: Path, key: str, value: object) -> None:
    content, tensors = read_file(saved)
    content["images"][key] = value
    write_file(saved, "images", {k: v for k, v in content.items() if k not in ("kind", "format_version")}, tensors)
    with pytest.raises(FileFormatError, match="does not say which encoder"):
        ImageClassifier.load(saved, small_network())


def test_forged_weights_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model"
    ImageClassifier(str(save_network(tmp_path / "network"))).fit(photographs("red"), "red").save(file)
    content, tensors = read_file(file)
    content = {k: v for k, v in content.items() if k not in ("kind", "format_version")}
    name = next(name for name in tensors if name.startswith("encoder.") and tensors[name].ndim)
    write_file(file, "images", content, {**tensors, name: tensors[name] + 1})
    with pytest.raises(InputError, match="made with other weights"):
        ImageClassifier.load(file)
    write_file(file, "images", content, {**tensors, name: tensors[name].reshape(-1)[:1]})
    with pytest.raises(BitreplayError):
        ImageClassifier.load(file)
    content["images"]["encoder"]["options"] = {"width": 2**20}
    write_file(file, "images", content, tensors)
    with pytest.raises(FileFormatError, match="does not hold the weights"):
        ImageClassifier.load(file)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": None, "width": 768}, "with weights of its own, and does not hold them"),
        ({"width": 768}, "numbers, expected at most"),
        ({"blocks": [10**9, 1, 1, 1]}, "expected at most 100 in all"),
        ({"tap": "1,weights=/etc/hostname"}, "tap must be"),
        ({"weights": "/etc/hostname"}, "with weights of its own, and does not hold them"),
    ],
)
def test_a_small_file_cannot_ask_for_a_large_network_or_another_file(
    saved: Path, options: dict[str, object], words: str
) -> None:
    content, tensors = read_file(saved)
    content["images"]["encoder"] |= {"name": "quicknet_v02", "options": options}
    write_file(saved, "images", {k: v for k, v in content.items() if k not in ("kind", "format_version")}, tensors)
    with pytest.raises(BitreplayError, match=words):
        ImageClassifier.load(saved)


@pytest.mark.parametrize("published", [True, False])
def test_weights_of_a_file_are_stored_unless_they_are_the_published_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, published: bool
) -> None:
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path))
    (tmp_path / "quicknet").mkdir()
    weights = write(tmp_path / "quicknet" / ("quicknet_v02.npz" if published else "mine.npz"), arrays())
    options = {"width": 8, "image_size": 64, "n_classes": 5, "blocks": (2, 2, 3, 3)}
    encoder = Encoder.from_pretrained("quicknet_v02", **options, **({} if published else {"weights": str(weights)}))
    ImageClassifier(encoder, GBMClassifier(random_state=0)).fit(photographs("red"), "red").save(tmp_path / "model")
    assert any(name.startswith("encoder.") for name in read_file(tmp_path / "model")[1]) != published
    if not published:
        weights.unlink()  # what the file names is not looked for
    assert ImageClassifier.load(tmp_path / "model").encoder_.weights == encoder.weights


def test_a_full_disk_leaves_the_model_as_it_was(saved: Path) -> None:
    before, clf = saved.read_bytes(), taught().forget("red")
    with largest_file(1000), pytest.raises(FullDiskError, match=str(saved.parent)):
        clf.save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_file_of_features_is_not_one_of_images(tmp_path: Path) -> None:
    untaught().fit(photographs("red"), "red").classifier_.save(tmp_path / "features")
    with pytest.raises(FileFormatError, match="holds no classifier of images"):
        ImageClassifier.load(tmp_path / "features")


def test_the_page_lists_what_is_in_the_file_and_how_weights_are_hashed(saved: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text()
    images = read_file(saved)[0]["images"]
    for key in ("encoder", "frame", "preprocessing", "times"):
        assert f"`images.{key}" in page
    for key in (*images["frame"], *images["preprocessing"]):
        assert f"`{key}`" in page
    for key in images["encoder"]:
        assert f"`images.encoder.{key}`" in page or f"`.{key}`" in page
    digest = hashlib.sha256()  # as the page says
    for name, tensor in sorted(small_network().state_dict().items()):
        digest.update(f"{name} {str(tensor.dtype).split('.')[1]} {list(tensor.shape)}\n".encode())
        digest.update(np.ascontiguousarray(tensor.numpy()).tobytes())
    assert images["encoder"]["weights"] == digest.hexdigest()
