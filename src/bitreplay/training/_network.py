"""The network that is trained on task 0: backbone, binarizer and G, with or without the binarizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from bitreplay._floor.arguments import one_of
from bitreplay.binarizers import Binarizer, Heaviside, Native, Thermometer
from bitreplay.nn import BinaryClassifier
from bitreplay.training._options import HeadForm, Schedule, TrainingOptions

BinarizerName = Literal["thermometer", "heaviside", "native", "none"]


class Network(nn.Module):
    """Backbone, binarizer and a classifier G; without a binarizer, G sees the features themselves."""

    def __init__(self, backbone: nn.Module, binarizer: Binarizer | None, head: nn.Linear | BinaryClassifier) -> None:
        super().__init__()
        self.backbone = backbone
        self.binarizer = binarizer
        self.head = head

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores (N, classes) of normalised images (N, C, H, W)."""
        features = self.backbone(images)
        if self.binarizer is not None:
            features = self.binarizer(features)  # bits forward, a straight-through gradient backward
        scores: torch.Tensor = self.head(features)
        return scores


@dataclass(frozen=True)
class Phase:
    """A part of the training with one learning-rate schedule."""

    name: str
    number: int  # 0 or 1: the random numbers of a phase are its own
    epochs: int
    learning_rate: float
    schedule: Schedule
    binarizer: BinarizerName  # what is put in, and trained with


def phases_of(options: TrainingOptions, binarizer: BinarizerName) -> tuple[Phase, ...]:
    """The phases of the training: two with a thermometer, one otherwise (sec. 3.3).

    A thermometer is inserted after the first, even if the second has no epochs.
    """
    first = ("plain", 0, options.epochs, options.learning_rate, options.schedule)
    second = (1, options.ste_epochs, options.ste_learning_rate, options.ste_schedule)
    if binarizer == "thermometer":
        return Phase(*first, "none"), Phase("straight_through", *second, binarizer)
    if binarizer == "none":
        return (Phase(*first, "none"), *([Phase("continued", *second, "none")] if options.continued else []))
    # Projection or signs are layers like any other, there from the beginning; both binarizers get as many epochs.
    epochs = options.epochs + (options.ste_epochs if binarizer == "heaviside" else 0)
    return (Phase("binarized", 0, epochs, options.learning_rate, options.schedule, binarizer),)


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
    one_of("binarizer", binarizer, BinarizerName)
    made: Binarizer | None
    if binarizer == "thermometer":
        made, n_inputs = Thermometer(p), n_features
    elif binarizer == "heaviside":
        made, n_inputs = Heaviside(n_features, f, generator=generator), f * n_features
    elif binarizer == "native":
        made, n_inputs = Native(), n_features
    else:
        made, n_inputs = None, n_features
    classifier = (
        _binary(n_inputs, n_classes, generator) if head == "binary" else _linear(n_inputs, n_classes, generator)
    )
    return Network(backbone, made, classifier)


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
