"""TrainingContext: which network a method trains, for how long and where, besides its own options."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from bitreplay._floor.devices import usable_device
from bitreplay.backbones import BACKBONES, build_backbone, count_features, option_names
from bitreplay.data import Task
from bitreplay.errors import InputError
from bitreplay.training import PRESETS, Precision, TrainedNetwork, TrainingOptions, train_base


@dataclass(frozen=True)
class TrainingContext:
    """Which network is trained, for how long and where.

    Parameters
    ----------
    backbone : str
        A name among :data:`bitreplay.backbones.BACKBONES`.
    backbone_options : mapping
        Its options; `in_channels` is that of the images.
    budget : TrainingOptions, optional
        How much training every method gets; without one each trains as its authors did.
    device : str
        Where: "auto" takes a GPU if there is one.
    training_seed : int
        Seed of the network that frozen methods stand on, for methods that go on from it.
    precision : {"32-true", "bf16-mixed"}
        Arithmetic of that network's training.

    Examples
    --------
    A method trains as long as its authors did, or within the budget of a comparison:

    >>> from bitreplay.learners import LEARNERS
    >>> from bitreplay.training import PRESETS
    >>> context = TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], device="cpu")
    >>> learner = LEARNERS["PASS"]()
    >>> before = learner.recipe.epochs
    >>> learner.use(context)
    >>> before, learner.recipe.epochs
    (101, 18)
    >>> context.new_backbone((8, 8, 1), torch.Generator().manual_seed(0))[1]  # features
    32
    """

    backbone: str = "resnet18"
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    budget: TrainingOptions | None = None
    device: str = "auto"
    training_seed: int = 0
    precision: Precision = "32-true"

    def __post_init__(self) -> None:
        if self.backbone not in BACKBONES:
            raise InputError(f"there is no backbone {self.backbone!r}; there are {', '.join(BACKBONES)}")
        usable_device(self.device)

    def new_backbone(self, image_shape: tuple[int, ...], generator: torch.Generator) -> tuple[nn.Module, int]:
        """A backbone for images (height, width, channels), and the number of its features."""
        height, width, channels = image_shape
        options = {"in_channels": channels} if "in_channels" in option_names(self.backbone) else {}
        backbone = build_backbone(self.backbone, generator=generator, **options, **self.backbone_options)
        return backbone, count_features(backbone, (channels, height, width))

    def trained_on(self, task: Task, p: int) -> TrainedNetwork:
        """The network that frozen methods stand on: trained on task 0 in two phases, the second with a thermometer."""
        return train_base(
            task,
            self.backbone,
            self.budget or PRESETS["paper"],
            backbone_options=self.backbone_options,
            p=p,
            seed=self.training_seed,
            accelerator=self.device,
            precision=self.precision,
            progress=sys.stdout.isatty(),  # where its bar is drawn
        )

    def torch_device(self) -> torch.device:
        """The device."""
        return usable_device(self.device)
