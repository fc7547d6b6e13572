"""Training of networks with binary weights, with a binary G."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from bitreplay import caches
from bitreplay.binarizers import Native
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.nn import binary_layers, pack_network
from bitreplay.training import TrainedNetwork, TrainingOptions, train_base
from bitreplay.training import _loop as loop
from tests.training.problems import TINY, tiny_task

BINARY = replace(
    TINY,
    epochs=6,
    batch_size=32,
    learning_rate=0.02,
    image_sizes=(),
    augmentation="none",
    optimizer="adam",
    head="binary",
)
SMALL = {"widths": (16, 32), "groups": (1, 2), "n_features": 64, "levels": 15}
ARGUMENTS = {
    "backbone": "binary_vgg",
    "backbone_options": SMALL,
    "options": BINARY,
    "binarizer": "native",
    "accelerator": "cpu",
    "progress": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("binary")
    train_base(tiny_task(n=160), **ARGUMENTS, folder=path)
    return path


def test_f_and_g_are_trained_in_one_phase_and_learn(folder):
    trained = TrainedNetwork.load(folder)
    assert set(trained.accuracy) == {"binarized"}
    assert trained.accuracy["binarized"] > 0.6  # one of three by guessing
    rows = np.genfromtxt(folder / "log.csv", delimiter=",", names=True)
    assert rows["loss"][-1] < rows["loss"][0]
    for module in (trained.backbone, trained.classifier):
        assert all(0 < layer.weight.abs().max() <= layer.clip for layer in binary_layers(module))


def test_what_was_saved_answers_as_it_did_when_it_was_measured(folder):
    trained, task = TrainedNetwork.load(folder), tiny_task(n=160)
    assert trained.preprocessing.mean == (0.0,)
    assert trained.preprocessing.std == (1.0,)
    assert isinstance(trained.binarizer, Native)
    images = task.test.images
    with torch.inference_mode():
        features = trained.backbone(trained.preprocessing(torch.from_numpy(images)))
        guesses = trained.classes[trained.classifier(trained.binarizer(features)).argmax(1)]
    assert (guesses == task.test.labels).mean() == pytest.approx(trained.accuracy["binarized"])

    bits = Encoder.from_trained(trained, "cpu").bits(images, trained.binarizer)
    packed = pack_network(trained.backbone)(images)
    assert packed == bits
    scores = pack_network(trained.classifier)(
        trained.binarizer.decode(torch.from_numpy(bits.unpack(np.float32))).numpy()
    )
    np.testing.assert_array_equal(trained.classes[scores.argmax(1)], guesses)


def test_a_killed_training_with_adam_ends_with_the_same_weights(folder, tmp_path, monkeypatch):
    written = loop.write_checkpoint
    left = [3]

    def write_then_die(*arguments):
        written(*arguments)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "write_checkpoint", write_then_die)
    with pytest.raises(KeyboardInterrupt):
        train_base(tiny_task(n=160), **ARGUMENTS, folder=tmp_path)
    monkeypatch.undo()
    resumed = train_base(tiny_task(n=160), **ARGUMENTS, folder=tmp_path)
    straight = TrainedNetwork.load(folder)
    for ours, theirs in zip(resumed.backbone.parameters(), straight.backbone.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_linear_method_and_sgd_serve_binary_networks_too(tmp_path):
    options = replace(BINARY, optimizer="sgd", head="linear", epochs=2)
    trained = train_base(tiny_task(), **{**ARGUMENTS, "options": options}, folder=tmp_path)
    assert trained.classifier is None
    assert trained.head_weight.shape == (3, 64)
    assert all(layer.weight.abs().max() <= 1 for layer in binary_layers(trained.backbone))


def test_latent_weights_do_not_decay():
    network = loop.Network(build(), Native(), torch.nn.Linear(64, 3))
    optimizer = loop._optimizer(network, TrainingOptions(weight_decay=0.1))
    decaying, others = optimizer.param_groups
    assert decaying["params"] == [network.head.weight]
    assert {id(layer.weight) for layer in binary_layers(network)} <= {id(p) for p in others["params"]}
    assert others["weight_decay"] == 0


def build() -> torch.nn.Module:
    from bitreplay.backbones import build_backbone

    return build_backbone("binary_vgg", **SMALL, image_size=8)


def test_every_option_that_changes_a_network_changes_its_key():
    given = {
        "optimizer": "adam",
        "head": "binary",
        "epochs": 3,
        "image_sizes": (16,),
        "ste_epochs": 7,
        "continued": True,
    }
    for second_phase, changing in ((False, 4), (True, 6)):
        several = [TrainingOptions(), *(TrainingOptions(**{name: value}) for name, value in given.items())]
        keys = {caches.key(training=options.determinants(second_phase=second_phase)) for options in several}
        assert len(keys) == 1 + changing
    looking = (TrainingOptions(), TrainingOptions(evaluate_every=5))
    assert len({caches.key(training=options.determinants(second_phase=True)) for options in looking}) == 1
    with pytest.raises(InputError, match="optimizer"):
        TrainingOptions(optimizer="rmsprop")
    with pytest.raises(InputError, match="head"):
        TrainingOptions(head="none")
