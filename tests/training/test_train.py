import csv
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay import caches
from bitreplay.backbones import BACKBONES, Preprocessing, build_backbone
from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.data import load_dataset, make_scenario
from bitreplay.errors import FileFormatError, InputError
from bitreplay.nn import network_hash
from bitreplay.training import PRESETS, TrainedNetwork, train_base
from bitreplay.training._bf16 import bf16_works
from tests.backbones.keras_files import keras_layers, write_keras
from tests.training.problems import TINY, tiny_task

pytest.importorskip("lightning_fabric", reason="Lightning Fabric is not installed")
QUIET = {"accelerator": "cpu", "progress": False}
SMALL = {"backbone": "small_cnn", "backbone_options": {"width": 4}, "options": TINY}


def scores(trained: TrainedNetwork, images: np.ndarray) -> np.ndarray:
    """What the whole line answers, put together from its parts."""
    with torch.inference_mode():
        features = trained.backbone(trained.preprocessing(torch.from_numpy(images)))
        if trained.binarizer is not None:
            features = trained.binarizer.decode(trained.binarizer.encode(features))
    return features.numpy() @ trained.head_weight.T + trained.head_bias


def accuracy(trained: TrainedNetwork, samples) -> float:
    return float((trained.classes[scores(trained, samples.images).argmax(1)] == samples.labels).mean())


def test_digits_train_in_two_phases_and_what_is_saved_is_what_was_measured(tmp_path):
    task = make_scenario(load_dataset("digits"), sizes=[5, 5])[0]
    options = replace(PRESETS["digits"], epochs=5, ste_epochs=3)
    before = torch.get_rng_state()
    trained = train_base(task, "small_cnn", options, backbone_options={"width": 8}, folder=tmp_path, **QUIET)
    assert torch.equal(torch.get_rng_state(), before)
    assert set(trained.accuracy) == {"plain", "plain_then_binarized", "straight_through"}
    assert trained.accuracy["plain"] > 0.95
    assert trained.accuracy["straight_through"] > 0.95
    assert isinstance(trained.binarizer, Thermometer)
    assert accuracy(trained, task.test) == trained.accuracy["straight_through"]
    assert not trained.backbone.training
    assert not any(parameter.requires_grad for parameter in trained.backbone.parameters())
    logs = []
    for path in (tmp_path / "plain" / "log.csv", tmp_path / "log.csv"):
        with path.open() as file:
            logs.append(list(csv.DictReader(file)))
    assert [[row["phase"] for row in rows] for rows in logs] == [["plain"] * 5, ["straight_through"] * 3]
    assert float(logs[0][-1]["test_accuracy"]) == trained.accuracy["plain"]
    assert float(logs[1][-1]["test_accuracy"]) == trained.accuracy["straight_through"]
    assert float(logs[0][0]["loss"]) > float(logs[0][4]["loss"])
    assert not list(tmp_path.rglob("*checkpoint*"))

    plain = TrainedNetwork.load(tmp_path / "plain")
    assert (plain.binarizer, plain.accuracy) == (None, {"plain": trained.accuracy["plain"]})
    assert accuracy(plain, task.test) == trained.accuracy["plain"]
    put_in = replace(plain, binarizer=trained.binarizer)
    assert accuracy(put_in, task.test) == trained.accuracy["plain_then_binarized"]

    loaded = TrainedNetwork.load(tmp_path)
    assert (loaded.key, loaded.accuracy, loaded.preprocessing) == (
        trained.key,
        trained.accuracy,
        trained.preprocessing,
    )
    np.testing.assert_array_equal(scores(loaded, task.test.images), scores(trained, task.test.images))


BF16 = pytest.param("bf16-mixed", marks=pytest.mark.skipif(not bf16_works(), reason="bfloat16 kills processes here"))


@pytest.mark.parametrize("precision", ["32-true", BF16])
def test_heaviside_trains_in_one_phase(tmp_path, precision):
    trained = train_base(
        tiny_task(), **SMALL, binarizer="heaviside", f=3, folder=tmp_path, precision=precision, **QUIET
    )
    assert set(trained.accuracy) == {"binarized"}
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 1 + TINY.epochs + TINY.ste_epochs
    assert isinstance(trained.binarizer, Heaviside)
    assert trained.head_weight.shape == (3, 3 * trained.backbone.n_features)
    assert trained.head_weight.dtype == np.float32
    assert accuracy(trained, tiny_task().test) == pytest.approx(trained.accuracy["binarized"], abs=0.05)


def test_images_are_normalised_by_their_own_mean_and_resized_to_the_last_size(tmp_path):
    task = tiny_task(channels=3)
    trained = train_base(task, **SMALL, binarizer="none", folder=tmp_path, **QUIET)
    pixels = task.train.images / 255
    np.testing.assert_allclose(trained.preprocessing.mean, pixels.mean((0, 1, 2)), atol=1e-4)
    np.testing.assert_allclose(trained.preprocessing.std, pixels.std((0, 1, 2)), atol=1e-4)
    assert trained.preprocessing.size == 8
    assert trained.binarizer is None


def test_a_network_of_the_users_own_is_trained_as_a_copy_and_its_dropout_repeats(tmp_path):
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Dropout(0.5))  # no n_features
    kept = {name: value.clone() for name, value in own.state_dict().items()}
    options = replace(TINY, image_sizes=(), augmentation="none")
    first, second = (
        train_base(tiny_task(), own, options, folder=tmp_path / name, **QUIET) for name in ("first", "second")
    )
    assert all(torch.equal(value, kept[name]) for name, value in own.state_dict().items())
    assert first.head_weight.shape == (3, 12)
    np.testing.assert_array_equal(first.head_weight, second.head_weight)
    with pytest.raises(InputError, match="pass one like it"):
        TrainedNetwork.load(tmp_path / "first")
    loaded = TrainedNetwork.load(tmp_path / "first", own)
    images = tiny_task().test.images
    np.testing.assert_array_equal(scores(loaded, images), scores(first, images))


def test_the_cache_is_shared_by_those_who_ask_for_the_same_and_only_by_them(tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path))
    first = train_base(tiny_task(), **SMALL, **QUIET)
    assert [entry.finished for entry in caches.entries()] == [True, True]  # of both phases
    written = (caches.folder("backbones", first.key) / "network.safetensors").stat().st_mtime_ns
    again = train_base(tiny_task(), **SMALL, **QUIET)
    assert again.key == first.key
    assert (caches.folder("backbones", first.key) / "network.safetensors").stat().st_mtime_ns == written
    other = train_base(tiny_task(), **SMALL, seed=1, **QUIET)
    assert other.key != first.key
    assert not np.array_equal(other.head_weight, first.head_weight)


def test_networks_with_other_thermometers_share_the_plain_one(tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path))
    one, two = (train_base(tiny_task(), **SMALL, p=p, **QUIET) for p in (1, 2))
    plain = train_base(tiny_task(), **SMALL, binarizer="none", **QUIET)
    faster = {**SMALL, "options": replace(TINY, ste_learning_rate=0.01)}
    again = train_base(tiny_task(), **faster, **QUIET)
    assert len(caches.entries()) == 4  # one plain network, and three that began as it
    assert len({one.key, two.key, plain.key, again.key}) == 4
    assert one.accuracy["plain"] == two.accuracy["plain"] == plain.accuracy["plain"] == again.accuracy["plain"]
    assert not np.array_equal(one.head_weight, two.head_weight)


def test_without_epochs_the_thermometer_is_only_put_in(tmp_path):
    trained = train_base(tiny_task(), **{**SMALL, "options": replace(TINY, ste_epochs=0)}, folder=tmp_path, **QUIET)
    plain = TrainedNetwork.load(tmp_path / "plain")
    assert isinstance(trained.binarizer, Thermometer)
    assert set(trained.accuracy) == {"plain", "plain_then_binarized"}
    np.testing.assert_array_equal(trained.head_weight, plain.head_weight)


def test_the_control_is_trained_as_long_without_a_thermometer(tmp_path):
    options = replace(TINY, continued=True)
    trained = train_base(tiny_task(), **{**SMALL, "options": options}, binarizer="none", folder=tmp_path, **QUIET)
    assert trained.binarizer is None
    assert set(trained.accuracy) == {"plain", "continued"}
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 1 + TINY.ste_epochs
    assert not np.array_equal(trained.head_weight, TrainedNetwork.load(tmp_path / "plain").head_weight)


def test_a_folder_with_another_training_is_refused(tmp_path):
    train_base(tiny_task(), **SMALL, folder=tmp_path, **QUIET)
    with pytest.raises(InputError, match="trained differently"):
        train_base(tiny_task(), **SMALL, seed=1, folder=tmp_path, **QUIET)


def test_bad_input_is_refused_before_anything_is_written(tmp_path):
    task = tiny_task()
    empty = replace(task, train=task.train.subset([]))
    for arguments, message in (
        ({**SMALL, "task": empty}, "no training images"),
        ({**SMALL, "task": task, "precision": "8-true"}, "precision"),
        ({**SMALL, "task": task, "binarizer": "sign"}, "binarizer"),
        ({**SMALL, "task": task, "p": 0}, "p "),
        ({**SMALL, "task": task, "seed": -1}, "seed"),
        ({**SMALL, "task": task, "devices": 0}, "devices"),
        ({"task": task, "backbone": nn.Flatten(), "backbone_options": {"width": 4}}, "already built"),
    ):
        with pytest.raises(InputError, match=message):
            train_base(**arguments, folder=tmp_path / "new", **QUIET)
    assert not (tmp_path / "new").exists()


def test_a_damaged_file_is_refused(tmp_path):
    train_base(tiny_task(), **SMALL, folder=tmp_path, **QUIET)
    file = tmp_path / "network.safetensors"
    content = bytearray(file.read_bytes())
    content[-10] ^= 1
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match="altered"):
        TrainedNetwork.load(tmp_path)


def test_a_network_from_a_file_of_weights_is_loaded_without_that_file(tmp_path):
    pytest.importorskip("h5py")
    shape = {"blocks": (1, 1, 1, 1), "filters": (8, 8, 8, 8), "image_size": 32}
    options = replace(TINY, epochs=1, ste_epochs=0, image_sizes=(), augmentation="none")
    task, keys = tiny_task(n=24, size=16, channels=3), []
    for seed in (0, 1):
        network = build_backbone("quicknet", weights=None, generator=torch.Generator().manual_seed(seed), **shape)
        file = write_keras(tmp_path / "weights.h5", keras_layers(network))
        started = {**shape, "weights": str(file)}
        trained = train_base(task, "quicknet", options, backbone_options=started, folder=tmp_path / str(seed), **QUIET)
        keys.append(trained.key)
        file.unlink()
        images = task.test.images
        np.testing.assert_array_equal(
            scores(TrainedNetwork.load(tmp_path / str(seed)), images), scores(trained, images)
        )
    assert trained.preprocessing == replace(BACKBONES["quicknet"].preprocessing, size=32)
    assert keys[0] != keys[1]  # one path, other weights


@pytest.mark.parametrize(
    ("images", "sizes", "message"),
    [
        ({"size": 16}, (8, 16), "8 x 8 pixels"),  # the bottleneck sees the whole map
        ({"size": 16, "channels": 3}, (8,), None),
        ({"size": 16}, (), None),
    ],
)
def test_networks_made_for_one_image_size_get_that_of_the_training(tmp_path, images, sizes, message):
    arguments = {
        "options": replace(TINY, epochs=1, image_sizes=sizes, augmentation="none"),
        "backbone_options": {"widths": (8, 8), "groups": (1, 1), "n_features": 16, "levels": 3},
        "binarizer": "native",
        "folder": tmp_path / "new",
    }
    if message is None:
        trained = train_base(tiny_task(n=24, **images), "binary_vgg", **arguments, **QUIET)
        assert trained.backbone_options["image_size"] == (sizes or (16,))[-1]
    else:
        with pytest.raises(InputError, match=message):
            train_base(tiny_task(n=24, **images), "binary_vgg", **arguments, **QUIET)
        assert not (tmp_path / "new").exists()


def test_preprocessing_can_be_given(tmp_path):
    given = Preprocessing((0.25,), (0.5,))
    options = replace(TINY, image_sizes=())
    trained = train_base(
        tiny_task(), "small_cnn", options, backbone_options={"width": 4}, preprocessing=given, folder=tmp_path, **QUIET
    )
    assert trained.preprocessing == given


def test_progress_says_where_the_training_is(tmp_path, capsys):
    options = replace(TINY, epochs=1, ste_epochs=1, augmentation="none")
    train_base(tiny_task(), "small_cnn", options, folder=tmp_path, accelerator="cpu")
    shown = capsys.readouterr().out
    assert "straight_through 1/1" in shown
    assert "100%" in shown


class Active(nn.Module):
    """A network whose activation is an attribute."""

    def __init__(self, active, *, taps=(0,)):
        super().__init__()
        torch.manual_seed(0)
        self.line, self.active, self.taps = nn.Linear(64, 8), active, list(taps)

    def forward(self, images):
        return self.active(self.line(images.flatten(1)))


def test_networks_that_differ_in_an_attribute_alone_are_not_taken_for_one_another():
    own = {"options": replace(TINY, image_sizes=(8,), augmentation="none"), "binarizer": "none", **QUIET}
    with torch.random.fork_rng(devices=[]):
        networks = [Active(torch.relu), Active(torch.tanh), Active(torch.relu, taps=(1,))]
    assert len({network_hash(network) for network in networks}) == 3
    relu, tanh = (train_base(tiny_task(), network, **own) for network in networks[:2])
    assert relu.key != tanh.key
    networks[0].requires_grad_(False)
    with pytest.raises(InputError, match="the backbone is frozen"):
        train_base(tiny_task(), networks[0], **own)


@pytest.mark.parametrize("rate", [1e6, 1e30])
def test_a_training_that_diverges_says_so_and_leaves_no_network(tmp_path, rate):
    options = replace(TINY, learning_rate=rate, schedule="steps")
    with pytest.raises(InputError, match="diverged"):
        train_base(tiny_task(), **{**SMALL, "options": options}, folder=tmp_path, **QUIET)
    assert not list(tmp_path.rglob("network.safetensors"))


def test_a_batch_has_an_image_for_every_device():
    with pytest.raises(InputError, match="2 devices need at least as many images in a batch; got 1"):
        train_base(tiny_task(), **{**SMALL, "options": replace(TINY, batch_size=1)}, devices=2, **QUIET)
