"""Balanced and empirical priors: what a class's number of samples adds to its score."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from bitreplay import GBMClassifier
from bitreplay.binarizers import Identity
from bitreplay.bits import Fingerprint, concatenate, pack
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.heads import HEADS, Bayes, ClosedForm, Replay
from bitreplay.learners import LEARNERS
from bitreplay.memory import BinaryMemory

D = 24
FAST = {"replay": {"epochs": 1, "min_steps": 200}}
COUNTS = {"rare": 10, "usual": 300, "common": 900}


def samples(seed=0, counts=COUNTS):
    """Classes that overlap, so that it matters how frequent they are."""
    rng = np.random.default_rng(seed)
    rates = {label: 0.3 + 0.4 * (np.arange(D) % 3 == place) for place, label in enumerate(COUNTS)}
    return {label: pack(rng.random((n, D)) < rates[label]) for label, n in counts.items()}


def memory():
    made = BinaryMemory(8)
    made.enrol(samples())
    return made


@pytest.mark.parametrize("head", [ClosedForm, Bayes])
@pytest.mark.parametrize("temperature", [None, 3.0])
def test_scores_differ_by_the_logarithm_of_frequencies(head, temperature):
    bits = samples(1)["usual"]
    known = memory()
    balanced = head().fit(known, Identity(), 0).scores(bits)
    empirical = head(prior="empirical", temperature=temperature).fit(known, Identity(), 0).scores(bits)
    shares = np.array(list(COUNTS.values())) / sum(COUNTS.values())
    expected = (temperature or 1) * (np.log(shares) - np.log(shares).mean())
    added = empirical - balanced
    np.testing.assert_allclose(added - added.mean(1, keepdims=True), np.tile(expected, (len(bits), 1)), atol=1e-4)


@pytest.mark.parametrize("name", HEADS)
def test_an_empirical_prior_suits_what_is_as_frequent_as_it_was(name):
    """Better where classes come as in training; balanced recognises more of the rare."""
    tested = samples(1, {"rare": 30, "usual": 900, "common": 2700})

    def figures(prior):
        options = GBMOptions(prototypes=2, head=HEADS[name](**FAST.get(name, {}), prior=prior))
        state = GBMState.empty(options, Identity(), Fingerprint(D), 0).learned(samples())
        right = {label: np.array(state.labels)[state.scores(bits).argmax(1)] == label for label, bits in tested.items()}
        return np.concatenate(list(right.values())).mean(), right["rare"].mean()

    (balanced, rare), (empirical, rare_then) = figures("balanced"), figures("empirical")
    assert empirical > balanced
    assert rare > rare_then


@pytest.mark.parametrize("head", [ClosedForm, Bayes])
def test_the_temperature_that_it_needs_is_that_of_the_probabilities(head):
    state = GBMState.empty(GBMOptions(2, head=head(prior="empirical")), Identity(), Fingerprint(D), 0)
    state = state.learned(samples())
    assert state.head.temperature == state.temperature
    given = GBMState.empty(GBMOptions(2, head=head(prior="empirical", temperature=2.0)), Identity(), Fingerprint(D), 0)
    assert given.learned(samples()).head.temperature == 2.0
    plain = GBMState.empty(GBMOptions(2, head=head()), Identity(), Fingerprint(D), 0)
    assert plain.learned(samples()).head.temperature is None


def test_batches_of_replay_follow_the_prior():
    known, new = memory(), samples(1)
    for prior, share in (("balanced", 1 / 3), ("empirical", 10 / 1210)):
        replay = Replay(prior=prior, batch_size=120)
        rng = np.random.default_rng(0)
        for given in (new, {}):  # all of them new; all of them old
            targets = np.concatenate([classes for _, classes in replay._batches(known, given, 100, rng)])
            assert abs((targets == 0).mean() - share) < 0.02, (prior, len(given))
        some = {"rare": new["rare"]}
        targets = np.concatenate([classes for _, classes in replay._batches(known, some, 100, rng)])
        assert abs((targets == 0).mean() - share) < 0.02


def test_the_prior_is_part_of_a_file(tmp_path):
    X = np.concatenate([bits.unpack() for bits in samples().values()])
    y = np.repeat(list(COUNTS), list(COUNTS.values()))
    clf = GBMClassifier(2, head=ClosedForm(prior="empirical"), binarizer="identity", random_state=0).fit(X, y)
    clf.save(tmp_path / "clf.safetensors")
    loaded = GBMClassifier.load(tmp_path / "clf.safetensors")
    assert loaded.head_.prior == "empirical"
    assert loaded.head_.temperature == clf.head_.temperature
    np.testing.assert_allclose(loaded.predict_proba(X), clf.predict_proba(X), atol=1e-6)
    mean = clf.predict_proba(X).mean(axis=0)
    assert abs(mean[clf.classes_ == "rare"][0] - 10 / 1210) < 0.02, "probabilities are of frequent classes too"


@pytest.mark.parametrize("options", [{"prior": "fair"}, {"temperature": 0.0}, {"temperature": "hot"}])
@pytest.mark.parametrize("head", [ClosedForm, Bayes])
def test_other_priors_are_refused(head, options):
    with pytest.raises(InputError):
        head(**options)


@pytest.mark.parametrize("head", ["closed_form", "bayes", "replay"])
def test_the_learner_passes_its_options_on(head):
    learner = LEARNERS["GBM"](head=head, prior="empirical", strength=1.5, offset=0.25)
    made = learner.core.head
    assert made.prior == "empirical"
    if head != "replay":
        assert (made.strength, made.offset) == (1.5, 0.25)
        assert type(made)().strength == LEARNERS["GBM"](head=head).core.head.strength
    with pytest.raises(InputError):
        LEARNERS["GBM"](head=head, prior="fair")


@pytest.mark.parametrize("head", ["closed_form", "replay"])
def test_a_reloaded_learner_keeps_its_prior(head):
    first, twin = (LEARNERS["GBM"](head=head, prior="empirical", epochs=1, min_steps=20) for _ in range(2))
    bits = samples()
    for method in (first, twin):
        method.use(Identity())
    labels = np.repeat(np.arange(3), list(COUNTS.values()))
    first.partial_fit(concatenate(list(bits.values())), labels)
    twin.load_state_dict(first.state_dict())
    assert twin.state.head.prior == twin.core.head.prior == "empirical"


@pytest.mark.parametrize("options", [{"strength": -1.0}, {"offset": -0.5}, {"strength": "much"}])
@pytest.mark.parametrize("head", [ClosedForm, Bayes])
def test_help_out_of_range_is_refused(head, options):
    with pytest.raises(InputError):
        head(**options)


def test_a_description_has_every_option_and_nothing_learned():
    described, tensors = ClosedForm(0.7, 0.1, offset=0.5).fit(memory(), Identity(), 0).describe()
    chosen = {"blend": 0.7, "ridge": 0.1, "offset": 0.5}
    assert described == {**chosen, "strength": ClosedForm.strength, "prior": "balanced", "temperature": None}
    assert tensors == {}
    assert set(Bayes().describe()[0]) == {"clamp", "strength", "offset", "prior", "temperature"}
    assert [Replay(module=make).describe()[0]["own_module"] for make in (None, torch.nn.Linear)] == [False, True]


def test_a_class_of_average_size_gains_nothing():
    gains = Bayes(prior="empirical", temperature=2.0).log_prior(memory())
    assert np.exp(gains / 2.0).mean() == pytest.approx(1.0)
    assert np.exp(gains / 2.0) * np.mean(list(COUNTS.values())) == pytest.approx(list(COUNTS.values()))


def test_calibrate_also_sets_the_temperature_of_an_empirical_prior_that_was_left_open():
    X, y = load_digits(return_X_y=True)
    clf = GBMClassifier(2, head=ClosedForm(prior="empirical"), random_state=0)
    for label in range(4):
        clf.partial_fit(X[y == label][:8], y[y == label][:8])
    for known in (y < 4, y < 3):
        clf.calibrate(X[known], y[known])
        assert clf.head_.temperature == clf.temperature_
    given = GBMClassifier(2, head=ClosedForm(prior="empirical", temperature=3.0), random_state=0).fit(X, y)
    assert given.calibrate(X, y).head_.temperature == 3.0


def test_one_class_says_nothing_about_the_temperature_of_more():
    X, y = load_digits(return_X_y=True)
    first = y < 1
    plain = GBMClassifier(2, random_state=0).partial_fit(X[first], y[first])
    told = GBMClassifier(2, random_state=0).partial_fit(X[first], y[first]).calibrate(X[first], y[first])
    assert told.temperature_ is None
    assert plain.partial_fit(X[~first], y[~first]).temperature_ == told.partial_fit(X[~first], y[~first]).temperature_
