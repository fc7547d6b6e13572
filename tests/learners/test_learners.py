"""One suite for all learners: what every method must do, whatever it is."""

import copy
import functools

import numpy as np
import pytest
import safetensors.numpy
import torch

from bitreplay import pack
from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS
from tests.learners.problems import TASKS, VARIANTS, D, inputs, learn, make, problem, same

every = pytest.mark.parametrize("variant", VARIANTS)
train, test = problem(), problem(n=25, seed=1)
KNOWN = np.concatenate(TASKS)


@functools.cache
def learned(variant, n_tasks=3):
    """A learner after some tasks, for tests that do not change it."""
    if not n_tasks:
        return make(variant)
    return learn(copy.deepcopy(learned(variant, n_tasks - 1)), train, TASKS[n_tasks - 1 : n_tasks])


def accuracy(method, labels):
    X, y = test.of(labels)
    return (method.predict(inputs(method, X)) == y).mean()


def test_every_learner_is_covered():
    assert {variant.split()[0] for variant in VARIANTS} == {*LEARNERS.on_frozen_encoders()}
    assert all(type(make(variant)) is LEARNERS[variant.split()[0]] for variant in VARIANTS)
    assert all(method.name == name for name, method in LEARNERS.items())


@every
def test_classes_of_unequal_tasks_are_learned_and_kept(variant):
    method = learned(variant)
    if variant.startswith("FineTuning"):
        assert accuracy(method, TASKS[0]) < 0.2  # the lower bound forgets
        assert accuracy(method, TASKS[-1]) > 0.9
    else:
        assert accuracy(method, KNOWN) > 0.9
        assert accuracy(method, TASKS[0]) > 0.85


@every
def test_answers_are_labels_of_learned_classes(variant):
    for n_tasks in (1, 3):
        answers = learned(variant, n_tasks).predict(inputs(learned(variant, n_tasks), test.X))
        assert answers.dtype == np.int64
        assert answers.shape == test.y.shape
        assert set(answers) <= set(np.concatenate(TASKS[:n_tasks]).tolist())


@every
def test_one_class_at_a_time_from_the_first(variant):
    method = learn(make(variant), train, [[70]])
    assert (method.predict(inputs(method, test.X)) == 70).all()
    learn(method, train, [[3]])
    if not variant.startswith("FineTuning"):
        floor = 0.75 if method.uses == "bits" else 0.9  # thresholds at the medians of a single class say little
        assert accuracy(method, [70, 3]) > floor


@every
def test_few_samples_per_class(variant):
    method = learn(make(variant), problem(n=1), TASKS[:1])
    learn(method, problem(n=3), TASKS[1:2])
    assert set(method.predict(inputs(method, test.X))) <= set(np.concatenate(TASKS[:2]).tolist())


@every
def test_saved_and_loaded_it_answers_and_learns_alike(variant):
    original = learned(variant, 2)
    file = safetensors.numpy.save(original.state_dict())
    loaded = make(variant)
    loaded.load_state_dict(safetensors.numpy.load(file))
    X = inputs(original, test.X)
    assert np.array_equal(loaded.predict(X), original.predict(X))
    assert loaded.memory_bits() == original.memory_bits()
    assert loaded.working_set_bits() == original.working_set_bits()
    assert same(loaded.state_dict(), original.state_dict())
    learn(loaded, train, TASKS[2:])
    assert same(loaded.state_dict(), learned(variant).state_dict())


@every
def test_same_seed_same_result_and_no_global_random_state(variant):
    torch.manual_seed(3)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    again = learn(make(variant), train, TASKS[:2])
    assert same(again.state_dict(), learned(variant, 2).state_dict())
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


@every
def test_another_seed_gives_another_result_where_something_is_random(variant):
    other = learn(make(variant, seed=1), train, TASKS[:1])
    assert same(other.state_dict(), learned(variant, 1).state_dict()) is not other.random


@every
def test_inputs_are_not_changed_and_not_referred_to(variant):
    method = make(variant)
    X, y = train.of(TASKS[0])
    given = inputs(method, X)
    values = given if method.uses == "features" else given.data
    before, labels = values.copy(), y.copy()
    method.partial_fit(given, y)
    method.predict(given)
    assert np.array_equal(values, before)
    assert np.array_equal(y, labels)
    expected, state = method.predict(inputs(method, test.X)), method.state_dict()
    state = {name: array.copy() for name, array in state.items()}
    values[...] = 0
    y[...] = 0
    assert np.array_equal(method.predict(inputs(method, test.X)), expected)
    assert same(method.state_dict(), state)


@every
def test_sizes_are_those_that_are_documented(variant):
    memory = VARIANTS[variant][1]
    assert make(variant).memory_bits() == make(variant).working_set_bits() == 0
    working = []
    for n_tasks in (1, 2, 3):
        method = learned(variant, n_tasks)
        assert method.memory_bits() == memory(sum(map(len, TASKS[:n_tasks])))
        working.append(method.working_set_bits())
    assert 0 < working[0] < working[1] < working[2]


@every
@pytest.mark.parametrize("n_tasks", [0, 1], ids=["first", "later"])
def test_bad_tasks_are_refused_and_change_nothing(variant, n_tasks):
    method = copy.deepcopy(learned(variant, n_tasks))
    before = method.state_dict() if n_tasks else None
    X, y = train.of(TASKS[1])
    good = inputs(method, X)
    bad = {
        "0 samples": (good[:0], y[:0]),
        "one integer label per sample": (good, y[:-1]),
        "one integer label": (good, y.astype(float)),
        "takes": (pack(np.zeros((len(y), D))) if method.uses == "features" else X, y),
    }
    if n_tasks:
        if not method.streams:
            bad["already learned"] = good, np.where(np.arange(len(y)) < 2, 70, y)
        narrow = X[:, :-1] if method.uses == "features" else pack(X[:, :-1] > 1)
        bad["learned from|binarizer makes"] = narrow, y
    if method.uses == "features":
        bad["finite"] = np.where(np.arange(D) == 3, np.nan, X), y
        bad["matrix"] = X[0], y
    for message, (samples, labels) in bad.items():
        with pytest.raises(InputError, match=message):
            method.partial_fit(samples, labels)
    if n_tasks:
        assert same(method.state_dict(), before)
        assert set(method.predict(good)) <= set(TASKS[0])
    else:
        method.partial_fit(good, y)  # and it begins as if nothing had been
        assert set(method.predict(good)) == set(TASKS[1])


@every
def test_nothing_learned_nothing_to_say(variant):
    method = make(variant)
    X = inputs(method, test.X)
    with pytest.raises(InputError, match="has not learned any class"):
        method.predict(X)
    with pytest.raises(InputError, match="has not learned any class"):
        method.state_dict()


@every
def test_a_state_that_is_not_its_own_is_refused(variant):
    method, other = learned(variant), learned("FeCAM" if variant == "StreamingLDA" else "StreamingLDA")
    before = method.state_dict()
    for state in ({}, other.state_dict(), {"classes": before["classes"], "n_features": before["n_features"]}):
        with pytest.raises(InputError, match="not a state"):
            method.load_state_dict(state)
        assert same(method.state_dict(), before)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GBM", {"prototypes": 0}),
        ("GBM", {"bits": 17}),
        ("GBM", {"head": "svm"}),
        ("GBM", {"blend": 2.0}),
        ("GBM", {"clamp": 0.7}),
        ("GBM", {"binarizer": "ternary"}),
        ("GBM", {"em": {}}),
        ("FineTuning", {"inputs": "images"}),
        ("Joint", {"epochs": 0}),
        ("Joint", {"p": 1.5}),
        ("NearestMean", {"metric": "manhattan"}),
        ("FeTrIL", {"classifier": "svm"}),
        ("FeTrIL", {"C": 0}),
        ("FeCAM", {"power": 0}),
        ("FeCAM", {"shrink_diagonal": float("nan")}),
        ("StreamingLDA", {"shrinkage": 1.5}),
        ("RandomRidge", {"ridge": -1.0}),
        ("RandomRidge", {"width": 2.0}),
        ("GaussianReplay", {"covariance": "tied"}),
        ("GaussianReplay", {"learning_rate": "fast"}),
        ("LatentReplay", {"exemplars": -3}),
        ("LatentReplay", {"seed": -1}),
        ("LatentReplay", {"selection": "best"}),
        ("LatentReplay", {"architecture": "conv"}),
        ("LatentReplay", {"learning_rate": 0}),
        ("LatentReplay", {"min_steps": 0}),
        ("LatentReplayCWR", {"batch_size": 1}),
        ("GBM", {"architecture": "hidden"}),
    ],
)
def test_options_are_checked_when_given(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        LEARNERS[name](**options)
