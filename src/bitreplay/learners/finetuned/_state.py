"""The state of a method that trains its network, as arrays and back."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.backbones import Preprocessing
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays, from_text, to_text
from bitreplay.training import as_arrays

if TYPE_CHECKING:
    from bitreplay.learners.finetuned._learner import FineTunedLearner

NETWORK, KEPT = "network.", "kept."


def state_of(learner: FineTunedLearner) -> Arrays:
    """Network, classes and what is stored besides them."""
    if learner.network is None:
        raise InputError(f"{learner.name} has not learned any class yet: call learn first")
    about = {
        "name": learner.name,
        "backbone": learner.context.backbone,
        "backbone_options": dict(learner.context.backbone_options),
        "preprocessing": asdict(learner.preprocessing),
        "image_shape": list(learner.image_shape),
        "outputs": list(learner.network.head.sizes),
    }
    state: Arrays = {"method": to_text(about), "classes": learner.classes, **as_arrays(learner.network, NETWORK)}
    return {**state, **{KEPT + name: np.asarray(value, order="C") for name, value in learner.kept.items()}}


def with_state(learner: FineTunedLearner, state: Mapping[str, npt.NDArray[Any]]) -> FineTunedLearner:
    """A copy of a learner with a loaded state; the learner itself does not change."""
    fresh = copy.copy(learner)
    try:
        about = from_text(state["method"])
        if (about["name"], about["backbone"]) != (learner.name, learner.context.backbone):
            raise ValueError(f"it is one of {about['name']} with a {about['backbone']}")
        fresh.image_shape = tuple(about["image_shape"])
        own = about["preprocessing"]
        fresh.preprocessing = Preprocessing(**{**own, "mean": tuple(own["mean"]), "std": tuple(own["std"])})
        network = fresh.new_network()
        for n_outputs in about["outputs"]:
            network.head.grow(n_outputs, torch.Generator())
        network.load_state_dict({name: torch.tensor(value) for name, value in _part(state, NETWORK).items()})
        fresh.network = fresh.placed(network).eval()
        fresh.kept = {name: np.array(value) for name, value in _part(state, KEPT).items()}
        fresh.classes = np.array(state["classes"], dtype=np.int64)
        if missing := {*learner.memory_arrays} - fresh.kept.keys():
            raise ValueError(f"it has no {', '.join(sorted(missing))}")
        fresh._loaded()
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"this is not a state of {learner.name}: {error}") from None
    return fresh


def _part(state: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
