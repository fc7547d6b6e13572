"""A state as JSON content and tensors, and back, for files of classifiers and checkpoints of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from bitreplay._floor.arguments import integer, number
from bitreplay._floor.threads import n_threads
from bitreplay.binarizers import rebuild
from bitreplay.gbm._familiar import Familiar
from bitreplay.gbm._state import GBMOptions, GBMState
from bitreplay.heads import HEADS, Head, deferred
from bitreplay.memory import BinaryMemory

Tensors = dict[str, npt.NDArray[Any]]
BINARIZER, HEAD, FAMILIAR = "binarizer.", "head.", "familiar."
COLDEST, HOTTEST = 1e-3, 1e6  # ours: beyond both, quotients of scores are not finite any more
SMALL = 2**20  # ours: values of all prototypes; the head of more takes more memory than reading a file may take
RENAMED = {"lr": "learning_rate"}  # options of heads, as 0.1.0 called them
NO_HELP = {"strength": 0.0, "offset": 0.0}
# Options that earlier files do not have, as those answered.
ADDED: dict[str, dict[str, float]] = {"closed_form": NO_HELP, "bayes": NO_HELP, "replay": {"strength": 0.0}}


def state_content(state: GBMState) -> tuple[dict[str, Any], dict[str, Any], Tensors]:
    """The content of the memory, that of everything else, and the tensors of both."""
    memory, tensors = state.memory.to_content()
    binarizer, thresholds = state.binarizer.describe()
    head, learned = state.head.describe()
    content = {
        "binarizer": binarizer,
        "head": {"name": state.head.name, **head},
        "seed": state.seed,
        "n_calls": state.calls,
        "temperature": state.temperature,
    }
    content["held_out"], familiar = state.familiar.to_content(state.labels)
    tensors.update({FAMILIAR + name: value for name, value in familiar.items()})
    tensors.update({BINARIZER + name: value for name, value in thresholds.items()})
    tensors.update({HEAD + name: value for name, value in learned.items()})
    return memory, content, tensors


def head_of(content: Mapping[str, Any]) -> Head | None:
    """The unfitted head that a file describes; None for one with a custom module."""
    described = {RENAMED.get(option, option): value for option, value in content["head"].items()}
    name = described.pop("name")
    described = {**ADDED.get(name, {}), **described}
    return None if described.pop("own_module", False) else HEADS[name](**described)


def state_from_content(
    memory: BinaryMemory, content: Mapping[str, Any], tensors: Tensors, options: GBMOptions, head: Head
) -> GBMState:
    """Rebuild the state; raises KeyError, TypeError, ValueError or RuntimeError if something does not match."""
    binarizer = rebuild(content["binarizer"], _part(tensors, BINARIZER))
    seed, calls = integer("seed", content["seed"], 0), integer("n_calls", content["n_calls"], 0)
    temperature = content["temperature"]
    if temperature is not None:
        temperature = number("temperature", temperature, COLDEST, HOTTEST)
    fitted = None
    if sum(memory.sizes) * memory.n_features > SMALL:  # what cannot be computed is refused now, if that takes little
        fitted = deferred(head, memory, binarizer, seed, n_threads(options.n_jobs))
    fitted = fitted or head.restore(memory, binarizer, _part(tensors, HEAD), seed)
    familiar = Familiar.from_content(content.get("held_out"), _part(tensors, FAMILIAR), memory.labels)
    return GBMState(options, binarizer, memory, fitted, seed, calls, temperature, familiar)


def _part(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
