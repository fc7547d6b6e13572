"""The network that is trained on task 0: backbone, binarizer and G, with or without the binarizer.

In the flow **images → features → bits → head → class** it is the whole line, for the classes of task 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn

from bitreplay.binarizers import Binarizer, Heaviside, Native, Thermometer
from bitreplay.errors import InputError
from bitreplay.nn import BinaryClassifier
from bitreplay.training._options import HeadForm, TrainingOptions

__all__ = ["BinarizerName", "Network", "Phase", "build_network", "phases_of"]

BinarizerName = Literal["thermometer", "heaviside", "native", "none"]


class Network(nn.Module):
    """Backbone, binarizer and a classifier G.

    `binarize` switches the binarizer on and off; off, G sees the features themselves.
    """

    def __init__(
        self, backbone: nn.Module, binarizer: Binarizer | None, head: nn.Linear | BinaryClassifier, *, binarize: bool
    ) -> None:
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
    if binarizer in ("heaviside", "native"):  # its projection is a layer like any other, there from the beginning
        return (Phase("binarized", options.epochs, options.learning_rate, binarize=True),)
    plain = Phase("plain", options.epochs, options.learning_rate, binarize=False)
    straight_through = Phase("straight_through", options.ste_epochs, options.ste_learning_rate, binarize=True)
    return (plain, straight_through) if options.ste_epochs else (plain,)


def build_network(
    backbone: nn.Module,
    n_features: int,
    n_classes: int,
    binarizer: BinarizerName,
    head: HeadForm = "linear",
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
    elif binarizer == "native":
        made, n_inputs = Native(), n_features
    elif binarizer == "none":
        made, n_inputs = None, n_features
    else:
        raise InputError(f"binarizer must be one of {', '.join(get_args(BinarizerName))}; got {binarizer!r}")
    classifier = (
        _binary(n_inputs, n_classes, generator) if head == "binary" else _linear(n_inputs, n_classes, generator)
    )
    return Network(backbone, made, classifier, binarize=binarizer in ("heaviside", "native"))


def _linear(n_inputs: int, n_classes: int, generator: torch.Generator) -> nn.Linear:
    with torch.random.fork_rng(devices=[]):  # the layer draws weights from the global state, and others replace them
        layer = nn.Linear(n_inputs, n_classes)
    bound = n_inputs**-0.5  # the initialisation of torch's linear layer
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.zero_()
    return layer


def _binary(n_inputs: int, n_classes: int, generator: torch.Generator) -> BinaryClassifier:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
        return BinaryClassifier(n_inputs, n_classes)
