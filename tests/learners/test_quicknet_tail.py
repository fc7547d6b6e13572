"""G = the part of a QuickNet behind the tap: trained on spatial embeddings, saved, and refused where there is none."""

import functools

import numpy as np
import pytest
import torch

from bitreplay.backbones import Preprocessing, build_backbone
from bitreplay.data import from_arrays, make_scenario
from bitreplay.encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.learners import FrozenLearner
from bitreplay.learners.frozen._cwr import LatentReplayCWR
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.learners.frozen._latent_replay import LatentReplay
from bitreplay.nn import binary_layers
from bitreplay.runs import Specification

QUICK = {"architecture": "quicknet_tail", "epochs": 1, "min_steps": 60, "learning_rate": 0.01, "batch_size": 32}
METHODS = {
    "GBM": lambda: GBM(prototypes=2, bits=8, head="replay", **QUICK),
    "LatentReplay": lambda: LatentReplay(exemplars=10, **QUICK),
    "LatentReplayCWR": lambda: LatentReplayCWR(exemplars=10, selection="herding", **QUICK),
}
every = pytest.mark.parametrize("name", METHODS)


@functools.cache
def scenario():
    """Four classes of coloured blocks with noise; 2 + 1 + 1."""
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 256, (4, 4, 4, 3))

    def images(n):
        blocks = np.repeat(np.repeat(np.repeat(centres, n, axis=0), 8, axis=1), 8, axis=2)
        return np.clip(blocks + rng.normal(0, 10, blocks.shape), 0, 255).astype(np.uint8), np.repeat(np.arange(4), n)

    return make_scenario(from_arrays(*images(24), *images(8), name="blocks"), sizes=[2, 1, 1], order=None)


@functools.cache
def encoder(seed=0):
    network = build_backbone(
        "quicknet",
        weights=None,
        blocks=(1, 1, 1, 1),
        filters=(16, 16, 32, 32),
        image_size=64,
        generator=torch.Generator().manual_seed(seed),
    )
    return Encoder(network, Preprocessing(mean=(0.5,), std=(0.25,), size=64), name="tiny quicknet", device="cpu")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("BITREPLAY_CACHE", str(tmp_path_factory.getbasetemp() / "tail_cache"))


def learned(name, n_tasks):
    learner = FrozenLearner(METHODS[name](), encoder())
    for task in list(scenario())[:n_tasks]:
        learner.learn(task)
    return learner


@every
def test_classes_are_learned_and_kept(name):
    learner = learned(name, 3)
    seen = scenario().test_seen(2)
    assert (learner.predict(seen) == seen.labels).mean() > 0.8
    network = learner.method.state.head.network
    assert len(binary_layers(network)) == 1
    assert all(layer.weight.abs().max() <= layer.clip for layer in binary_layers(network))
    stored = 8 * sum(tensor.nbytes for tensor in network.state_dict().values())
    assert learner.working_set_bits() == stored - 31 * 32 * 32 * 9  # a binary weight is one bit


@every
def test_saved_and_loaded_it_goes_on_alike(name):
    original = learned(name, 2)
    loaded = FrozenLearner(METHODS[name](), encoder())
    loaded.load_state_dict(original.state_dict())
    for learner in (original, loaded):
        learner.learn(scenario()[2])
    one, two = original.state_dict(), loaded.state_dict()
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[key], two[key]) for key in one)


def test_the_tail_starts_from_the_encoders_weights():
    method = METHODS["GBM"]()
    method.begin(encoder())
    head = method._replay()
    network = head.module(encoder().backbone.n_features, 2)
    torch.testing.assert_close(network.layers.project_4.weight, encoder().backbone.layers.project_4.weight)


def test_it_needs_a_tail_and_replay():
    method = METHODS["LatentReplay"]()
    method.calibrate(np.random.default_rng(0).random((20, 32), dtype=np.float32))
    bits = method.code.pack(np.random.default_rng(1).random((20, 32), dtype=np.float32))
    with pytest.raises(InputError, match="this encoder has no tail"):
        method.partial_fit(bits, np.arange(20) % 2)
    with pytest.raises(InputError, match="needs head=replay"):
        GBM(architecture="quicknet_tail")
    with pytest.raises(InputError, match="architecture must be one of linear, hidden, binary, quicknet_tail"):
        LatentReplay(architecture="conv")


def test_the_command_lines_words():
    made = Specification.parse("GBM:head=replay,architecture=quicknet_tail,min_steps=7").make(0)
    assert (made.head, made.architecture, made.min_steps) == ("replay", "quicknet_tail", 7)
    made = Specification.parse("LatentReplayCWR:exemplars=75,selection=herding,architecture=hidden").make(0)
    assert (made.exemplars, made.selection, made.architecture) == (75, "herding", "hidden")
