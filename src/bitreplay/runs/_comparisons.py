"""Comparisons by name: the setting and the learners of a table of the paper, at a scale the machine can handle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Scale = Literal["cpu", "full", "paper"]


@dataclass(frozen=True)
class Comparison:
    """What a table compares: options of :class:`Setting`, and learners."""

    setting: Mapping[str, Any]
    learners: tuple[str, ...]


# The rows of the paper's table 1, its GBM with one prototype and eight, and around them what this library has besides.
TABLE_1 = (
    "FullFineTuning",
    "FullJoint",
    "iCaRL",
    "iCaRL:output=nme",
    "EEIL",
    "LUCIR",
    "LwF-MC",
    "EWC",
    "PASS",
    "IL2A",
    "FeTrIL",
    "GBM:prototypes=1,bits=32,head=replay,objective=expected",
    "GBM:prototypes=8,bits=32,head=replay,objective=expected",
    "GBM",
    "TrainableGBM",
    "FineTuning",
    "Joint",
    "NearestMean",
    "FeCAM",
    "StreamingLDA",
    "RandomRidge",
)

COMPARISONS: dict[str, dict[Scale, Comparison]] = {
    "table-1": {
        # Ours: real images, and all methods trained for as many epochs; sized for half an hour a seed on two cores.
        "cpu": Comparison(
            {
                "dataset": "cifar100",
                "classes": 20,
                "base": 10,
                "increment": 2,
                "image_size": 24,
                "encoder": "resnet18",
                "preset": "small",
            },
            TABLE_1,
        ),
        # The paper's network with the preset's short schedule, for every method.
        "full": Comparison(
            {"dataset": "cifar100", "tasks": 10, "encoder": "resnet18", "preset": "full"},
            TABLE_1,
        ),
        # Sec. 4.1, for a GPU; the experiment varies data set and tasks.
        "paper": Comparison(
            {"dataset": "cifar100", "tasks": 10, "encoder": "resnet18", "preset": "paper"},
            TABLE_1,
        ),
    }
}
