"""Settings: defaults that fit the data, and what results depend on."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay import caches
from bitreplay.binarizers import Native, Thermometer
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.learners import FrozenLearner
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


def test_a_protocol_stands_for_its_options() -> None:
    by_name = Setting("cifar100", protocol="few-shot")
    assert (by_name.base, by_name.increment, by_name.samples_per_class) == (60, 5, 5)
    spelled_out = Setting("cifar100", base=60, increment=5, samples_per_class=5)
    assert by_name.determinants() == spelled_out.determinants()  # the same runs
    assert Setting(**asdict(by_name)) == by_name  # as a run's configuration is read again
    assert Setting("cifar100", protocol="few-shot", tasks=8, classes=100).determinants() != {}
    tiny = Setting("tiny_imagenet", protocol="few-shot")
    assert (tiny.base, tiny.increment, tiny.samples_per_class) == (100, 10, 5)


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        ("cifar100", {"base": 50}, "few-shot protocol of cifar100 has base=60; got base=50. Omit one of the two"),
        ("cifar100", {"increment": 10}, "has increment=5; got increment=10"),
        ("cifar100", {"samples_per_class": 1}, "has samples_per_class=5"),
        ("cifar100", {"tasks": 10}, "has tasks=8"),
        ("tiny_imagenet", {"classes": 100}, "has classes=200"),
        ("cifar100", {"sizes": [60, *[5] * 8]}, "omit sizes"),
        ("digits", {}, "defined for cifar100 and tiny_imagenet; for 'digits' give base, increment and samples_per"),
        ("cifar100", {"protocol": "one-shot"}, "protocol must be one of few-shot; got 'one-shot'"),
    ],
)
def test_what_contradicts_a_protocol_is_refused(dataset: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Setting(dataset, **{"protocol": "few-shot", **options})


def test_a_draw_is_part_of_what_results_depend_on() -> None:
    few = Setting("digits", base=6, increment=2, samples_per_class=5)
    assert "draw" not in few.determinants()  # runs of before there were draws stay found
    assert replace(few, draw=1).determinants() != few.determinants()
    one, other = (replace(few, draw=draw).scenario() for draw in (0, 1))
    assert not np.array_equal(one[1].train.indices, other[1].train.indices)
    assert few.notes() == {"few-shot": "5 samples of every class after task 0"}
    assert Setting("digits").notes() == {}
    with pytest.raises(InputError, match="draw must be an integer of at least 0; got -1"):
        replace(few, draw=-1)


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


def test_calibrated_thresholds_replace_those_of_the_training(tmp_path: Path) -> None:
    setting = Setting("digits", encoder="small_cnn:width=4", sizes=[2, 1], classes=3, accelerator="cpu")
    scenario = setting.scenario()
    setting.trained(scenario, folder=tmp_path / "network", progress=False)
    own = replace(setting, encoder=str(tmp_path / "network"))
    for each in (setting, own):
        calibrated = Prepared(replace(each, binarizer="calibrated"))
        assert Prepared(each).encoder_for("features").key == calibrated.encoder_for("features").key  # as before
        encoder = calibrated.encoder_for("bits")
        assert encoder.binarizer is None
        assert encoder.notes()["network"] == "its own thresholds dropped, others calibrated on task 0"
        features = Prepared(each).encoder_for("bits").features(scenario[0].train)  # of the same network
        np.testing.assert_array_equal(encoder.features(scenario[0].train), features)
        learner = Specification.parse("GBM:p=2,prototypes=1").learner(calibrated, seed=0)
        learner.learn(scenario[0])
        assert isinstance(learner, FrozenLearner)
        assert isinstance(learner.method.code, Thermometer)
        thirds = np.quantile(features, [1 / 3, 2 / 3], axis=0).T
        np.testing.assert_allclose(learner.method.code.thresholds.numpy(), thirds, rtol=1e-6)
        assert replace(each, binarizer="calibrated").determinants() != each.determinants()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"encoder": "binary_vgg"}, "those of binary_vgg are already binary"),
        ({"encoder": "efficientnet_lite0", "p": 2}, "bits per feature are an option of the learner: GBM:p=2"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Setting("digits", binarizer="calibrated", **options)


def test_binary_features_have_no_thresholds_to_calibrate(network: Path) -> None:
    native = replace(TrainedNetwork.load(network), binarizer=Native())
    native.save(network.parent / "native")
    with pytest.raises(InputError, match="those of this network are already binary"):
        _ = Prepared(digits(network.parent / "native", binarizer="calibrated")).encoder


@pytest.mark.parametrize("options", [{"p": 4}, {"f": 4}, {"binarizer": "heaviside"}])
def test_options_of_a_training_are_refused_where_none_takes_place(network: Path, options: dict[str, Any]) -> None:
    for encoder in (str(network), "efficientnet_lite0"):
        with pytest.raises(InputError, match="are for an encoder to be trained"):
            Setting("digits", encoder=encoder, **options)


def test_one_class_is_not_enough_to_train_an_encoder_on() -> None:
    setting = Setting("digits", sizes=[1, 9])
    with pytest.raises(InputError, match="task 0 has one class"):
        setting.trained(setting.scenario())


def test_only_to_look_on_leaves_the_authors_recipes_as_they_are() -> None:
    def budget(**training: Any) -> Any:
        return (
            Setting("digits", preset="paper", encoder="resnet18", training=training or None).training_context().budget
        )

    assert budget() is None
    assert budget(evaluate_every=10) is None
    assert budget(epochs=3).epochs == 3


def test_training_options_are_those_of_methods_that_train_a_network_of_their_own() -> None:
    setting = Setting("digits", encoder="efficientnet_lite0", preset="small", training={"epochs": 1})
    prepared = Prepared(setting)  # which has no say in whether there will be an encoder
    with pytest.raises(InputError, match="takes no training options"):
        prepared.encoder_for("bits")
