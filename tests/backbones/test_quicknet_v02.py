"""QuickNet v0.2: the same as its operations one by one; its file is read by name, or refused; its tail is trained."""

import numpy as np
import pytest
import torch

from bitreplay.backbones import build_backbone
from bitreplay.binarizers import Native
from bitreplay.encoder import Encoder
from bitreplay.errors import FileFormatError, InputError
from tests.backbones.v02_files import arrays, naive, windows, write

OPTIONS = {"width": 8, "image_size": 64, "n_classes": 5}


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BITREPLAY_DATA", str(tmp_path / "data"))


def pictures(n=3, size=64):
    return np.random.default_rng(1).normal(0, 1, (n, size, size, 3)).astype(np.float32)


@pytest.mark.parametrize("tap", [1, 2, 3])
def test_signs_and_scores_are_those_of_the_plain_operations(tmp_path, tap):
    file = write(tmp_path / "weights.npz", arrays())
    network = build_backbone("quicknet_v02", weights=str(file), tap=tap, **OPTIONS).eval()
    scores, seen = naive(pictures(), arrays())
    images = torch.from_numpy(pictures()).permute(0, 3, 1, 2)
    with torch.no_grad():
        features = network(images)
        torch.testing.assert_close(network.whole(images).double(), torch.from_numpy(scores), rtol=1e-4, atol=1e-4)
    expected = seen[9 + tap]  # three sections come before, with ten binary convolutions
    assert len(seen) == 13
    assert 0.1 < (expected > 0).mean() < 0.9
    np.testing.assert_array_equal(features.numpy(), expected.transpose(0, 3, 1, 2).reshape(3, -1))
    assert features.shape[1] == network.n_features == 64 * 2 * 2


def test_the_tail_goes_on_where_the_bits_end(tmp_path):
    file = write(tmp_path / "weights.npz", arrays())
    network = build_backbone("quicknet_v02", weights=str(file), tap=3, **OPTIONS).eval()
    tail = network.tail(network.n_features, 7).eval()
    signs = naive(pictures(), arrays())[1][12]
    own = arrays()
    from_signs = signs + _block(signs, own)
    expected = np.maximum(from_signs, 0).mean((1, 2)) @ tail.dense.weight.detach().double().numpy().T
    flat = torch.from_numpy(signs.transpose(0, 3, 1, 2).reshape(3, -1).astype(np.float32))
    with torch.no_grad():
        found = (tail(flat) - tail.dense.bias).double().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    [weight] = [value for name, value in tail.named_parameters() if "convolution" in name]
    assert weight.abs().unique().tolist() == pytest.approx([0.1])  # a step can turn it; in F it stays
    assert network.layers.block_4_2.convolution.weight.abs().unique().tolist() == [1.0]


def _block(signs, own):
    sums = np.einsum("nhwcij,oijc->nhwo", windows(signs, 1, 1.0), own["bconv12.kernel"].astype(float))
    return np.maximum(sums, 0) * own["bconv12.mult"] + own["bconv12.bias"]


def test_it_is_found_by_name_and_brings_its_bits(tmp_path):
    with pytest.raises(InputError, match=r"put quicknet_v02\.npz into \$BITREPLAY_DATA/quicknet"):
        build_backbone("quicknet_v02", **OPTIONS)
    (tmp_path / "data" / "quicknet").mkdir(parents=True)
    write(tmp_path / "data" / "quicknet" / "quicknet_v02.npz", arrays())
    encoder = Encoder.from_pretrained("quicknet_v02", "cpu", **OPTIONS)
    assert isinstance(encoder.binarizer, Native)
    assert encoder.pretrained == "ImageNet"
    images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), dtype=np.uint8)
    features = encoder.features(images)
    np.testing.assert_array_equal(encoder.bits(images, encoder.binarizer).unpack(), features > 0)


def broken(how):
    content = arrays()
    if how == "missing":
        del content["bconv07.mult"]
    elif how == "shape":
        content["bn02.shift"] = content["bn02.shift"][:-1]
    elif how == "larger":
        content["dense.bias"] = np.zeros(100_000, np.float32)
    elif how == "zero":
        content["bconv03.kernel"][0, 0, 0, 0] = 0
    elif how == "nan":
        content["stem_conv.bias"][0] = np.nan
    elif how == "objects":
        content["stem_conv.bias"] = np.array([{"a": 1}], dtype=object)
    return content


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("missing", "it has no bconv07.mult"),
        ("shape", r"bn02.shift is float32 of shape \(15,\), expected \(16,\)"),
        ("larger", "dense.bias is larger than"),
        ("zero", "bconv03.kernel has values that are not ±1"),
        ("nan", "stem_conv.bias has values that are not finite"),
        ("objects", "is not a file of QuickNet v0.2's weights"),  # a pickle is never opened
    ],
)
def test_other_files_are_refused(tmp_path, how, words):
    file = write(tmp_path / "weights.npz", broken(how))
    with pytest.raises(FileFormatError, match=words):
        build_backbone("quicknet_v02", weights=str(file), **OPTIONS)


def test_what_is_no_archive_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        build_backbone("quicknet_v02", weights=str(tmp_path / "none.npz"), **OPTIONS)
    (tmp_path / "text.npz").write_bytes(b"not an archive")
    np.save(tmp_path / "one.npy", np.zeros(3))
    for name in ("text.npz", "one.npy"):
        with pytest.raises(FileFormatError, match="is not a"):
            build_backbone("quicknet_v02", weights=str(tmp_path / name), **OPTIONS)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tap": 4}, "tap must be one of the last section's convolutions, 1 to 3"),
        ({"width": 12}, "width must be a positive multiple of 8"),
        ({"image_size": 48}, "image_size must be a positive multiple of 32"),
        ({"blocks": (1, 1, 1)}, "blocks must be four positive integers"),
    ],
)
def test_options_out_of_range_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        build_backbone("quicknet_v02", weights=None, **options)
