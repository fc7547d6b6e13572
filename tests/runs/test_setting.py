"""Settings: defaults that fit the data, and what results depend on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitreplay import caches
from bitreplay.binarizers import Thermometer
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.runs import Prepared, Setting, Specification, run_learner
from bitreplay.training import TrainedNetwork
from tests.runs.problems import digits, save_network


def test_defaults_follow_the_data() -> None:
    assert (Setting("digits").encoder_name, Setting("digits").preset_name, Setting("digits").trains) == (
        "small_cnn",
        "digits",
        True,
    )
    assert (Setting("pets").encoder_name, Setting("pets").trains) == ("efficientnet_lite0", False)
    assert Setting("pets", encoder="resnet18").preset_name == "cpu"
    assert [len(task.classes) for task in Setting("digits").scenario()] == [5, 1, 1, 1, 1, 1]
    assert [len(task.classes) for task in Setting("digits", base=4, increment=3).scenario()] == [4, 3, 3]
    assert Setting("digits", order=None, sizes=[6, 4]).scenario()[1].classes.tolist() == [6, 7, 8, 9]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "resnet81"}, r"encoder must be one of resnet18, .* or a folder written by `bitreplay train`"),
        ({"encoder": "."}, "encoder must be one of"),
        ({"encoder": "resnet18:width"}, "options are written option=value"),
        ({"preset": "fast"}, "preset must be one of paper, cpu, .*; got 'fast'"),
    ],
)
def test_wrong_words_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Setting("digits", **options)  # type: ignore[arg-type]


def test_options_of_the_encoder() -> None:
    plain, slim = (Setting("digits", encoder=text, preset="cpu") for text in ("resnet18", "resnet18:width=8"))
    assert plain.backbone_options == {"width": 48, "stem_stride": 2}
    assert slim.backbone_options == {"width": 8, "stem_stride": 2}
    assert slim.encoder_name == "resnet18"
    assert slim.training_context().backbone_options == slim.backbone_options
    assert slim.determinants() != plain.determinants()
    binary = Setting("digits", encoder="binary_vgg:widths=8-16,groups=1-2,n_features=32")
    assert binary.backbone_options == {"widths": (8, 16), "groups": (1, 2), "n_features": 32}
    assert Setting("pets", encoder="quicknet:weights=null").trains
    assert Setting("pets", encoder="quicknet", preset="cpu_hybrid").trains
    assert not Setting("pets", encoder="quicknet").trains


def test_a_network_with_options_is_trained_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path))
    setting = Setting("digits", encoder="small_cnn:width=4", sizes=[2, 1], classes=3, accelerator="cpu")
    features = Prepared(setting).encoder.features(setting.scenario()[0].test)
    default = replace(setting, encoder="small_cnn")
    assert 8 * features.shape[1] == Prepared(default).encoder.features(default.scenario()[0].test).shape[1]


def test_results_depend_on_the_network_and_not_on_where_it_is(network: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(network, tmp_path / "moved")
    other = save_network(tmp_path / "other", seed=1)
    setting = digits(network)
    assert digits(moved).determinants() == setting.determinants()
    assert digits(other).determinants() != setting.determinants()
    assert replace(setting, accelerator="auto", devices=2).determinants() == setting.determinants()
    assert replace(setting, training_seed=1).determinants() != setting.determinants()


def test_a_network_for_other_classes_is_refused(network: Path) -> None:
    with pytest.raises(InputError, match="was trained on classes that differ from task 0"):
        _ = Prepared(digits(network, order=7)).encoder


def test_an_encoder_that_has_its_weights_is_not_trained(network: Path) -> None:
    setting = digits(network)
    with pytest.raises(InputError, match="comes with weights"):
        setting.trained(setting.scenario())


def test_what_is_prepared_computes_features_before_anybody_learns(network: Path) -> None:
    prepared = Prepared(digits(network))
    assert caches.entries() == []
    assert prepared.encoder is prepared.encoder
    assert [entry.kind for entry in caches.entries()] == ["features", "features"]


def test_a_binary_network_has_its_own_preset_unless_another_is_named() -> None:
    assert Setting(encoder="binary_vgg").preset_name == "cpu_binary"
    assert Setting(encoder="binary_vgg", preset="digits").preset_name == "digits"
    assert Setting(encoder="resnet18").preset_name == "cpu"


def test_methods_on_features_get_the_network_from_before_its_thermometer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    setting = Setting("digits", encoder="small_cnn:width=4", sizes=[2, 1], classes=3, accelerator="cpu")
    scenario = setting.scenario()
    trained = setting.trained(scenario, folder=tmp_path / "network", progress=False)
    for each in (setting, replace(setting, encoder=str(tmp_path / "network"))):
        prepared = Prepared(each)
        bits, features = prepared.encoder_for("bits"), prepared.encoder_for("features")
        assert isinstance(bits.binarizer, Thermometer)
        assert features.binarizer is None
        assert "network" not in bits.notes()
        assert features.notes()["network"] == "plain, before its phase with a thermometer"
        images = scenario[0].test
        np.testing.assert_array_equal(
            bits.features(images), Encoder.from_trained(trained, device="cpu").features(images)
        )
        plain = Encoder.from_trained(TrainedNetwork.load(tmp_path / "network" / "plain"), device="cpu")
        np.testing.assert_array_equal(features.features(images), plain.features(images))
        assert not np.array_equal(features.features(images), bits.features(images))


def test_where_there_is_no_plain_network_results_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path / "cache"))
    setting = Setting("digits", encoder="small_cnn:width=4", sizes=[2, 1], classes=3, accelerator="cpu")
    setting.trained(setting.scenario(), folder=tmp_path / "network", progress=False)
    shutil.rmtree(tmp_path / "network" / "plain")
    given = replace(setting, encoder=str(tmp_path / "network"))
    run = run_learner(given, Specification.parse("NearestMean"), 0, tmp_path / "runs")
    assert run.history is not None
    assert run.history.notes["network"] == "after its phase with a thermometer: no plain network available"


def test_a_plain_network_beside_it_counts(tmp_path: Path) -> None:
    network = save_network(tmp_path / "network")
    alone = digits(network).determinants()
    save_network(network / "plain", seed=1)
    assert digits(network).determinants() != alone
