"""EEIL, end-to-end incremental learning (Castro et al., ECCV 2018): distillation per task, then balanced training.

Details are from the authors' code, fmcp/EndToEndIncrementalLearning. Two things in it are not adopted: the weight
decay that grows with the squared norm of the weights (`thisDecay * thisPenalty`), and the stored copies
of every image, whose variants are drawn during training here.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn
from torch.nn.functional import cross_entropy, pad

from bitreplay._floor.seeds import mix_seed
from bitreplay.learners.finetuned._exemplars import WithExemplars
from bitreplay.learners.finetuned._learner import Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Augment, Batch

TEMPERATURE = 2.0  # experiment_cifar.m: "Distillation temperature. Always 2."
EPOCHS, BALANCED_EPOCHS = 40, 30  # experiment_cifar.m, incremental_training.m: 10 for each of 4, then 3 learning rates
BALANCED_RATE = 0.1  # incremental_training.m: balanced training begins at 0.01 instead of 0.1
BALANCED_MILESTONES = (1 / 3, 2 / 3)  # incremental_training.m: 10 epochs each at 0.01, 0.001 and 0.0001
NOISE, NOISE_DECAY = 0.3, 0.55  # cnn_train_dag_exemplars.m, after Neelakantan et al. 2015
VARIANTS = 12  # incremental_training.m: an epoch there shows every image in 12 variants
BRIGHTNESS, CONTRAST, TRANSLATION = 63 / 255, (0.2, 1.8), 4  # incremental_training.m


def distillation(logits: torch.Tensor, old_logits: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Cross-entropy between softmaxes at temperature 2, for each old task's outputs separately, summed over tasks."""
    total = logits.new_zeros(())
    begin = 0
    for size in sizes:
        mine, teachers = (values[:, begin : begin + size] / TEMPERATURE for values in (logits, old_logits))
        total = total + cross_entropy(mine, teachers.softmax(1))
        begin += size
    return total


def gradient_noise(
    parameters: Iterable[nn.Parameter], epoch: float, batch_size: int, generator: torch.Generator
) -> torch.Tensor:
    """A number whose gradient is noise with standard deviation 0.3 / (1 + epoch)^0.55 / batch size.

    Added to a loss, it adds that noise to the gradient. The authors add 0.3 / (1 + epoch)^0.55 to gradients that are
    sums over a batch, and divide by its size afterwards. `epoch` counts from 1.
    """
    deviation = NOISE / (1 + epoch) ** NOISE_DECAY / batch_size
    parts = [
        (p * (deviation * torch.randn(p.shape, generator=generator)).to(p.device)).sum()
        for p in parameters
        if p.requires_grad
    ]
    return torch.stack(parts).sum()


class EEILAugmentation:
    """One of 12 variants of every image: unchanged, brighter or darker, or with other contrast; shifted; mirrored."""

    def __call__(self, images: torch.Tensor, *seed: int) -> torch.Tensor:
        """Variants of images (N, C, H, W) with values from 0 to 1."""
        generator = torch.Generator().manual_seed(mix_seed(*seed))
        n, _, height, width = images.shape

        def draw(low: float, high: float) -> torch.Tensor:
            return (low + (high - low) * torch.rand(n, 1, 1, 1, generator=generator)).to(images.device)

        colour, shift, mirror = draw(0, 3), draw(0, 1) < 0.5, draw(0, 1) < 0.5
        mean = images.mean((2, 3), keepdim=True)
        brighter = images + draw(-BRIGHTNESS, BRIGHTNESS)
        contrasted = (images - mean) * draw(*CONTRAST) + mean
        varied = torch.where(colour < 1, images, torch.where(colour < 2, brighter, contrasted)).clamp(0, 1)

        padded = pad(varied, [TRANSLATION] * 4)  # what comes in at the border is black
        begin = torch.randint(2 * TRANSLATION + 1, (2, n, 1), generator=generator).to(images.device)
        rows, columns = begin[0] + _range(height, images), begin[1] + _range(width, images)
        every = _range(n, images)[:, None, None]
        shifted = padded.permute(0, 2, 3, 1)[every, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        varied = torch.where(shift, shifted, varied)
        varied = torch.where(mirror, varied.flip(3), varied)
        return varied.contiguous(memory_format=torch.channels_last)


@dataclass(kw_only=True, eq=False)
class EEIL(WithExemplars):
    """Distillation of every old task's outputs, exemplars, and a second training on as many samples of each class.

    It stores exemplars: their number per class x n_c x height x width x channels x 8 bits.

    Parameters
    ----------
    exemplars : int
        E, images stored per class.
    base_epochs, epochs : int, optional
        Passes over the samples of task 0, and of each later task; balanced training takes three quarters of these. By
        default as in the preset.

    Examples
    --------
    Outputs are distilled task by task, and five images of each class are there for balanced training:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> learner = EEIL(exemplars=5, epochs=1, batch_size=128)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4):
    ...     learner.learn(task)
    >>> learner.network.head.sizes, learner.kept["exemplars"].shape, learner.memory_bits() == 5 * 4 * 8 * 8 * 8
    ((2, 2), (20, 8, 8, 1), True)
    """

    name: ClassVar[str] = "EEIL"
    published: ClassVar[Recipe] = Recipe(
        base_epochs=100,  # experiment_cifar.m: net-epoch-100
        epochs=EPOCHS * VARIANTS,
        learning_rate=0.1,  # experiment_cifar.m
        milestones=(1 / 4, 2 / 4, 3 / 4),  # experiment_cifar.m: a tenth after every 10 of 40 epochs
        weight_decay=1e-4,  # cnn_train_dag_exemplars.m
    )

    def _augmentation(self, recipe: Recipe) -> Augment | None:
        return None if recipe.augmentation == "none" else EEILAugmentation()

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        images, targets = self._with_exemplars(images, targets)
        if old is None:
            self._fit(network, images, targets, _Loss(network, None, 0, 1))
            return
        self._fit(network, images, targets, _Loss(network, old, len(old.head.sizes), 1))

        # The new classes had more samples, and the outputs lean towards them: now each class has as many.
        rows = self._chosen(network, images, targets)
        before = copy.deepcopy(network).eval().requires_grad_(False)
        loss = _Loss(network, before, len(network.head.sizes), 1 + EPOCHS)
        self._fit(
            network,
            images[rows],
            targets[rows],
            loss,
            phase=1,
            share=BALANCED_EPOCHS / EPOCHS,
            slower=BALANCED_RATE,
            milestones=BALANCED_MILESTONES,
        )


@dataclass(frozen=True)
class _Loss:
    """Cross-entropy, distillation of the first outputs, and noise on the gradient that decreases with the epochs."""

    network: GrowingNetwork
    teacher: GrowingNetwork | None
    n_distilled: int  # tasks
    first_epoch: int  # of the authors' 40 or 30

    def __call__(self, batch: Batch) -> torch.Tensor:
        logits = self.network(batch.pixels)
        loss = cross_entropy(logits, batch.targets)
        if self.teacher is not None:
            with torch.no_grad():
                taught = self.teacher(batch.pixels)
            loss = loss + distillation(logits, taught, self.network.head.sizes[: self.n_distilled])
        epoch = self.first_epoch + batch.done * (EPOCHS if self.first_epoch == 1 else BALANCED_EPOCHS)
        return loss + gradient_noise(self.network.parameters(), epoch, len(batch.targets), batch.generator)


def _range(n: int, like: torch.Tensor) -> torch.Tensor:
    return torch.arange(n, device=like.device)
