"""How task 0 is trained: the options, and the learning rates that follow from them.

They govern the training of the backbone, the only lengthy training.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypedDict

from bitreplay._floor.arguments import integer, number, one_of, truth
from bitreplay.errors import InputError

Schedule = Literal["steps", "one_cycle", "cosine"]
Augmentation = Literal["none", "paper", "strong"]
Optimizer = Literal["sgd", "adam"]
HeadForm = Literal["linear", "binary"]


@dataclass(frozen=True)
class TrainingOptions:
    """Everything about the training except the network; the defaults are the paper's.

    Parameters
    ----------
    epochs : int
        Epochs of the first phase, without the thermometer.
    ste_epochs : int
        Epochs of the second phase, with the thermometer and a straight-through gradient. A Heaviside binarizer, which
        has one phase, is trained for the epochs of both.
    batch_size : int
        Images per step, over all devices together.
    learning_rate : float
        Highest learning rate of the first phase.
    ste_learning_rate : float
        Highest learning rate of the second phase.
    momentum : float
        As in `torch.optim.SGD`.
    nesterov : bool
        As in `torch.optim.SGD`.
    weight_decay : float
        As in `torch.optim.SGD`, but not applied to biases and batch normalisation.
    schedule : {"steps", "one_cycle", "cosine"}
        Learning rate over the first phase: times `step_factor` every `step_every` epochs; a linear rise over the first
        `warmup` of the phase and a half cosine down to zero; or that half cosine alone.
    ste_schedule : {"steps", "one_cycle", "cosine"}
        The same over the second phase.
    step_every : int
        Epochs between two steps of the learning rate.
    step_factor : float
        Factor of the learning rate at each step.
    warmup : float
        Share of a phase in which the learning rate of `one_cycle` rises.
    augmentation : {"none", "paper", "strong"}
        How training images are varied.
    image_sizes : tuple of int
        Images are trained at these sizes in turn, each for an equal share of the first phase; the last one is also
        used for the second phase and afterwards. Empty: unchanged.
    label_smoothing : float
        As in `torch.nn.functional.cross_entropy`.
    evaluate_every : int
        Number of epochs between measurements of test accuracy, which is also measured at the end of a phase.
    optimizer : {"sgd", "adam"}
        Adam is for networks with binary weights; it uses neither momentum nor weight decay. Latent binary weights are
        clipped after every step of either, and never decay.
    head : {"linear", "binary"}
        G: a linear layer, or one with binary weights (`bitreplay.nn.BinaryClassifier`).
    continued : bool
        Train the second phase even without a binarizer: a control that shows the effect of the additional training
        alone.
    """

    epochs: int = 160  # sec. 4.1
    ste_epochs: int = 50  # ours: the paper does not say; one step of its schedule
    batch_size: int = 128  # sec. 4.1
    learning_rate: float = 0.1  # sec. 4.1
    ste_learning_rate: float = 0.01  # ours: the paper does not say
    momentum: float = 0.9  # sec. 4.1
    nesterov: bool = False
    weight_decay: float = 5e-4  # not in the paper; LUCIR's and PyCIL's, the field's default
    schedule: Schedule = "steps"  # sec. 4.1
    ste_schedule: Schedule = "cosine"  # ours: the paper does not say; a constant rate would undo what phase 1 annealed
    step_every: int = 50  # sec. 4.1
    step_factor: float = 0.1  # sec. 4.1
    warmup: float = 0.2
    augmentation: Augmentation = "paper"  # sec. 4.1
    image_sizes: tuple[int, ...] = ()
    label_smoothing: float = 0.0
    evaluate_every: int = 1
    optimizer: Optimizer = "sgd"  # sec. 4.1
    head: HeadForm = "linear"  # sec. 4.1
    continued: bool = False

    def __post_init__(self) -> None:
        for name in ("epochs", "ste_epochs", "batch_size", "step_every", "evaluate_every"):
            integer(name, getattr(self, name), 0 if name == "ste_epochs" else 1)
        for name in ("learning_rate", "ste_learning_rate", "step_factor"):
            number(name, getattr(self, name), above=0)
        for name in ("momentum", "warmup", "label_smoothing"):
            number(name, getattr(self, name), 0, below=1)
        number("weight_decay", self.weight_decay, 0)
        truth("nesterov", self.nesterov)
        truth("continued", self.continued)
        if self.nesterov and not self.momentum:
            raise InputError("nesterov needs a momentum above 0")
        one_of("schedule", self.schedule, Schedule)
        one_of("ste_schedule", self.ste_schedule, Schedule)
        one_of("augmentation", self.augmentation, Augmentation)
        one_of("optimizer", self.optimizer, Optimizer)
        one_of("head", self.head, HeadForm)
        if isinstance(self.image_sizes, str) or not isinstance(self.image_sizes, Iterable):
            raise InputError(f"image_sizes must be a list of sizes in pixels; got {self.image_sizes!r}")
        object.__setattr__(self, "image_sizes", tuple(self.image_sizes))
        for size in self.image_sizes:
            integer("each of image_sizes", size, 1)

    def determinants(self, *, second_phase: bool) -> dict[str, Any]:
        """The options that determine a network after its first or its second phase.

        The keys of cached networks are made of them. A first phase does not depend on what follows, so trainings with
        different second phases share it.

        Examples
        --------
        >>> "ste_epochs" in TrainingOptions().determinants(second_phase=False)
        False
        """
        without = {"evaluate_every"}  # which only looks on
        if not second_phase:
            without |= {"ste_epochs", "ste_learning_rate", "ste_schedule", "continued"}
        return {name: value for name, value in asdict(self).items() if name not in without}

    def changed(self, changes: TrainingChanges) -> TrainingOptions:
        """These options with some replaced.

        Examples
        --------
        >>> changed = TrainingOptions(epochs=8).changed({"batch_size": 64})
        >>> changed.epochs, changed.batch_size
        (8, 64)
        """
        known = [field.name for field in fields(self)]
        if unknown := [name for name in changes if name not in known]:
            raise InputError(f"a training has no option {unknown[0]!r}; it has {', '.join(known)}")
        return TrainingOptions(**{**asdict(self), **changes})

    def rate_at(self, schedule: Schedule, highest: float, epoch: float, epochs: int) -> float:
        """Learning rate after `epoch` (a fraction is a part of an epoch) of a phase of `epochs`.

        Examples
        --------
        >>> options = TrainingOptions()
        >>> [round(options.rate_at("steps", 0.1, epoch, 160), 6) for epoch in (0, 49.9, 50, 159)]
        [0.1, 0.1, 0.01, 0.0001]
        >>> [round(options.rate_at("cosine", 0.01, epoch, 50), 6) for epoch in (0, 25, 50)]
        [0.01, 0.005, 0.0]
        """
        if schedule == "steps":
            return highest * self.step_factor ** int(epoch // self.step_every)
        return annealed(highest, epoch / epochs, self.warmup if schedule == "one_cycle" else 0.0)

    def image_size_at(self, epoch: int, epochs: int) -> int | None:
        """Image size in an epoch of a first phase of `epochs`; None leaves images unchanged."""
        if not self.image_sizes:
            return None
        return self.image_sizes[epoch * len(self.image_sizes) // epochs]


class TrainingChanges(TypedDict, total=False):
    """Options of a training that differ from those of its preset."""

    epochs: int
    ste_epochs: int
    batch_size: int
    learning_rate: float
    ste_learning_rate: float
    momentum: float
    nesterov: bool
    weight_decay: float
    schedule: Schedule
    ste_schedule: Schedule
    step_every: int
    step_factor: float
    warmup: float
    augmentation: Augmentation
    image_sizes: list[int]
    label_smoothing: float
    evaluate_every: int
    optimizer: Optimizer
    head: HeadForm
    continued: bool


TrainingChanges.__doc__ = TrainingOptions.__doc__  # what an option means is written down once; the help shows it


def annealed(highest: float, done: float, warmup: float = 0.0) -> float:
    """Learning rate after a share `done` of a training: a linear rise over the first `warmup`, half a cosine to zero.

    Examples
    --------
    >>> [round(annealed(0.1, done, warmup=0.2), 3) for done in (0, 0.1, 0.2, 0.6, 1)]
    [0.0, 0.05, 0.1, 0.05, 0.0]
    """
    if done < warmup:
        return highest * done / warmup
    return highest * (1 + math.cos(math.pi * (done - warmup) / (1 - warmup))) / 2
