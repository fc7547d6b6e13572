"""Encoder: what the backbone computes, computed once, whatever happens to the process that computes it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import nn

from bitreplay import caches
from bitreplay.backbones import Preprocessing, SmallCNN, build_backbone
from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.data import ImageDataset, Samples, from_arrays
from bitreplay.encoder import Encoder
from bitreplay.encoder._encoder import BATCH, LARGEST_LAYER, SAVED_EVERY
from bitreplay.errors import InputError
from bitreplay.training import TrainedNetwork

N_TRAIN = 3 * SAVED_EVERY * BATCH // 2 + 10  # more batches than are noted at once, the last one not full
PREPROCESSING = Preprocessing(mean=(0.4,), std=(0.3,))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def dataset() -> ImageDataset:
    rng = np.random.default_rng(0)
    images = [rng.integers(0, 256, (n, 4, 4, 1), dtype=np.uint8) for n in (N_TRAIN, 40)]
    return from_arrays(images[0], np.arange(N_TRAIN) % 5, images[1], np.arange(40) % 5, name="noise")


def samples(dataset: ImageDataset, indices: npt.ArrayLike, part: str = "train") -> Samples:
    return Samples(dataset, part, np.asarray(indices, dtype=np.int64))  # type: ignore[arg-type]


class Counting(nn.Module):
    """A linear layer on pixels that remembers how many images it saw in each call, and may be killed in one."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 6)
        generator = torch.Generator().manual_seed(seed)
        for parameter in self.layer.parameters():
            nn.init.normal_(parameter, generator=generator)
        self._record = SimpleNamespace(calls=[], killed_in=[])  # no part of what it computes

    @property
    def calls(self) -> list[int]:
        return self._record.calls

    @property
    def killed_in(self) -> list[int]:
        return self._record.killed_in

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        if len(images) and not images.any():  # a look at how large its layers are
            return self.layer(images.flatten(1))
        if len(self.calls) in self.killed_in:
            self.killed_in.remove(len(self.calls))
            raise KeyboardInterrupt
        self.calls.append(len(images))
        return self.layer(images.flatten(1))


def expected(backbone: nn.Module, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """By hand: scaled pixels through the backbone, batch by batch as it must be to agree to the last digit."""
    pixels = (torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 - 0.4) / 0.3
    with torch.no_grad():
        return torch.cat([backbone(block) for block in pixels.split(BATCH)]).numpy()


def make(backbone: nn.Module, **options: object) -> Encoder:
    return Encoder(backbone, PREPROCESSING, name="test", device="cpu", **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------ features


def test_features_are_the_backbones(dataset: ImageDataset) -> None:
    backbone = build_backbone("small_cnn", width=4, generator=torch.Generator().manual_seed(0)).eval()
    indices = np.random.default_rng(1).permutation(N_TRAIN)[:600]
    features = make(backbone).features(samples(dataset, indices))
    assert features.dtype == np.float32
    whole = expected(backbone, np.asarray(dataset.train.images))
    np.testing.assert_allclose(features, whole[indices], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(make(backbone).features(dataset.test.images), expected(backbone, dataset.test.images))


def test_the_backbone_is_frozen_and_neither_learns_nor_drops_anything() -> None:
    backbone = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(16), nn.Dropout(0.9))
    encoder = make(backbone)
    images = np.random.default_rng(0).integers(0, 256, (50, 4, 4, 1), dtype=np.uint8)
    first = encoder.features(images)
    np.testing.assert_array_equal(first, encoder.features(images))
    assert not backbone.training
    assert not any(parameter.requires_grad for parameter in backbone.parameters())
    np.testing.assert_array_equal(backbone[1].running_mean.numpy(), np.zeros(16))


def test_every_image_is_encoded_once(dataset: ImageDataset) -> None:
    backbone = Counting()
    encoder = make(backbone)
    first = encoder.features(samples(dataset, [3, 1, 2]))
    assert sum(backbone.calls) == N_TRAIN
    encoder.features(samples(dataset, range(100)))
    np.testing.assert_array_equal(make(backbone).features(samples(dataset, [3, 1, 2])), first)
    assert sum(backbone.calls) == N_TRAIN
    encoder.features(samples(dataset, [0], "test"))
    assert sum(backbone.calls) == N_TRAIN + 40


def test_no_images_have_features_too(dataset: ImageDataset) -> None:
    encoder = make(Counting())
    assert encoder.features(dataset.train.images[:0]).shape == (0, 6)
    assert encoder.features(samples(dataset, [])).shape == (0, 6)
    assert encoder.bits(samples(dataset, []), Thermometer()).shape == (0, 6)


def test_killed_and_killed_again_it_goes_on_where_it_stopped(dataset: ImageDataset) -> None:
    whole = make(Counting()).features(samples(dataset, range(N_TRAIN)))
    caches.clean()
    backbone = Counting()
    backbone.killed_in[:] = [0, 5, SAVED_EVERY + 7]
    encoder = make(backbone)
    everything = samples(dataset, range(N_TRAIN))
    for calls in (0, 5, SAVED_EVERY + 7):
        with pytest.raises(KeyboardInterrupt):
            encoder.features(everything)
        assert len(backbone.calls) == calls
        assert caches.find("features", encoder._cache_key(everything)) is None
    # 5 batches were lost in the first attempt; in the second, 8 were noted and 7 - 5 = 2 more were lost.
    np.testing.assert_array_equal(encoder.features(everything), whole)
    lost = 5 + (7 - 5)
    assert len(backbone.calls) == lost + -(-N_TRAIN // BATCH)


@pytest.mark.parametrize("damage", ["no file", "other length", "cut", "strange note"])
def test_a_working_folder_that_does_not_fit_is_not_used(dataset: ImageDataset, cache: Path, damage: str) -> None:
    backbone = Counting()
    backbone.killed_in[:] = [SAVED_EVERY + 1]
    encoder = make(backbone)
    with pytest.raises(KeyboardInterrupt):
        encoder.features(samples(dataset, [0]))
    (working,) = (cache / "features").glob(".*.part")
    file = working / "features.npy"
    if damage == "no file":
        file.unlink()
    elif damage == "other length":
        np.save(file, np.zeros((7, 6), dtype=np.float32))
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:500])
    else:
        (working / "done.json").write_text("[")
    features = encoder.features(samples(dataset, range(N_TRAIN)))
    np.testing.assert_array_equal(features, expected(backbone, np.asarray(dataset.train.images)))


def test_a_cache_that_vanished_is_computed_again(dataset: ImageDataset, cache: Path) -> None:
    encoder = make(Counting())
    before = encoder.features(samples(dataset, [0, 1]))
    shutil.rmtree(cache)
    np.testing.assert_array_equal(encoder.features(samples(dataset, [0, 1])), before)


# ------------------------------------------------------------------ bits


@pytest.mark.parametrize("kind", ["thermometer", "calibrated", "heaviside"])
def test_bits_are_those_of_the_features_and_cached(dataset: ImageDataset, kind: str) -> None:
    backbone = Counting()
    encoder = make(backbone)
    chosen = samples(dataset, np.random.default_rng(0).permutation(N_TRAIN)[:500])
    features = encoder.features(chosen)
    binarizer: Thermometer | Heaviside
    if kind == "heaviside":
        binarizer = Heaviside(6, 3, generator=torch.Generator().manual_seed(1))
    else:
        binarizer = Thermometer(2, calibrated=kind == "calibrated")
        binarizer.calibrate(features)
    bits = encoder.bits(chosen, binarizer)
    np.testing.assert_array_equal(bits.unpack(), binarizer.pack(features).unpack())
    assert bits.unpack().any()
    assert not bits.unpack().all()
    np.testing.assert_array_equal(encoder.bits(chosen, binarizer).unpack(), bits.unpack())
    assert len([entry for entry in caches.entries() if entry.kind == "bits"]) == 1
    images = encoder.bits(chosen.images, binarizer)
    assert (images.unpack() != bits.unpack()).mean() < 1e-3  # other batches: a threshold may be met by rounding


def test_other_thresholds_are_other_bits(dataset: ImageDataset) -> None:
    encoder = make(Counting())
    chosen = samples(dataset, range(200))
    one, other = Thermometer(1, calibrated=True), Thermometer(1, calibrated=True)
    one.calibrate(encoder.features(chosen))
    other.calibrate(encoder.features(chosen) + 1)
    assert (encoder.bits(chosen, one).unpack() > encoder.bits(chosen, other).unpack()).any()


# ------------------------------------------------------------------ keys


class Scaled(nn.Module):
    """Code and an attribute decide what it computes, not weights."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.factor * images.flatten(1)


def test_a_key_stands_for_what_the_network_computes() -> None:
    keys = {
        make(Counting(0)).key,
        make(Counting(1)).key,
        make(Scaled(1.0)).key,
        make(Scaled(2.0)).key,
        make(nn.Sequential(nn.Flatten(), nn.ReLU())).key,
        make(nn.Sequential(nn.Flatten(), nn.Tanh())).key,
        Encoder(Counting(0), Preprocessing(mean=(0.5,), std=(0.3,)), name="test", device="cpu").key,
    }
    assert len(keys) == 7
    assert "" not in keys
    assert make(Counting(0)).key == make(Counting(0)).key
    trained = Counting(0).train()
    trained.layer.bias.requires_grad_(False)
    assert make(trained).key == make(Counting(0)).key


def test_a_key_depends_on_tensors_that_are_not_saved_and_on_code_of_the_users(tmp_path: Path) -> None:
    def with_buffer(value: float) -> nn.Module:
        module = nn.Sequential(nn.Flatten())
        module.register_buffer("constant", torch.tensor(value, dtype=torch.bfloat16), persistent=False)
        return module

    assert make(with_buffer(1.0)).key != make(with_buffer(2.0)).key

    def from_code(name: str, body: str) -> nn.Module:
        file = tmp_path / f"{name}.py"
        code = "class Own(torch.nn.Module):\n    def forward(self, images):\n        return "
        file.write_text(f"import torch\n\n{code}{body}\n")
        found = importlib.util.spec_from_file_location(name, file)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules[name] = module  # where `inspect` looks for its source
        found.loader.exec_module(module)
        own: nn.Module = module.Own()
        return own

    assert make(from_code("own_one", "images.flatten(1)")).key != make(from_code("own_two", "-images.flatten(1)")).key


def test_a_function_is_not_cached(dataset: ImageDataset, cache: Path) -> None:
    calls: list[int] = []

    def flat(images: torch.Tensor) -> torch.Tensor:
        calls.append(len(images))
        return images.flatten(1)

    encoder = Encoder(flat, PREPROCESSING, name="pixels", device="cpu")
    assert encoder.key == ""
    chosen = samples(dataset, [5, 3])
    np.testing.assert_array_equal(encoder.features(chosen), encoder.features(chosen.images))
    assert encoder.bits(chosen, Thermometer()).shape == (2, 16)
    assert calls == [2, 2, 2]
    assert not cache.exists()


# ------------------------------------------------------------------ names


def test_a_trained_network_brings_name_and_binarizer(tmp_path: Path) -> None:
    backbone = build_backbone("small_cnn", width=4, generator=torch.Generator().manual_seed(0))
    binarizer = Thermometer(2)
    head = np.zeros((3, 32), np.float32), np.zeros(3, np.float32)
    trained = TrainedNetwork(
        backbone, binarizer, *head, PREPROCESSING, np.arange(3), {}, "key", "small_cnn", {"width": 4}
    )
    encoder = Encoder.from_trained(trained, "cpu")
    assert (encoder.name, encoder.binarizer, encoder.notes()) == ("small_cnn", binarizer, {"encoder": "small_cnn"})
    trained.save(tmp_path / "network")
    assert Encoder.from_trained(TrainedNetwork.load(tmp_path / "network"), "cpu").key == encoder.key


def test_what_a_pretrained_encoder_has_seen_is_noted() -> None:
    assert make(Counting(), pretrained="ImageNet").notes() == {"encoder": "test", "pretrained": "ImageNet"}
    for name in ("resnet18", "nothing"):
        with pytest.raises(InputError, match=f"no pretrained backbone '{name}'; there is efficientnet_lite0"):
            Encoder.from_pretrained(name)


def test_a_pretrained_network_of_another_size_gets_images_of_that_size():
    small = {"blocks": (1, 1, 1, 1), "filters": (8, 8, 8, 8)}
    encoder = Encoder.from_pretrained("quicknet", weights=None, image_size=64, **small)
    images = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 3)).astype(np.uint8)
    assert encoder.preprocessing.size == 64
    assert encoder.features(images).shape == (2, 8 * 2 * 2)


def test_another_version_of_our_own_network_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Encoder(build_backbone("small_cnn"), Preprocessing((0.5,), (0.5,)), name="ours").key
    network = build_backbone("small_cnn", generator=torch.Generator().manual_seed(0))
    one, again = (Encoder(network, Preprocessing((0.5,), (0.5,)), name="ours").key for _ in range(2))
    assert one == again != before
    monkeypatch.setattr(SmallCNN, "VERSION", 2, raising=False)
    assert Encoder(network, Preprocessing((0.5,), (0.5,)), name="ours").key != one
    monkeypatch.undo()
    monkeypatch.setattr("bitreplay.encoder._encoder.VERSION", 99)
    assert Encoder(network, Preprocessing((0.5,), (0.5,)), name="ours").key != one


def test_batches_are_as_large_as_their_layers_allow() -> None:
    encoder = make(nn.Sequential(nn.Conv2d(1, 64, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()))
    assert encoder.batch_size((1, 8, 8)) == BATCH
    assert encoder.batch_size((1, 224, 224)) == LARGEST_LAYER // (64 * 224 * 224 * 4) == 1
    assert encoder.batch_size((1, 64, 64)) == LARGEST_LAYER // (64 * 64 * 64 * 4) == 19
    seen: list[int] = []
    encoder.backbone.register_forward_hook(lambda *given: seen.append(len(given[2])))  # type: ignore[union-attr]
    images = np.random.default_rng(0).integers(0, 256, (50, 64, 64, 1), dtype=np.uint8)
    assert encoder.features(images).shape == (50, 64)
    assert seen == [19, 19, 12]
