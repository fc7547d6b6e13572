"""QuickNet's weights: read by order and shape, or refused; found, checked and fetched."""

import hashlib

import numpy as np
import pytest
import torch

from bitreplay import caches
from bitreplay.backbones import build_backbone, fetch_quicknet
from bitreplay.backbones._quicknet_weights import PUBLISHED, download, load_weights, published_weights
from bitreplay.errors import FileFormatError, InputError
from tests.backbones.keras_files import keras_layers, same_outputs, write_keras
from tests.backbones.test_quicknet import TINY, tiny

pytest.importorskip("h5py")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path / "data"))


@pytest.mark.parametrize("as_bytes", [True, False])
def test_weights_are_taken_by_order_whatever_their_names(tmp_path, as_bytes):
    saved, other = tiny(0), tiny(2)
    file = write_keras(tmp_path / "weights.h5", keras_layers(saved), as_bytes=as_bytes)
    assert not same_outputs(saved.whole, other.whole)
    load_weights(other, file)
    assert same_outputs(saved.whole, other.whole)
    built = build_backbone("quicknet", weights=str(file), **TINY).eval()
    assert same_outputs(saved.whole, built.whole)
    assert set(built.layers.block_1_1.convolution.weight.unique().tolist()) == {-1.0, 1.0}  # latent in the file
    assert torch.equal(built.layers.block_4_1.convolution.weight, saved.layers.block_4_1.convolution.weight)


def broken(layers, how):
    layers = [list(arrays) for arrays in layers]
    if how == "shape":
        layers[2][0] = np.zeros((3, 3, 5, 1), np.float32)
    elif how == "few":
        layers.pop()
    elif how == "many":
        layers.append([np.zeros(3, np.float32)])
    elif how == "arrays":
        layers[1].pop()
    elif how == "nan":
        layers[0][0] = np.full_like(layers[0][0], np.nan)
    return layers


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("shape", r"layer_14 has weights \[\(3, 3, 5, 1\)\], layers.stem.3 needs \[\(3, 3, 4, 1\)\]"),
        ("few", "it has 27 layers with weights, 28 are needed"),
        ("many", "it has 29 layers with weights, 28 are needed"),
        ("arrays", "layer_7 has weights"),
        ("nan", "NaN or infinite"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_and_changes_nothing(tmp_path, how, message):
    network = tiny(2)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    file = write_keras(tmp_path / "weights.h5", broken(keras_layers(tiny()), how))
    with pytest.raises(FileFormatError, match=message) as error:
        load_weights(network, file)
    assert str(file) in str(error.value)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_what_is_no_file_of_weights(tmp_path):
    import h5py

    with pytest.raises(InputError, match="there is no file"):
        load_weights(tiny(), tmp_path / "nothing.h5")
    (tmp_path / "text.h5").write_text("not an HDF5 file")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = np.zeros(3)
    whole = write_keras(tmp_path / "whole.h5", keras_layers(tiny())).read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    for name in ("text.h5", "other.h5", "cut.h5"):
        with pytest.raises(FileFormatError, match=f"{name} is not a file of weights as Keras saves them"):
            load_weights(tiny(), tmp_path / name)


def test_published_weights_that_are_not_here(tmp_path):
    with pytest.raises(InputError, match=r"releases/download/quicknet-v1.0/quicknet_large_weights.h5") as error:
        build_backbone("quicknet_large")
    assert str(tmp_path / "data" / "quicknet") in str(error.value)
    assert "fetch_quicknet('quicknet_large')" in str(error.value)
    with pytest.raises(InputError, match="no published weights of 'resnet18'"):
        fetch_quicknet("resnet18")


def test_a_published_file_is_checked(tmp_path):
    file = tmp_path / "data" / "quicknet" / "quicknet_weights.h5"
    file.parent.mkdir(parents=True)
    write_keras(file, keras_layers(tiny()))
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(FileFormatError, match=f"sha256 is {found}, expected {PUBLISHED['quicknet'].sha256}"):
        published_weights("quicknet")


def test_a_download_is_whole_and_right_or_not_there(tmp_path):
    source = tmp_path / "weights.h5"
    source.write_bytes(b"weights" * 1000)
    right = hashlib.sha256(source.read_bytes()).hexdigest()
    with pytest.raises(FileFormatError, match="expected 000"):
        download(source.as_uri(), "0" * 64)
    with pytest.raises(InputError, match="cannot download"):
        download((tmp_path / "nothing.h5").as_uri(), right)
    assert caches.entries() == []
    assert download(source.as_uri(), right).read_bytes() == source.read_bytes()
    assert [entry.description for entry in caches.entries()] == ["weights.h5"]
