"""One suite for all methods that train a network: what every one must do, whatever it is."""

import functools

import numpy as np
import pytest
import safetensors.numpy
import torch

from bitreplay.data import Samples, Task, from_arrays
from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS, TrainingContext
from tests.learners.finetuned.problems import ORDER, SIZES, VARIANTS, accuracy, make, same, scenario

every = pytest.mark.parametrize("variant", VARIANTS)
test = scenario.test_seen(len(SIZES) - 1)


@functools.cache
def through_all_tasks(variant):
    """A learner that nothing interrupted, and its state after every task."""
    learner, states = make(variant), []
    for task in scenario:
        learner.learn(task)
        states.append(learner.state_dict())
    return learner, states


@functools.cache
def learned(variant, n_tasks=3):
    """A learner after some tasks, for tests that do not change it."""
    learner, states = through_all_tasks(variant)
    if n_tasks < len(states):
        learner = make(variant)
        learner.load_state_dict(states[n_tasks - 1])
    return learner


def test_every_method_is_covered():
    assert {variant.split()[0] for variant in VARIANTS} == {*LEARNERS} - {*LEARNERS.on_frozen_encoders()}
    assert all(type(make(variant)) is LEARNERS[variant.split()[0]] for variant in VARIANTS)
    assert all(method.name == name for name, method in LEARNERS.items())


@every
def test_task_0_is_learned_and_answers_are_labels_of_learned_classes(variant):
    assert accuracy(learned(variant, 1), scenario[0].test) > 0.5  # chance is 1/4
    for n_tasks in (1, 3):
        answers = learned(variant, n_tasks).predict(test)
        assert answers.dtype == np.int64
        assert answers.shape == test.labels.shape
        assert set(answers) <= set(ORDER[: sum(SIZES[:n_tasks])])
    assert np.array_equal(learned(variant).predict(test.images), answers)


@every
def test_saved_and_loaded_it_answers_and_learns_alike(variant):
    original, states = through_all_tasks(variant)
    for n_tasks in (3, 2):
        loaded = make(variant)
        loaded.load_state_dict(safetensors.numpy.load(safetensors.numpy.save(states[n_tasks - 1])))
        assert same(loaded.state_dict(), states[n_tasks - 1])
        if n_tasks == 2:
            loaded.learn(scenario[2])
        assert np.array_equal(loaded.predict(test), original.predict(test))
        assert loaded.memory_bits() == original.memory_bits()
        assert loaded.working_set_bits() == original.working_set_bits()
        assert same(loaded.state_dict(), original.state_dict())


@every
def test_same_seed_same_result_another_seed_another_and_no_global_random_state(variant):
    torch.manual_seed(3)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    again, other = make(variant), make(variant, seed=1)
    again.learn(scenario[0])
    other.learn(scenario[0])
    assert same(again.state_dict(), through_all_tasks(variant)[1][0])
    assert not same(other.state_dict(), again.state_dict())
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


@pytest.mark.parametrize("variant", [name for name, (kind, *_) in VARIANTS.items() if kind.later_options])
def test_later_options_have_no_effect_on_task_0(variant):
    kind = VARIANTS[variant][0]
    other = {"rivals": 3}
    learner = make(variant)
    for name in kind.later_options:
        setattr(learner, name, other[name] if name in other else getattr(learner, name) / 2)
    learner.learn(scenario[0])
    assert same(learner.state_dict(), through_all_tasks(variant)[1][0])


@every
def test_sizes_are_those_that_are_documented(variant):
    assert make(variant).memory_bits() == make(variant).working_set_bits() == 0
    working = []
    for n_tasks in (1, 2, 3):
        learner = learned(variant, n_tasks)
        assert learner.memory_bits() == VARIANTS[variant][2](sum(SIZES[:n_tasks]), n_tasks)
        working.append(learner.working_set_bits())
    assert 0 < working[0] < working[1] < working[2]


@every
def test_bad_tasks_are_refused_and_change_nothing(variant):
    learner = learned(variant, 1)
    before = learner.state_dict()
    good = scenario[1]
    images = np.zeros((4, 6, 6, 1), np.uint8)
    other = from_arrays(images, [0, 1, 2, 3], images, [0, 1, 2, 3])
    bad = {
        "has no training images": Task(1, good.classes, good.train.subset([]), good.test),
        "already learned": Task(1, scenario[0].classes, scenario[0].train, scenario[0].test),
        "of each of its classes": Task(1, np.array([*good.classes, 5]), good.train, good.test),
        "and of no others": Task(1, good.classes[:1], good.train, good.test),
        "images of shape": Task(1, np.array([1]), Samples(other, "train", np.array([1])), good.test),
    }
    for message, task in bad.items():
        with pytest.raises(InputError, match=message):
            learner.learn(task)
    for images in (test.images.astype(float), test.images[:, :6], test.images[:0]):
        with pytest.raises(InputError, match="learned from uint8 images"):
            learner.predict(images)
    with pytest.raises(InputError, match="its network cannot change"):
        learner.use(TrainingContext())
    assert same(learner.state_dict(), before)


@every
def test_nothing_learned_nothing_to_say(variant):
    for ask in (lambda learner: learner.predict(test), lambda learner: learner.state_dict()):
        with pytest.raises(InputError, match="has not learned any class"):
            ask(make(variant))


@every
def test_a_state_that_is_not_its_own_is_refused(variant):
    learner, other = learned(variant), learned("EWC" if variant == "LwF-MC" else "LwF-MC")
    before = learner.state_dict()
    without_classes = {name: value for name, value in before.items() if name != "classes"}
    without_head = {name: value for name, value in before.items() if not name.startswith("network.head")}
    for state in ({}, other.state_dict(), without_classes, without_head):
        with pytest.raises(InputError, match="not a state"):
            learner.load_state_dict(state)
        assert same(learner.state_dict(), before)


@pytest.mark.parametrize(("one", "other"), [("EWC", "EWC all"), ("EWC all", "EWC")])
def test_ewc_refuses_a_state_that_holds_other_weights(one, other):
    learner, before = learned(one), learned(one).state_dict()
    with pytest.raises(InputError, match=r"not a state of EWC: it has Fisher information of \d+ weights instead of"):
        learner.load_state_dict(learned(other).state_dict())
    assert same(learner.state_dict(), before)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("FullFineTuning", {"epochs": 0}),
        ("FullFineTuning", {"seed": -1}),
        ("FullJoint", {"base_epochs": 1.5}),
        ("LwF-MC", {"learning_rate": 0}),
        ("iCaRL", {"output": "mean"}),
        ("iCaRL", {"exemplars": 0}),
        ("EEIL", {"batch_size": "many"}),
        ("LUCIR", {"rivals": 0}),
        ("LUCIR", {"margin": float("nan")}),
        ("EWC", {"old_share": 2}),
        ("EWC", {"clip": 0}),
        ("EWC", {"outputs": "old"}),
        ("PASS", {"prototype_weight": -1}),
        ("IL2A", {"semantic_weight": None}),
        ("TrainableGBM", {"prototypes": 0}),
        ("TrainableGBM", {"head": "svm"}),
        ("TrainableGBM", {"p": 0}),
        ("TrainableGBM", {"follow": "no"}),
        ("TrainableGBM", {"optimizer": "rprop"}),
        ("TrainableGBM", {"keep_statistics": 1}),
        ("TrainableGBM", {"base_epochs": 3}),
    ],
)
def test_options_are_checked_when_given(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        LEARNERS[name](**options)


def test_own_options_win_over_the_budget_and_the_budget_over_what_was_published():
    learner = LEARNERS["LUCIR"](epochs=7, learning_rate=0.5)
    assert (learner.recipe.epochs, learner.recipe.base_epochs, learner.recipe.batch_size) == (7, 7, 128)
    assert learner.recipe.milestones == (0.5, 0.75)
    budgeted = make("LUCIR").recipe
    assert (budgeted.epochs, budgeted.batch_size, budgeted.learning_rate) == (2, 32, 0.1)


def test_a_backbone_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="no backbone 'resnet81'"):
        TrainingContext("resnet81")


@pytest.mark.parametrize("device", ["abacus", *([] if torch.cuda.is_available() else ["cuda"])])
def test_a_device_that_is_not_there_is_refused_before_anything_is_learned(device):
    with pytest.raises(InputError, match=f"device '{device}' cannot be used"):
        TrainingContext(device=device)
