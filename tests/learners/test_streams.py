"""Methods that take more samples of classes they know: the same as all at once where that is what they promise."""

import numpy as np
import pytest

from bitreplay.bits import pack
from bitreplay.learners import LEARNERS
from bitreplay.learners.frozen._latent_replay import LatentReplay
from bitreplay.learners.frozen._nearest_mean import NearestMean
from bitreplay.learners.frozen._streaming_lda import StreamingLDA

RNG = np.random.default_rng(0)
Y = RNG.permutation(np.repeat([30, 10, 20], (50, 9, 33)))
X = (RNG.normal(size=(len(Y), 6)) * [1, 2, 1, 3, 1, 1] + Y[:, None] / 10).astype(np.float32)


@pytest.mark.parametrize("kind", [NearestMean, StreamingLDA])
@pytest.mark.parametrize("batch", [1, 4, 40])
def test_means_and_covariances_are_those_of_all_samples_in_whatever_order(kind, batch):
    once, stream = kind(), kind()
    once.partial_fit(X, Y)
    for begin in range(0, len(Y), batch):
        stream.partial_fit(X[begin : begin + batch], Y[begin : begin + batch])
    order, expected = np.argsort(stream.classes), np.argsort(once.classes)
    assert np.array_equal(stream.classes[order], once.classes[expected])
    np.testing.assert_allclose(stream.learned["means"][order], once.learned["means"][expected], rtol=1e-4, atol=1e-5)
    assert stream.learned["counts"][order].tolist() == [9, 33, 50]
    if kind is StreamingLDA:
        np.testing.assert_allclose(stream.learned["covariance"], once.learned["covariance"], rtol=1e-4, atol=1e-4)
    assert np.array_equal(stream.predict(X), once.predict(X))


def test_every_sample_of_a_class_has_the_same_chance_to_stay_in_its_reservoir():
    bits = pack(np.eye(30, dtype=int))  # each sample is known by its bit
    stays = np.zeros(30)
    for seed in range(400):
        method = LatentReplay(exemplars=6, epochs=1, min_steps=1, batch_size=2, seed=seed)
        memory = _first(method, bits[:5])
        for begin in range(5, 30, 5):
            generator = np.random.default_rng([seed, begin])
            memory.replace({1: method._kept_on(memory, 1, bits[begin : begin + 5], generator)})
        kept = memory.mixture(1)
        assert kept.prototypes.shape == (6, 30)
        assert kept.count == 30
        stays += kept.prototypes.sum(axis=0)
    assert stays.sum() == 400 * 6
    assert np.abs(stays / 400 - 0.2).max() < 4 * np.sqrt(0.2 * 0.8 / 400)


def _first(method, bits):
    from bitreplay.memory import BinaryMemory

    memory = BinaryMemory(1)
    memory.add(1, method._keep(bits, np.random.default_rng(0)))
    return memory


def test_those_that_need_whole_classes_say_so():
    assert set(LEARNERS.in_streams()) >= {"GBM", "NearestMean", "StreamingLDA", "LatentReplay"}
    method = LEARNERS["FeTrIL"]()
    method.partial_fit(X, Y)
    with pytest.raises(Exception, match="already learned"):
        method.partial_fit(X[:1], Y[:1])
