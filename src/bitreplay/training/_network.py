"""The network that is trained on task 0: backbone, binarizer and a linear G, with or without the binarizer.

In the flow **images → features → bits → head → class** it is the whole line, for the classes of task 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from bitreplay.binarizers import Binarizer, Heaviside, Thermometer
from bitreplay.errors import InputError
from bitreplay.training._options import TrainingOptions

__all__ = ["BinarizerName", "Network", "Phase", "build_network", "phases_of"]

BinarizerName = Literal["thermometer", "heaviside", "none"]


class Network(nn.Module):
    """Backbone, binarizer and a linear classifier G.

    `binarize` switches the binarizer on and off; off, G sees the features themselves.
    """

    def __init__(self, backbone: nn.Module, binarizer: Binarizer | None, head: nn.Linear, *, binarize: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.binarizer = binarizer
        self.head = head
        self.binarize = binarize

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores (N, classes) of normalised images (N, C, H, W)."""
        features = self.backbone(images)
        if self.binarize and self.binarizer is not None:
            features = self.binarizer(features)  # bits forward, a straight-through gradient backward
        scores: torch.Tensor = self.head(features)
        return scores


@dataclass(frozen=True)
class Phase:
    """A stretch of the training with one learning-rate schedule."""

    name: str
    epochs: int
    learning_rate: float
    binarize: bool


def phases_of(options: TrainingOptions, binarizer: BinarizerName) -> tuple[Phase, ...]:
    """The phases of the training: two with a thermometer, one otherwise (sec. 3.3)."""
    if binarizer == "none":
        return (Phase("plain", options.epochs, options.learning_rate, binarize=False),)
    if binarizer == "heaviside":  # its projection is a layer like any other, there from the beginning
        return (Phase("binarized", options.epochs, options.learning_rate, binarize=True),)
    plain = Phase("plain", options.epochs, options.learning_rate, binarize=False)
    straight_through = Phase("straight_through", options.ste_epochs, options.ste_learning_rate, binarize=True)
    return (plain, straight_through) if options.ste_epochs else (plain,)


def build_network(
    backbone: nn.Module,
    n_features: int,
    n_classes: int,
    binarizer: BinarizerName,
    *,
    p: int,
    f: int,
    generator: torch.Generator,
) -> Network:
    """A network around `backbone`, with G and the binarizer drawn from `generator`."""
    made: Binarizer | None
    if binarizer == "thermometer":
        made, n_inputs = Thermometer(p), n_features
    elif binarizer == "heaviside":
        made, n_inputs = Heaviside(n_features, f, generator=generator), f * n_features
    elif binarizer == "none":
        made, n_inputs = None, n_features
    else:
        raise InputError(f"binarizer must be one of thermometer, heaviside, none; got {binarizer!r}")
    with torch.random.fork_rng(devices=[]):  # the layer draws weights from the global state, and others replace them
        head = nn.Linear(n_inputs, n_classes)
    bound = n_inputs**-0.5  # the initialisation of torch's linear layer
    with torch.no_grad():
        head.weight.uniform_(-bound, bound, generator=generator)
        head.bias.zero_()
    return Network(backbone, made, head, binarize=binarizer == "heaviside")
