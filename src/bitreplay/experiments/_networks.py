"""The networks of the experiments: those that use the same one share it and its features through the cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bitreplay.runs import Scale

__all__ = ["NETWORK", "SMALL"]

PAPER = {"dataset": "cifar100", "tasks": 10, "encoder": "resnet18", "preset": "paper"}  # sec. 4.1

NETWORK: Mapping[Scale, Mapping[str, Any]] = {  # ours: a narrower ResNet-18, 40 minutes of training on two cores
    "cpu": {**PAPER, "preset": "cpu"},
    "paper": PAPER,
}
SMALL: Mapping[Scale, Mapping[str, Any]] = {  # ours: 5 minutes, for experiments that need several networks
    "cpu": {**PAPER, "preset": "small", "image_size": 24},
    "paper": PAPER,
}
