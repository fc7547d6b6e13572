"""Runs of methods that train a network of their own, beside those on an encoder, and tables by their names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bitreplay import caches
from bitreplay.cli import main
from bitreplay.errors import InputError
from bitreplay.evaluation import History
from bitreplay.experiments import Scale
from bitreplay.experiments._main_runs import METHODS, SETTING
from bitreplay.learners import LEARNERS, FineTunedLearner
from bitreplay.runs import Prepared, Setting, Specification, run_learner
from tests.runs.problems import SIZES

SMALL = Setting("digits", every=4, sizes=SIZES, samples_per_class=30, encoder="small_cnn", accelerator="cpu")


def quick(name: str) -> Specification:
    return Specification.parse(f"{name}:epochs=1")


@pytest.mark.parametrize("name", ["LUCIR", "EWC", "TrainableGBM"])  # exemplars, a vector, a memory
def test_an_interrupted_run_ends_like_one_that_was_not(tmp_path: Path, name: str) -> None:
    def stop(state: int, history: History) -> None:
        if state == 1:
            raise KeyboardInterrupt

    undisturbed = run_learner(SMALL, quick(name), 1, tmp_path / "undisturbed")
    assert undisturbed.finished
    assert undisturbed.history is not None
    notes = {"data": "digits", "encoder": "small_cnn, trained in every task"}
    assert undisturbed.history.notes == notes | {"few-shot": "30 samples of every class after task 0"}
    with pytest.raises(KeyboardInterrupt):
        run_learner(SMALL, quick(name), 1, tmp_path / "runs", on_state=stop, checkpoint_seconds=0)
    seen: list[int] = []
    resumed = run_learner(SMALL, quick(name), 1, tmp_path / "runs", on_state=lambda state, history: seen.append(state))
    assert seen == [2]
    assert resumed.history == undisturbed.history
    phases = 2 if name == "TrainableGBM" else 0  # it goes on from an encoder's network; no other needs one
    assert [entry.kind for entry in caches.entries()] == ["backbones"] * phases


def test_gbm_with_a_trainable_backbone_begins_with_the_network_of_the_frozen_one() -> None:
    setting = replace(SMALL, training={"epochs": 1, "ste_epochs": 1}, training_seed=3)
    prepared = Prepared(setting)
    encoder = prepared.encoder  # trained now
    trained = {entry.key for entry in caches.entries() if entry.kind == "backbones"}
    learner = quick("TrainableGBM").learner(prepared, 0)
    assert isinstance(learner, FineTunedLearner)
    learner.learn(prepared.scenario[0])
    assert {entry.key for entry in caches.entries() if entry.kind == "backbones"} == trained
    assert learner.network is not None
    frozen = setting.trained(prepared.scenario)
    for name, value in learner.network.backbone.state_dict().items():
        torch.testing.assert_close(value, frozen.backbone.state_dict()[name], rtol=0, atol=0)
    np.testing.assert_array_equal(learner.network.head.weight.detach(), frozen.head_weight)
    test = prepared.scenario[0].test
    np.testing.assert_allclose(learner._features(test), encoder.features(test), atol=1e-5)
    with pytest.raises(InputError, match="base_epochs is not for TrainableGBM"):
        Specification.parse("TrainableGBM:base_epochs=1")


def test_runs_that_differ_after_task_0_learn_it_once(tmp_path: Path) -> None:
    states: dict[str, list[int]] = {}

    def run(weight: str, output: Path) -> History | None:
        seen = states.setdefault(weight, [])
        specification = Specification.parse(f"PASS:epochs=1,prototype_weight={weight}")
        done = run_learner(
            SMALL, specification, 0, output, on_state=lambda state, _: seen.append(state), checkpoint_seconds=0
        )
        return done.history

    first = run("0", tmp_path / "runs")
    other = run("10", tmp_path / "runs")
    assert states == {"0": [0, 1, 2], "10": [1, 2]}
    assert other != first
    assert other == run("10", tmp_path / "alone")
    assert other is not None
    assert first is not None
    assert other.seconds[0] == first.seconds[0] > 0  # of when it was learned


def test_both_kinds_side_by_side_from_the_command_line(network: Path, tmp_path: Path) -> None:
    sizes = ["--sizes", *map(str, SIZES)]
    learners = ["--learners", "LwF-MC:epochs=1", "NearestMean"]
    output = ["--output", str(tmp_path / "runs")]
    assert main(["compare", "--dataset", "digits", "--encoder", str(network), *sizes, *learners, *output]) == 2
    few = ["--dataset", "digits", "--classes", "4", "--sizes", "2", "1", "1", "--accelerator", "cpu"]
    assert main(["compare", *few, *learners, *output]) == 0
    assert len(list((tmp_path / "runs").glob("*/history.json"))) == 2


@pytest.mark.parametrize("encoder", ["efficientnet_lite0", "binary_vgg"])
def test_networks_that_are_not_to_be_trained_are_refused(tmp_path: Path, encoder: str) -> None:
    with pytest.raises(InputError, match="start from an untrained one"):
        run_learner(Setting("digits", encoder=encoder), quick("iCaRL"), 0, tmp_path)
    assert not any(tmp_path.glob("digits*"))


def test_the_preset_says_which_network_is_trained_and_how_much() -> None:
    assert Setting("cifar100").training_context().backbone == "resnet18"
    assert Setting("cifar100").training_context().backbone_options == {"width": 48, "stem_stride": 2}
    assert Setting("cifar100", encoder="small_cnn").training_context().backbone_options == {}
    assert Setting("cifar100", preset="paper").training_context().budget is None  # each as its authors did
    assert Setting("digits").training_context().backbone == "small_cnn"


# ------------------------------------------------------------------ tables by name


@pytest.mark.parametrize("scale", ["cpu", "full", "paper"])
def test_every_learner_of_a_table_can_be_made(scale: Scale) -> None:
    made = [Specification.parse(text) for text in METHODS]
    assert {*LEARNERS} - {*LEARNERS.on_frozen_encoders()} <= {specification.name for specification in made}
    assert Setting(**SETTING[scale]).training_context().backbone == "resnet18"


def test_training_options_are_those_of_whole_networks_too() -> None:
    budget = Setting("cifar100", encoder="resnet18", preset="paper", training={"epochs": 3}).training_context().budget
    assert budget is not None
    assert (budget.epochs, budget.batch_size) == (3, 128)


def test_only_the_first_classes_are_learned() -> None:
    setting = Setting("digits", classes=5, base=3, increment=1)
    scenario = Prepared(setting).scenario
    order = Prepared(Setting("digits")).scenario.classes_seen(5)
    assert scenario.classes_seen(2).tolist() == order[:5].tolist()
    assert setting.determinants()["classes"] == 5
    assert "classes" not in Setting("digits").determinants()  # runs from before there was this option are found
