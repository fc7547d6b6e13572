"""Checkpoints: the progress of a training in one file, so that it can resume after being killed at any moment.

A checkpoint is a safetensors file with JSON metadata and a checksum, written next to the old one and then renamed:
there is always a complete one. Nothing in it is pickled. It holds the network, the optimizer's state and the position.
Neither a learning-rate scheduler nor a random generator has a state to save: the learning rate is a function of the
position, and every random number comes from a seed made of (seed, phase, epoch, step).
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.container import Tensors, read_file, write_file
from bitreplay._floor.files import remove_stray_parts
from bitreplay.errors import FileFormatError, InputError

CHECKPOINT = "checkpoint.safetensors"
NETWORK = "network."
MOMENTUM = "momentum."
STATE = ("momentum_buffer", "step", "exp_avg", "exp_avg_sq")  # what SGD and Adam remember of a parameter


@dataclass
class Position:
    """Progress of a phase: the next epoch to train, and the measurements before it."""

    epoch: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)  # of log.csv, one per epoch
    accuracy: dict[str, float | None] = field(default_factory=dict)  # at the "start" and the "end" of the phase


def as_arrays(module: nn.Module, prefix: str) -> dict[str, npt.NDArray[Any]]:
    """All tensors of a module as arrays, named as in its `state_dict` with a prefix."""
    return {prefix + name: value.contiguous().cpu().numpy() for name, value in module.state_dict().items()}


def write_checkpoint(
    path: Path, key: str, position: Position, network: nn.Module, optimizer: torch.optim.Optimizer
) -> None:
    """Replace a checkpoint; if killed in the middle, the old one remains."""
    tensors: Tensors = as_arrays(network, NETWORK)
    for index, parameter in enumerate(_parameters(optimizer)):
        for name, value in optimizer.state[parameter].items():
            if value is not None:
                tensors[f"{_state_name(name)}{index}"] = value.contiguous().cpu().numpy()
    write_file(path, "training", {"key": key, **asdict(position)}, tensors)


def read_checkpoint(path: Path, key: str, network: nn.Module, optimizer: torch.optim.Optimizer) -> Position:
    """Restore network and optimizer from a checkpoint; without one, start from the beginning."""
    try:
        content, tensors = read_file(path)
    except FileNotFoundError:
        return Position()
    except FileFormatError as error:  # the result is the same from the first epoch on
        warnings.warn(f"the training begins again: {error}", stacklevel=2)
        return Position()
    if content.get("kind") != "training":
        raise FileFormatError(f"{path} is not the checkpoint of a training")
    if content["key"] != key:
        raise InputError(f"{path.parent} holds a training with other options; remove it or choose another folder")
    state = {
        name.removeprefix(NETWORK): torch.from_numpy(np.array(value))
        for name, value in tensors.items()
        if name.startswith(NETWORK)
    }
    shapes = {name: value.shape for name, value in network.state_dict().items()}
    if {name: value.shape for name, value in state.items()} != shapes:
        warnings.warn(f"the training begins again: {path} holds another network", stacklevel=2)
        return Position()
    network.load_state_dict(state)
    for index, parameter in enumerate(_parameters(optimizer)):
        for name in STATE:
            saved = tensors.get(f"{_state_name(name)}{index}")
            if saved is None:
                continue
            value = torch.from_numpy(np.array(saved))
            if value.ndim:  # empty_like keeps the parameter's device and memory layout
                value = torch.empty_like(parameter, requires_grad=False).copy_(value)
            optimizer.state[parameter][name] = value
    return Position(content["epoch"], content["rows"], content["accuracy"])


def remove_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, and any leftovers of a process killed while writing one."""
    remove_stray_parts(folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _state_name(name: str) -> str:
    return MOMENTUM if name == "momentum_buffer" else f"{name}."


def _parameters(optimizer: torch.optim.Optimizer) -> list[nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
