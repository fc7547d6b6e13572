"""PASS, prototype augmentation and self-supervision (Zhu et al., CVPR 2021): no exemplars, but a mean per class.

The network learns classes and rotations at once, features are held in place by distillation, and the outputs see old
classes as noise of one common radius around their means. Details are from the authors' code,
Impression2805/CVPR21_PASS. Deviations: means are those of all clean images, not of augmented ones without the last
batch, and the learning rate does not drop an epoch early.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

from bitreplay._floor.arguments import number
from bitreplay.learners._learner import Arrays
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Batch
from bitreplay.learners.frozen._nearest_mean import class_means

ROTATIONS = 4
TEMPERATURE = 0.1  # main.py: --temp
ROWS = 64 * ROTATIONS  # main.py: --batch_size, and PASS.py: images of which the weight of the distance was chosen

# main.py and PASS.py: 101 epochs of Adam for every task, StepLR(45, 0.1)
PASS_RECIPE = Recipe(
    base_epochs=101,
    epochs=101,
    batch_size=64,
    optimizer="adam",
    learning_rate=1e-3,
    milestones=(45 / 101, 90 / 101),
    weight_decay=2e-4,
)


def rotated(pixels: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Images in all four rotations by quarter turns, and outputs for them: rotation k of class y is ``4 y + k``."""
    turned = torch.stack([torch.rot90(pixels, k, (2, 3)) for k in range(ROTATIONS)], 1).flatten(0, 1)
    outputs = ROTATIONS * targets[:, None] + torch.arange(ROTATIONS, device=targets.device)
    return turned.contiguous(memory_format=torch.channels_last), outputs.flatten()


def feature_distance(features: torch.Tensor, old_features: torch.Tensor, rows: float = ROWS) -> torch.Tensor:
    """Length of the difference over a whole batch (`torch.dist`), scaled to a batch of `rows` rows.

    The authors' weight was set for their batch size, and the length grows with the square root of the rows.
    """
    distance: torch.Tensor = torch.dist(features, old_features)
    return distance * math.sqrt(rows / len(features))


def common_radius(features: npt.NDArray[np.float32], targets: Labels) -> float:
    """Root of the mean variance of a feature within a class: ``sqrt(mean_c trace(cov_c) / d)`` (eq. 4)."""
    samples = [features[targets == c] for c in np.unique(targets)]
    variances = [np.var(one, axis=0, dtype=np.float64, ddof=min(1, len(one) - 1)).mean() for one in samples]
    return float(np.sqrt(np.mean(variances)))


@dataclass(kw_only=True, eq=False)
class PASS(FineTunedLearner):
    """Rotations as separate classes, feature distillation, and old classes as noise around their means.

    It stores a mean per class and one radius, (n_c * d + 1) * 32 bits.

    Parameters
    ----------
    prototype_weight, distillation_weight : float
        Weights of the loss on old classes' means, and of the distance between new and old features.
    batch_size : int, optional
        Images per step, each shown in four rotations; by default as in the preset.

    Examples
    --------
    In training a class has four outputs, one per rotation; decisions read one. A mean of 32 numbers is kept:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> learner = PASS(epochs=1, batch_size=128)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4):
    ...     learner.learn(task)
    >>> learner.network.head.sizes, learner.working_set_bits() == 4 * (32 + 1) * 32
    ((8, 8), True)
    >>> learner.memory_bits() == (4 * 32 + 1) * 32
    True
    """

    prototype_weight: float = 10.0  # main.py: --protoAug_weight
    distillation_weight: float = 10.0  # main.py: --kd_weight

    name: ClassVar[str] = "PASS"
    published: ClassVar[Recipe] = PASS_RECIPE
    memory_arrays: ClassVar[tuple[str, ...]] = ("means", "radius")
    later_options: ClassVar[tuple[str, ...]] = ("prototype_weight", "distillation_weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        number("prototype_weight", self.prototype_weight, 0)
        number("distillation_weight", self.distillation_weight, 0)

    def _n_outputs(self, n_classes: int) -> int:
        return ROTATIONS * n_classes

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        def loss(batch: Batch) -> torch.Tensor:
            pixels, outputs = rotated(batch.pixels, batch.targets)
            features = network.features(pixels)
            right = cross_entropy(network.head(features) / TEMPERATURE, outputs)
            if old is None:
                return right
            with torch.no_grad():
                old_features = old.features(pixels)
            prototypes, classes = self._prototypes(len(batch.targets), batch.generator, features)
            remembered = cross_entropy(network.head(prototypes) / TEMPERATURE, ROTATIONS * classes)
            held = feature_distance(features, old_features)
            return right + self.prototype_weight * remembered + self.distillation_weight * held

        self._fit(network, images, targets, loss)

    def _prototypes(self, n: int, generator: torch.Generator, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Draws from old classes, each equally likely: their means, and noise of the common radius."""
        means = torch.from_numpy(self.kept["means"])
        classes = torch.randint(len(means), (n,), generator=generator)
        noise = torch.randn(n, means.shape[1], generator=generator)
        drawn = means[classes] + float(self.kept["radius"]) * noise
        return drawn.to(like), classes.to(like.device)

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        features = self._encode(network, images)
        means = class_means(features, targets - self.known, int(targets.max()) + 1 - self.known)
        if self.known:  # the radius stays that of task 0, as in the authors' code
            return {"means": np.concatenate([self.kept["means"], means]), "radius": self.kept["radius"]}
        return {"means": means, "radius": np.array(common_radius(features, targets), dtype=np.float32)}

    def _scores(self, features: torch.Tensor) -> torch.Tensor:
        return super()._scores(features)[:, ::ROTATIONS]  # of the images as they are

    def working_set_bits(self) -> int:
        """Weights and biases of the outputs of unrotated images."""
        return super().working_set_bits() // ROTATIONS
