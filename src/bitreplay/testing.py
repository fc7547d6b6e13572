"""Checks that every method of incremental learning must pass, in this library and elsewhere.

Call :func:`check_learner` in your own tests, as scikit-learn's users call `check_estimator`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy
import torch

from bitreplay.backbones import Preprocessing
from bitreplay.data import Scenario, as_stream, load_dataset, make_scenario
from bitreplay.encoder import Encoder
from bitreplay.errors import BitreplayError
from bitreplay.learners import Learner, Method, TrainingContext, Uses
from bitreplay.training import TrainingOptions

__all__ = ["check_learner"]

SIZES = [3, 1, 2]  # tasks of unequal size, one class alone
PER_CLASS = 30
ORDER = [7, 2, 9, 4, 0, 1]  # labels that are neither sorted nor positions
QUICK = TrainingOptions(epochs=1, ste_epochs=0, batch_size=32, schedule="one_cycle", augmentation="none")


def check_learner(kind: type[Method], **options: Any) -> None:
    """Run a method through three small tasks, and raise AssertionError with a sentence about what is wrong.

    It checks the method's description and answers, reproducibility from the same seed, saving and loading of states,
    sizes, refusals that change nothing, that neither its inputs nor global random states are touched, and a stream if
    it says that it learns from such.

    Parameters
    ----------
    kind : type
        A :class:`FrozenMethod` or a :class:`Learner`.
    **options
        Constructor arguments besides the seed, usually those that make it fast.

    Examples
    --------
    >>> from bitreplay.learners import LEARNERS
    >>> check_learner(LEARNERS["NearestMean"])
    """
    _check_description(kind, options)
    scenario = _scenario()
    learner = _learner(kind, options)
    _require(_refuses(lambda: learner.predict(scenario[0].test)), "predict before any task must raise an InputError")
    _check_first_tasks(learner, scenario)
    twin = _learner(kind, options)
    _check_same_seed(twin, learner, scenario)
    _check_state(_learner(kind, options), learner, scenario)
    _check_other_seed(kind, options, learner, scenario)
    if learner.streams:
        _check_stream(kind, options, scenario)


# ---------------------------------------------------------------------- the problem


class _Place:
    """What a run offers: an encoder that sees pixels, and a network that trains within a second."""

    def encoder_for(self, uses: Uses, /) -> Encoder:
        return Encoder(lambda images: images.flatten(1), Preprocessing((0.0,), (1.0,)), name="pixels", device="cpu")

    def training_context(self) -> TrainingContext:
        return TrainingContext("small_cnn", {"width": 4}, QUICK, "cpu")


def _scenario() -> Scenario:
    rest = [label for label in range(10) if label not in ORDER]
    digits = load_dataset("digits")
    return make_scenario(digits, sizes=SIZES, order=[*ORDER, *rest], classes=len(ORDER), samples_per_class=PER_CLASS)


def _learner(kind: type[Method], options: Mapping[str, Any], seed: int = 0) -> Learner:
    made: Any = kind
    method: Method = made(**options, seed=seed)
    return method.learner_in(_Place())


# ---------------------------------------------------------------------- the checks


def _check_description(kind: type[Method], options: Mapping[str, Any]) -> None:
    _require(inspect.isclass(kind) and issubclass(kind, Method), f"{kind!r} must be a FrozenMethod or a Learner")
    parameters = inspect.signature(kind).parameters
    _require("seed" in parameters, "the constructor must take `seed`")
    for name, parameter in parameters.items():
        _require(parameter.default is not parameter.empty, f"the option {name!r} must have a default")
    made: Any = kind
    method: Method = made(**options, seed=0)
    _require(isinstance(method.name, str) and bool(method.name.strip()), "`name` must be text")
    _require(not {*method.name} & {*":,="}, "`name` must not contain the characters of the option syntax: : , =")
    _require(method.uses in ("features", "bits", None), "`uses` must be 'features', 'bits' or None")
    _require(isinstance(method.random, bool), "`random` must be true or false")
    _require(isinstance(method.version, str), "`version` must be text")
    _require(_refuses(lambda: made(**options, seed=-1)), "a negative seed must be refused with an InputError")
    _require(method.memory_bits() == method.working_set_bits() == 0, "sizes must be 0 before the first task")


def _check_first_tasks(learner: Learner, scenario: Scenario) -> None:
    """Check answers, sizes and inputs over two tasks."""
    seen: list[int] = []
    for task in list(scenario)[:2]:
        images, labels = task.train.images.copy(), task.train.labels.copy()
        torch.manual_seed(3)
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
        learner.learn(task)
        after = torch.get_rng_state(), np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
        same = torch.equal(before[0], after[0]) and np.array_equal(before[1], after[1])
        _require(same, "learn must draw from its own generators, not from torch's or NumPy's global state")
        unchanged = np.array_equal(task.train.images, images) and np.array_equal(task.train.labels, labels)
        _require(unchanged, "learn must not change its samples")
        seen += task.classes.tolist()
        answers = learner.predict(scenario[0].test)
        _require(answers.shape == (len(scenario[0].test),), "predict must give one answer per sample")
        _require(answers.dtype == np.int64, f"predict must give int64 labels; it gave {answers.dtype}")
        _require({*answers.tolist()} <= {*seen}, "predict must answer with learned classes")
        alone = [int(learner.predict(image[None])[0]) for image in scenario[0].test.images[:5]]
        _require(alone == answers[:5].tolist(), "an image must get the same answer alone as among others")
        for size in ("memory_bits", "working_set_bits"):
            value = getattr(learner, size)()
            _require(isinstance(value, int) and value >= 0, f"{size} must be an integer of at least 0; got {value!r}")
    state = _copied(learner)
    if learner.streams:
        return
    _require(_refuses(lambda: learner.learn(scenario[1])), "classes that were already learned must be refused")
    _require(_same(state, learner.state_dict()), "a refused task must change nothing")


def _check_same_seed(twin: Learner, learner: Learner, scenario: Scenario) -> None:
    for task in list(scenario)[:2]:
        twin.learn(task)
    _require(_same(twin.state_dict(), learner.state_dict()), "the same seed must give the same result")


def _check_state(loaded: Learner, learner: Learner, scenario: Scenario) -> None:
    """Check that a saved and loaded method continues as if uninterrupted."""
    state = learner.state_dict()
    for name, value in state.items():
        _require(isinstance(value, np.ndarray), f"state_dict must hold arrays; {name!r} is a {type(value).__name__}")
    loaded.load_state_dict(safetensors.numpy.load(safetensors.numpy.save(state)))
    _require(_same(loaded.state_dict(), state), "load_state_dict must restore all of a state_dict")
    _require(_refuses(lambda: loaded.load_state_dict({})), "an invalid state must be refused with an InputError")
    _require(_same(loaded.state_dict(), state), "a refused state must change nothing")
    for each in (learner, loaded):
        each.learn(scenario[2])
    _require(_same(loaded.state_dict(), learner.state_dict()), "after load_state_dict it must learn identically")
    seen = scenario.test_seen(2)
    _require(np.array_equal(loaded.predict(seen), learner.predict(seen)), "a reloaded learner must answer identically")


def _check_stream(kind: type[Method], options: Mapping[str, Any], scenario: Scenario) -> None:
    """Check that a method that learns from streams does, also after a reload."""
    learner, loaded = _learner(kind, options), _learner(kind, options)
    first, *stretches = as_stream(scenario, "blurry", batch=7)
    learner.learn(first)
    for task in stretches[:5]:
        learner.learn(task)
    loaded.load_state_dict(learner.state_dict())
    for each in (learner, loaded):
        for task in stretches[5:]:
            each.learn(task)
        each.ready()
    _require(_same(loaded.state_dict(), learner.state_dict()), "a stream must go on identically after load_state_dict")
    seen = scenario.test_seen(2)
    answers = learner.predict(seen)
    _require({*answers.tolist()} <= {*ORDER}, "predict must answer with learned classes")
    right = float((answers == seen.labels).mean())
    _require(right > 2 / len(ORDER), f"a stream must be learned; {right:.0%} of {len(ORDER)} classes are right")


def _check_other_seed(kind: type[Method], options: Mapping[str, Any], learner: Learner, scenario: Scenario) -> None:
    other = _learner(kind, options, seed=1)
    for task in scenario:
        other.learn(task)
    if not learner.random:
        _require(
            _same(other.state_dict(), learner.state_dict()), "`random` is false, but another seed changed the result"
        )


# ---------------------------------------------------------------------- what the checks need


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _refuses(call: Callable[[], Any]) -> bool:
    try:
        call()
    except BitreplayError:
        return True
    return False


def _copied(learner: Learner) -> dict[str, npt.NDArray[Any]]:
    return {name: np.array(value) for name, value in learner.state_dict().items()}


def _same(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
