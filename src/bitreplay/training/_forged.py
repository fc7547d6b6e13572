"""Checks of a network's file before anything is built from it: a few bytes must not reserve gigabytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from bitreplay._floor.arguments import integer, number
from bitreplay._floor.container import Tensors
from bitreplay.backbones import build_backbone

LARGEST = 4096  # ours: pixels of a side, far more than any network takes
COUNTS = ("blocks", "groups")  # options that say how many layers there are, each of which has tensors


def check_tensors(content: Mapping[str, Any], tensors: Tensors) -> None:
    """Refuse what no training writes: parameters that are not finite, labels that are not integers, odd texts."""
    for name, value in tensors.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{name} must be finite")
        if name.endswith("running_var") and (value < 0).any():
            raise ValueError(f"{name} must not be negative")
    if tensors["classes"].dtype != np.int64 or tensors["classes"].ndim != 1:
        raise ValueError("classes must be a vector of integers")
    if any(tensors[name].dtype != np.float32 for name in ("head.weight", "head.bias")):
        raise ValueError("G must be float32")
    for name, kind in (("accuracy", dict), ("key", str), ("description", dict)):
        if not isinstance(content[name], kind):
            raise TypeError(f"{name} is {content[name]!r}")
    if content["preprocessing"]["size"] is not None:
        integer("size", content["preprocessing"]["size"], 1, LARGEST)
    for value in content["accuracy"].values():
        if value is not None:
            number("accuracy", value, 0, 1)


def check_backbone(name: str, options: Mapping[str, Any], own: Tensors) -> None:
    """Refuse tensors that are not those of a backbone with these options; ValueError says which.

    The backbone is built once without memory for its parameters, to see what they would be.
    """
    for option in COUNTS:
        counts = options.get(option, ())
        if not isinstance(counts, Sequence) or sum(counts) > len(own):
            raise ValueError(f"{option} are {counts!r}, but there are {len(own)} tensors")
    if name == "efficientnet_lite0":  # has one size, and code of its own that wants real tensors
        return
    with torch.device("meta"):
        blank = build_backbone(name, **options).state_dict()
    for tensor, value in blank.items():
        if tensor not in own or own[tensor].shape != tuple(value.shape):
            raise ValueError(f"{name} with these options has a tensor {tensor} of shape {tuple(value.shape)}")
    if len(own) != len(blank):
        raise ValueError(f"{name} has {len(blank)} tensors; there are {len(own)}")
