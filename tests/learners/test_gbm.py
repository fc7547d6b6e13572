"""GBM and latent replay as methods: the classifier's answers, options chosen on task 0, exemplars as they were."""

import numpy as np
import pytest

from bitreplay import GBMClassifier, pack
from bitreplay.binarizers import Identity, Thermometer
from bitreplay.errors import InputError
from bitreplay.heads import ClosedForm
from bitreplay.learners.frozen._gbm import GBM
from bitreplay.learners.frozen._latent_replay import LatentReplay
from bitreplay.mixture import EMOptions
from tests.learners.problems import TASKS, D, inputs, learn, problem, same

train, test = problem(n=60), problem(n=20, seed=1)


@pytest.mark.parametrize("head", ["closed_form", "replay", "bayes"])
def test_it_is_the_classifier(head):
    """The same options, seed and bits: the same memory, the same answers and sizes."""
    method = learn(GBM(prototypes=4, bits=8, p=3, head=head, seed=5), train, TASKS)
    classifier = GBMClassifier(4, 8, binarizer=method.code, head=head, random_state=5)
    for labels in TASKS:
        classifier.partial_fit(*train.of(labels))
    assert method.memory.fingerprint == classifier.memory_.fingerprint
    assert np.array_equal(method.predict(inputs(method, test.X)), classifier.predict(test.X))
    assert method.state.head.describe()[0] == classifier.head_.describe()[0]
    assert method.memory.size_bits == classifier.memory_.size_bits == method.memory_bits()
    assert method.working_set_bits() == 8 * classifier.head_.nbytes
    for label in classifier.classes_:
        assert np.array_equal(method.memory.mixture(label).prototypes, classifier.memory_.mixture(label).prototypes)


def test_thresholds_are_the_classifiers():
    method = learn(GBM(p=3), train, TASKS[:1])
    classifier = GBMClassifier(p=3, random_state=0).fit(*train.of(TASKS[0]))
    assert np.array_equal(method.code.thresholds, classifier.binarizer_.thresholds)


def test_given_options_are_taken_and_task_0_decides_the_others_for_all():
    given = learn(GBM(blend=0.33, ridge=0.44), train, TASKS)
    options = given.state.head.describe()[0]
    assert (options["blend"], options["ridge"]) == (0.33, 0.44)
    method = learn(GBM(blend=0.33), problem(n=80), TASKS[:1])
    chosen = method.state.head.describe()[0]
    assert chosen["blend"] == 0.33
    assert chosen["ridge"] in ClosedForm.choices["ridge"]
    assert learn(method, train, TASKS[1:]).state.head.describe()[0] == chosen


def test_start_and_mixing_weights_are_those_of_em():
    given = learn(GBM(prototypes=3, init="random", weights="fixed"), train, TASKS)
    options = EMOptions(init="random", weights="fixed")
    assert same(given.state_dict(), learn(GBM(prototypes=3, em=options), train, TASKS).state_dict())
    assert not same(given.state_dict(), learn(GBM(prototypes=3), train, TASKS).state_dict())
    assert all(len(set(given.memory.mixture(label).weights)) == 1 for label in TASKS[0])
    with pytest.raises(InputError, match="init must be one of"):
        GBM(init="zero")


def test_threads_do_not_change_the_result():
    one, two = (learn(GBM(prototypes=3, n_jobs=n), train, TASKS) for n in (1, 2))
    assert same(one.state_dict(), two.state_dict())


# ---------------------------------------------------------------------- latent replay


def test_exemplars_are_samples_and_what_is_drawn_are_exemplars():
    method = learn(LatentReplay(exemplars=7), train, TASKS[:1])
    for label in TASKS[0]:
        samples = {row.tobytes() for row in method.code.pack(train.X[train.y == label]).data}
        kept = pack(method.memory.mixture(label).prototypes).data
        assert len(kept) == 7
        exemplars = {row.tobytes() for row in kept}
        assert exemplars <= samples
        drawn, _ = method.memory.sample(100, [label], generator=0, output="packed")
        assert {row.tobytes() for row in drawn.data} == exemplars


def test_exemplars_of_old_classes_stay():
    method = learn(LatentReplay(exemplars=5), train, TASKS[:1])
    before = method.memory
    learn(method, train, TASKS[1:2])
    for label in TASKS[0]:
        assert np.array_equal(before.mixture(label).prototypes, method.memory.mixture(label).prototypes)


def test_a_class_with_fewer_samples_keeps_them_all():
    method = learn(LatentReplay(exemplars=50), problem(n=12), TASKS[:1])
    assert method.memory_bits() == 4 * 12 * D


# ---------------------------------------------------------------------- binarizers


def test_bits_mean_nothing_without_a_binarizer():
    with pytest.raises(InputError, match="calibrate or use"):
        GBM().partial_fit(pack(train.X > 1), train.y)


def test_a_trained_binarizer_is_used_as_it_is():
    method = GBM(prototypes=2)
    own = Thermometer(2)
    method.use(own, "net")
    X = train.X / train.X.max()
    method.partial_fit(own.pack(X), train.y)
    assert method.memory.fingerprint == own.fingerprint(D, "net")
    twin = GBM(prototypes=2)
    twin.use(Identity())
    twin.partial_fit(pack(train.X > 1), train.y)
    assert twin.memory.n_features == D


def test_the_binarizer_is_settled_by_the_first_task():
    method = learn(GBM(), train, TASKS[:1])
    with pytest.raises(InputError, match="cannot change"):
        method.calibrate(train.X)
    with pytest.raises(InputError, match="cannot change"):
        method.use(Identity())


def test_an_untrained_heaviside_sets_half_of_the_bits_and_depends_on_the_seed():
    methods = [GBM(binarizer="heaviside", f=3, seed=seed) for seed in (0, 0, 1)]
    for method in methods:
        method.calibrate(train.X)
    bits = [method.code.pack(train.X).unpack() for method in methods]
    assert bits[0].shape == (len(train.X), 3 * D)
    np.testing.assert_allclose(bits[0].mean(0), 0.5, atol=0.01)
    assert np.array_equal(bits[0], bits[1])
    assert not np.array_equal(bits[0], bits[2])


@pytest.mark.parametrize("features", [np.empty((0, 3)), np.full((4, 3), np.nan), np.zeros(5)])
def test_thresholds_need_features(features):
    with pytest.raises(InputError, match=r"thresholds need|matrix of numbers"):
        GBM().calibrate(features)
