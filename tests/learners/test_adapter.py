"""The adapter on images: digits through an encoder of pixels, in a real scenario."""

import numpy as np
import pytest

from bitreplay.binarizers import Thermometer
from bitreplay.data import Samples, load_dataset, make_scenario
from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS, FrozenLearner
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.learners.frozen._nearest_mean import NearestMean

scenario = make_scenario(load_dataset("digits"), sizes=[5, 1, 4], order=[7, 2, 9, 4, 0, 1, 8, 3, 5, 6])


class Pixels:
    """The encoder that sees what there is to see: pixels as features in [0, 1]."""

    name = "pixels"

    def __init__(self, binarizer=None, key="pixels-1"):
        self.binarizer, self.key, self.tail = binarizer, key, None

    def notes(self):
        return {"encoder": self.name}

    def features(self, samples):
        images = samples.images if isinstance(samples, Samples) else samples
        return images.reshape(len(images), -1).astype(np.float32) / 255

    def bits(self, samples, binarizer):
        return binarizer.pack(self.features(samples))


def through(learner, n_tasks=3):
    for task in list(scenario)[:n_tasks]:
        learner.learn(task)
    return learner


def accuracy(learner):
    seen = scenario.test_seen(2)
    return (learner.predict(seen) == seen.labels).mean()


@pytest.mark.parametrize(
    "name", [name for name in LEARNERS.on_frozen_encoders() if name not in ("FeTrIL", "FineTuning")]
)
def test_digits_are_learned_task_by_task(name):
    options = {"RandomRidge": {"width": 256}, "LatentReplay": {"p": 4, "epochs": 2}, "GBM": {"p": 4}, "Joint": {"p": 4}}
    learner = through(FrozenLearner(LEARNERS[name](**options.get(name, {})), Pixels()))
    assert accuracy(learner) > (0.85 if name == "NearestMean" else 0.88)
    assert learner.memory_bits() > 0
    assert learner.working_set_bits() > 0
    assert learner.name == name


def test_thresholds_are_calibrated_on_task_0_only():
    learner = through(FrozenLearner(GBM(p=2), Pixels()))
    features = Pixels().features(scenario[0].train)
    expected = np.quantile(features, [1 / 3, 2 / 3], axis=0).T
    np.testing.assert_allclose(learner.method.code.thresholds, expected, atol=1e-6)
    assert learner.method.memory.fingerprint.encoder == "pixels"


def test_an_encoders_own_binarizer_is_used():
    learner = through(FrozenLearner(GBM(p=1), Pixels(Thermometer(4))))
    assert learner.method.code.p == 4
    assert learner.method.memory.n_features == 4 * learner.encoder.features(scenario[0].train).shape[1]
    assert accuracy(learner) > 0.85


def test_arrays_of_images_are_answered_like_samples():
    learner = through(FrozenLearner(NearestMean(), Pixels()))
    seen = scenario.test_seen(2)
    assert np.array_equal(learner.predict(seen.images), learner.predict(seen))


@pytest.mark.parametrize("own", [None, Thermometer(3)], ids=["calibrated", "trained"])
def test_a_reloaded_learner_goes_on_alike(own):
    original = through(FrozenLearner(GBM(p=3), Pixels(own)), 2)
    twin = FrozenLearner(GBM(p=3), Pixels(own))
    twin.load_state_dict(original.state_dict())
    for learner in (original, twin):
        learner.learn(scenario[2])
    seen = scenario.test_seen(2)
    assert np.array_equal(original.predict(seen), twin.predict(seen))
    assert original.memory_bits() == twin.memory_bits()


def test_a_state_of_another_encoder_is_refused():
    state = through(FrozenLearner(NearestMean(), Pixels()), 1).state_dict()
    with pytest.raises(InputError, match="pixels-1"):
        FrozenLearner(NearestMean(), Pixels(key="pixels-2")).load_state_dict(state)
    del state["encoder"]
    with pytest.raises(InputError, match="which encoder"):
        FrozenLearner(NearestMean(), Pixels()).load_state_dict(state)


def test_nothing_learned_nothing_to_say():
    for method in (GBM(), NearestMean()):
        with pytest.raises(InputError, match="has not learned"):
            FrozenLearner(method, Pixels()).predict(scenario.test_seen(0))
