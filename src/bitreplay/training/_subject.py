"""What is trained on task 0: a backbone, its images, and the networks of the two phases built from it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from bitreplay._floor.seeds import mix_seed
from bitreplay.backbones import (
    BACKBONES,
    Preprocessing,
    build_backbone,
    count_features,
    option_names,
    own_preprocessing,
    pretrained_on,
)
from bitreplay.data import Task
from bitreplay.errors import InputError
from bitreplay.training._network import BinarizerName, Network, Phase, build_network
from bitreplay.training._options import TrainingOptions
from bitreplay.training._trained import TrainedNetwork

BLOCK = 4096  # images at once when their mean is taken
BACKBONE_WEIGHTS, HEAD_WEIGHTS = range(100, 102)  # what a seed is for


@dataclass(frozen=True)
class Subject:
    """What is trained, and on what: everything that the phases of a training share."""

    task: Task
    name: str  # of the backbone; "" for a network of the user's own
    backbone: nn.Module  # as it is before the first phase
    backbone_options: Mapping[str, Any]
    n_features: int
    options: TrainingOptions
    p: int
    f: int
    seed: int
    preprocessing: Preprocessing | None  # None: that of the backbone or of the task


def make_subject(
    task: Task,
    backbone: str | nn.Module,
    options: TrainingOptions,
    backbone_options: Mapping[str, Any] | None,
    p: int,
    f: int,
    seed: int,
    preprocessing: Preprocessing | None,
) -> Subject:
    """Build the backbone, and check that it accepts the images."""
    name, used = (backbone, dict(backbone_options or {})) if isinstance(backbone, str) else ("", {})
    shapes = _image_shapes(task.train.dataset.image_shape, options.image_sizes, preprocessing or _expected(name, used))
    if isinstance(backbone, str):
        implied = {"in_channels": shapes[-1][0], "image_size": shapes[-1][1]}  # what the images say about the network
        used = {**{option: value for option, value in implied.items() if option in option_names(name)}, **used}
        module = build_backbone(name, generator=_generator(seed, BACKBONE_WEIGHTS), **used)
    elif backbone_options:
        raise InputError("backbone_options are for a backbone given by its name; this one is already built")
    else:
        module = copy.deepcopy(backbone)
        if (weights := list(module.parameters())) and not any(weight.requires_grad for weight in weights):
            raise InputError(
                "the backbone is frozen: none of its parameters requires a gradient, as after it was given to an "
                "Encoder. Call requires_grad_(True), or give a copy from before"
            )
    n_features = [count_features(module, shape) for shape in shapes]
    if len(set(n_features)) > 1:
        raise InputError(f"a backbone must give the same number of features at all image_sizes; got {n_features}")
    return Subject(task, name, module, used, n_features[-1], options, p, f, seed, preprocessing)


def first_network(subject: Subject, binarizer: BinarizerName) -> Network:
    """The initial network."""
    return build_network(
        copy.deepcopy(subject.backbone),
        subject.n_features,
        len(subject.task.classes),
        binarizer,
        subject.options.head,
        p=subject.p,
        f=subject.f,
        generator=_generator(subject.seed, HEAD_WEIGHTS),
    )


def next_network(start: TrainedNetwork, subject: Subject, phase: Phase) -> Network:
    """The result of the first phase, with the binarizer of the second inserted."""
    network = first_network(subject, phase.binarizer)
    network.backbone.load_state_dict(start.backbone.state_dict())
    head = network.head
    if isinstance(head, nn.Linear):
        with torch.no_grad():
            head.weight.copy_(torch.tensor(start.head_weight))
            head.bias.copy_(torch.tensor(start.head_bias))
    elif start.classifier is not None:
        head.load_state_dict(start.classifier.state_dict())
    return network


def _image_shapes(
    image_shape: tuple[int, int, int], image_sizes: tuple[int, ...], preprocessing: Preprocessing | None
) -> list[tuple[int, int, int]]:
    """Channels, height and width that the network will see during training, in turn."""
    height, width, channels = image_shape
    sizes = image_sizes or (preprocessing.size if preprocessing else None,)
    return [(channels, size or height, size or width) for size in sizes]


def _expected(name: str, options: Mapping[str, Any]) -> Preprocessing | None:
    """What the weights of a backbone, or its pixel code, expect; None if nothing."""
    if name in BACKBONES and (pretrained_on(name, options) or BACKBONES[name].binary):
        return own_preprocessing(name, options)
    return None


def default_preprocessing(name: str, task: Task, options: Mapping[str, Any]) -> Preprocessing:
    """What weights or pixel codes expect, or mean and standard deviation of the task's training images."""
    if (expected := _expected(name, options)) is not None:
        return expected
    n, total, squares = 0, 0.0, 0.0
    for begin in range(0, len(task.train), BLOCK):
        pixels = task.train.subset(slice(begin, begin + BLOCK)).images / 255.0
        n += pixels[..., 0].size
        total = total + pixels.sum((0, 1, 2))
        squares = squares + np.square(pixels).sum((0, 1, 2))
    mean = np.asarray(total) / n
    std = np.sqrt(np.maximum(np.asarray(squares) / n - mean**2, 1e-6))
    return Preprocessing(tuple(mean.round(4).tolist()), tuple(std.round(4).tolist()))


def _generator(seed: int, purpose: int) -> torch.Generator:
    return torch.Generator().manual_seed(mix_seed(seed, purpose))
