"""The training loop of all methods that train the whole network: read it from top to bottom.

It trains the whole network for one task. A method only supplies a function from a batch to a loss. Every
random number comes from (seed, epoch, step), and the global random state is not touched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.progress import progress
from bitreplay._floor.seeds import mix_seed
from bitreplay.backbones import Preprocessing
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.finetuned._progress import EpochCheckpoint
from bitreplay.learners.finetuned._recipe import Recipe

ENCODED_AT_ONCE = 256  # images; always the same ones together, as the last digits of features depend on it
ORDER, AUGMENTATION, LOSS = range(3)  # what a seed is for

Augment = Callable[..., torch.Tensor]  # images from 0 to 1 and a list of integers, the seed, to variants of the images


@dataclass(frozen=True)
class Batch:
    """What a loss sees in a step."""

    pixels: torch.Tensor  # images (N, C, H, W), augmented and normalised
    targets: torch.Tensor  # int64: position of each image's class in the learning order
    done: float  # share of the training that is completed
    generator: torch.Generator  # for random draws in the loss; on the CPU, and specific to this step


def fit(
    network: nn.Module,
    images: npt.NDArray[np.uint8],  # bytes (N, H, W, C)
    targets: npt.NDArray[np.int64],  # position of each one's class in the learning order
    loss: Callable[[Batch], torch.Tensor],
    recipe: Recipe,  # its number of epochs is not used
    *,
    epochs: int,  # images that do not fill a batch wait for the next one
    seed: tuple[int, ...],
    preprocessing: Preprocessing,
    augment: Augment | None,
    keep_statistics: bool = False,  # of batch normalisation, instead of those of each batch
    title: str = "training",
    checkpoint: EpochCheckpoint | None = None,  # goes on from there
) -> None:
    """Train those parameters of a network that require a gradient, where it is; it is in training mode afterwards."""
    device = next(network.parameters()).device
    pictures, classes = torch.from_numpy(images).to(device), torch.from_numpy(targets).to(device)
    optimizer = _optimizer(network, recipe)
    batch_size = min(recipe.batch_size, len(images))
    steps = len(images) // batch_size
    done_epochs = 0 if checkpoint is None else checkpoint.read(network, optimizer)
    network.train()
    for module in network.modules():
        if keep_statistics and isinstance(module, nn.BatchNorm2d):
            module.eval()
    with progress(title, epochs * steps) as advance:
        advance(done_epochs * steps)
        for epoch in range(done_epochs, epochs):
            order = torch.randperm(len(images), generator=_generator(*seed, ORDER, epoch)).to(device)
            for step in range(steps):
                done = (epoch + step / steps) / epochs
                for group in optimizer.param_groups:
                    group["lr"] = recipe.learning_rate_at(done)
                chosen = order[step * batch_size : (step + 1) * batch_size]
                pixels = preprocessing.to_float(pictures[chosen])
                if augment is not None:
                    pixels = augment(pixels, *seed, AUGMENTATION, epoch, step)
                pixels = preprocessing.normalise(preprocessing.resize(pixels))
                batch = Batch(pixels, classes[chosen], done, _generator(*seed, LOSS, epoch, step))

                value = loss(batch)
                optimizer.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                advance(1)
            if checkpoint is not None:
                checkpoint.after(epoch + 1, network, optimizer)


def encode(
    network: GrowingNetwork, images: npt.NDArray[np.uint8], preprocessing: Preprocessing
) -> npt.NDArray[np.float32]:
    """Features (N, d) of images (N, H, W, C) without augmentation; the network is in evaluation mode afterwards."""
    device = next(network.parameters()).device
    network.eval()
    features = []
    with torch.inference_mode():
        for begin in range(0, len(images), ENCODED_AT_ONCE):
            pixels = torch.from_numpy(np.array(images[begin : begin + ENCODED_AT_ONCE])).to(device)
            features.append(network.features(preprocessing(pixels)).float().cpu().numpy())
    return np.concatenate(features)


def _optimizer(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """The optimizer; weight decay applies to matrices and kernels only, not to biases and batch normalisation."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if recipe.optimizer == "adam":
        return torch.optim.Adam(groups, lr=0.0)
    return torch.optim.SGD(groups, lr=0.0, momentum=recipe.momentum)


def _generator(*seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(mix_seed(*seed))
