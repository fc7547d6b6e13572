"""How task 0 is trained: the options, and sets of them by name.

In the flow images → features → bits → memory/head → class they govern the training of the backbone, the only part that
is ever trained for long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

from bitreplay._arguments import integer
from bitreplay.errors import InputError
from bitreplay.training._schedule import Augmentation, Optimizer, Schedule, annealed

__all__ = ["PRESETS", "PRESET_BACKBONES", "TrainingOptions"]

HeadForm = Literal["linear", "binary"]

ADDED = ("optimizer", "head")  # options of later versions; with their defaults, trainings are what they were before


@dataclass(frozen=True)
class TrainingOptions:
    """Everything about the training but the network; the defaults are the paper's.

    Parameters
    ----------
    epochs : int
        Epochs of the first phase, without the thermometer (of the only phase for a Heaviside binarizer).
    ste_epochs : int
        Epochs of the second phase, with the thermometer and a straight-through gradient.
    batch_size : int
        Images per step, over all devices together.
    learning_rate, ste_learning_rate : float
        Highest learning rate of the first and of the second phase.
    momentum, nesterov, weight_decay
        As in `torch.optim.SGD`. Weight decay leaves biases and batch normalisation alone.
    schedule : {"steps", "one_cycle", "cosine"}
        Learning rate over a phase: times `step_factor` every `step_every` epochs; a linear rise over the first `warmup`
        of the phase and a half cosine down to zero; or that half cosine alone.
    step_every, step_factor, warmup
        See `schedule`.
    augmentation : {"none", "paper", "strong"}
        See :mod:`bitreplay.data`.
    image_sizes : tuple of int
        Images are trained at these sizes in turn, each for an equal share of the first phase; the last one is that of
        the second phase and of all use afterwards. Empty: as they are.
    label_smoothing : float
        As in `torch.nn.functional.cross_entropy`.
    evaluate_every : int
        Test accuracy is measured every so many epochs, and at the end of a phase.
    optimizer : {"sgd", "adam"}
        Adam is for networks with binary weights; it uses neither momentum nor weight decay. Latent binary weights are
        clipped after every step of either, and never decay.
    head : {"linear", "binary"}
        G: a linear layer, or :class:`bitreplay.nn.BinaryClassifier`.
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
    step_every: int = 50  # sec. 4.1
    step_factor: float = 0.1  # sec. 4.1
    warmup: float = 0.2
    augmentation: Augmentation = "paper"  # sec. 4.1
    image_sizes: tuple[int, ...] = ()
    label_smoothing: float = 0.0
    evaluate_every: int = 1
    optimizer: Optimizer = "sgd"  # sec. 4.1
    head: HeadForm = "linear"  # sec. 4.1

    def __post_init__(self) -> None:
        for name in ("epochs", "ste_epochs", "batch_size", "step_every", "evaluate_every"):
            integer(name, getattr(self, name), 0 if name == "ste_epochs" else 1)
        positive, shares = (
            ("learning_rate", "ste_learning_rate", "step_factor"),
            ("momentum", "warmup", "label_smoothing"),
        )
        for name in (*positive, *shares, "weight_decay"):
            value, end = getattr(self, name), 1.0 if name in shares else math.inf
            if not isinstance(value, int | float) or not 0 <= value < end or (name in positive and not value):
                least = "above 0" if name in positive else "of at least 0"
                raise InputError(f"{name} must be a number {least} and below {end:g}; got {value!r}")
        if self.nesterov and not self.momentum:
            raise InputError("nesterov needs a momentum above 0")
        for name, kind in (
            ("schedule", Schedule),
            ("augmentation", Augmentation),
            ("optimizer", Optimizer),
            ("head", HeadForm),
        ):
            choices = get_args(kind)
            if getattr(self, name) not in choices:
                raise InputError(f"{name} must be one of {', '.join(choices)}; got {getattr(self, name)!r}")
        if isinstance(self.image_sizes, str) or not isinstance(self.image_sizes, Iterable):
            raise InputError(f"image_sizes must be a list of sizes in pixels; got {self.image_sizes!r}")
        object.__setattr__(self, "image_sizes", tuple(self.image_sizes))
        for size in self.image_sizes:
            integer("each of image_sizes", size, 1)

    def determinants(self) -> dict[str, Any]:
        """The options that results depend on: those of later versions only where they differ from their defaults.

        The keys of cached networks are made of them, and trainings of earlier versions must be found again.

        Examples
        --------
        >>> "optimizer" in TrainingOptions().determinants()
        False
        >>> TrainingOptions(optimizer="adam").determinants()["optimizer"]
        'adam'
        """
        unchanged = {field.name for field in fields(self) if getattr(self, field.name) == field.default}
        return {name: value for name, value in asdict(self).items() if name not in unchanged or name not in ADDED}

    def learning_rate_at(self, highest: float, epoch: float, epochs: int) -> float:
        """Learning rate after `epoch` (a fraction is a part of an epoch) of a phase of `epochs`.

        Examples
        --------
        >>> options = TrainingOptions()
        >>> [round(options.learning_rate_at(0.1, epoch, 160), 6) for epoch in (0, 49.9, 50, 159)]
        [0.1, 0.1, 0.01, 0.0001]
        """
        if self.schedule == "steps":
            return highest * self.step_factor ** int(epoch // self.step_every)
        return annealed(highest, epoch / epochs, self.warmup if self.schedule == "one_cycle" else 0.0)

    def image_size_at(self, epoch: int) -> int | None:
        """Image size in an epoch of the first phase; None leaves images as they are."""
        if not self.image_sizes:
            return None
        return self.image_sizes[epoch * len(self.image_sizes) // self.epochs]


PRESETS: dict[str, TrainingOptions] = {
    "paper": TrainingOptions(),
    # Ours: for 50 classes of CIFAR-100, two CPU cores and the slim ResNet-18 below: 36 minutes by the time of a step on
    # idle cores, 48 beside other work. Images of 28 pixels would take nearly as long as those of 32.
    "cpu": TrainingOptions(
        epochs=24,
        ste_epochs=3,
        learning_rate=0.2,
        ste_learning_rate=0.05,
        nesterov=True,
        schedule="one_cycle",
        augmentation="strong",
        image_sizes=(16, 24, 32),
        evaluate_every=6,
    ),
    # Ours: seconds on a CPU, for scikit-learn's 8x8 digits and the small CNN. Digits have a direction: no flips.
    "digits": TrainingOptions(
        epochs=12,
        ste_epochs=6,
        batch_size=32,
        learning_rate=0.1,
        ste_learning_rate=0.05,
        nesterov=True,
        schedule="one_cycle",
        augmentation="none",
    ),
    # Ours: for comparisons in which every method trains its own network, task by task, on a CPU.
    "small": TrainingOptions(
        epochs=8,
        ste_epochs=2,
        batch_size=64,
        ste_learning_rate=0.03,
        schedule="one_cycle",
        evaluate_every=5,
    ),
    # Ours: 54 minutes on two busy CPU cores, with 50 classes of CIFAR-100 and the binary network of ~1 Mb, which then
    # has 39.6 % of the test images right.
    "cpu_binary": TrainingOptions(
        epochs=20,
        learning_rate=5e-3,  # ours: of 1e-3, 5e-3 and 2e-2, the lowest loss after 120 steps on ten classes at 16 px
        schedule="one_cycle",
        augmentation="paper",
        evaluate_every=5,
        optimizer="adam",
        head="binary",  # ours: in the same trial ahead of a linear one
    ),
    # Ours: for the small QuickNet below, a hybrid network: binary weights inside, others at its ends. On 50 classes of
    # CIFAR-100 90 s an epoch on one core; 58.8 % of the test images right after both phases.
    "cpu_hybrid": TrainingOptions(
        epochs=16,
        ste_epochs=3,
        learning_rate=5e-3,
        ste_learning_rate=1e-3,
        schedule="one_cycle",
        augmentation="paper",
        image_sizes=(64,),
        evaluate_every=5,
        optimizer="adam",
    ),
}

# The backbone, with its options, that each preset was made for.
PRESET_BACKBONES: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("resnet18", {}),
    "cpu": ("resnet18", {"width": 48, "stem_stride": 2}),
    "digits": ("small_cnn", {}),
    "small": ("resnet18", {"width": 16, "stem_stride": 2}),
    "cpu_binary": ("binary_vgg", {}),
    "cpu_hybrid": (
        "quicknet",
        {"weights": None, "blocks": (2, 2, 2, 2), "filters": (32, 64, 128, 256), "tap": "pooled", "image_size": 64},
    ),
}
