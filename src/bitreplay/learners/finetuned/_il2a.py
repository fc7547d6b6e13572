"""IL2A, class-incremental learning by dual augmentation (Zhu et al., NeurIPS 2021): no exemplars, but Gaussians.

Mixtures of two classes are additional classes while a task is learned, and the outputs see old classes as Gaussians:
infinitely many draws from each, in closed form. Details are from the authors' code, Impression2805/IL2A. Not adopted
from it: covariances that are stored newest first but looked up by class, and means and covariances of augmented images
without the last batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from bitreplay._floor.arguments import number
from bitreplay.learners._learner import Arrays
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork, LinearOutputs
from bitreplay.learners.finetuned._pass import PASS_RECIPE, TEMPERATURE, feature_distance
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Batch

MIXES = 4  # IL2A.py: mix_times
BETA = 20.0  # IL2A.py: alpha; shares are drawn from Beta(20, 20)
NARROWEST, WIDEST = 0.4, 0.6  # cifar/IL2A.py: shares outside are replaced by 1/2; for TinyImageNet 0.3 and 0.7
BATCH = 64  # main.py: --batch_size, for which the weight of the distance was chosen; mixtures come on top
COVARIANCE = 2.5  # IL2A.py: ratio


def pair_number(one: torch.Tensor, other: torch.Tensor, n_classes: int) -> torch.Tensor:
    """Number of an unordered pair of different classes, counted 01, 02, ..., 12, 13, ...

    Examples
    --------
    >>> pair_number(torch.tensor([0, 0, 2, 3]), torch.tensor([1, 3, 1, 2]), 4).tolist()
    [0, 2, 3, 5]
    """
    low, high = torch.minimum(one, other), torch.maximum(one, other)
    return (2 * n_classes - low - 1) * low // 2 + high - low - 1


def mixed_classes(
    pixels: torch.Tensor, targets: torch.Tensor, n_old: int, n_new: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Images followed by mixtures of two classes, at most four times as many, as samples of additional classes.

    Targets are the new classes, `n_old` to ``n_old + n_new - 1``; the pairs of new ones come after all of them.
    """
    images, classes = [pixels], [targets]
    for _ in range(MIXES):
        partner = torch.randperm(len(pixels), generator=generator).to(targets.device)
        rows = torch.nonzero(targets != targets[partner])[:, 0]
        share = _beta(len(rows), generator).to(pixels.device)[:, None, None, None]
        images.append(share * pixels[rows] + (1 - share) * pixels[partner[rows]])
        pairs = pair_number(targets[rows] - n_old, targets[partner[rows]] - n_old, n_new)
        classes.append(n_old + n_new + pairs)
    return torch.cat(images).contiguous(memory_format=torch.channels_last), torch.cat(classes)


def _beta(n: int, generator: torch.Generator) -> torch.Tensor:
    """Shares around a half: Beta(20, 20) is the share of 20 among 40 exponential waiting times."""
    waits = -torch.log1p(-torch.rand(n, 2, int(BETA), generator=generator)).sum(2)
    shares = waits[:, 0] / waits.sum(1)
    return torch.where((shares < NARROWEST) | (shares > WIDEST), 0.5, shares)


def augmented_logits(
    means: torch.Tensor,
    covariances: torch.Tensor,
    classes: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    ratio: float,
) -> torch.Tensor:
    """Logits whose softmax loss bounds the expected loss over draws from each class's Gaussian (eq. 9).

    ``logit_j = w_j mu_y + b_j + ratio/2 (w_j - w_y)^T Sigma_y (w_j - w_y)``

    y are old `classes`; the covariance of their Gaussians is `ratio` times Sigma.
    """
    logits = means[classes] @ weight.T + bias
    asked, row = torch.unique(classes, return_inverse=True)
    apart = weight[None] - weight[asked][:, None]  # (asked classes, outputs, d)
    spread = ((apart @ covariances[asked]) * apart).sum(2)
    return logits + ratio / 2 * spread[row]


@dataclass(kw_only=True, eq=False)
class IL2A(FineTunedLearner):
    """Mixtures of classes as additional classes, feature distillation, and old classes as Gaussians.

    It stores a mean and a covariance per class, n_c * (d + d^2) * 32 bits.

    Parameters
    ----------
    semantic_weight, distillation_weight : float
        Weights of the loss on old classes' Gaussians, and of the distance between new and old features.
    batch_size : int, optional
        Images per step, to which up to four times as many mixtures are added; by default as in the preset.

    Examples
    --------
    No image is kept, but a mean and a covariance of 32 features for each class:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> learner = IL2A(epochs=1, batch_size=128)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4):
    ...     learner.learn(task)
    >>> learner.network.head.sizes  # outputs of mixed classes were there only in training
    (2, 2)
    >>> learner.kept["covariances"].shape, learner.memory_bits() == 4 * (32 + 32**2) * 32
    ((4, 32, 32), True)
    """

    semantic_weight: float = 10.0  # main.py: --seman_weight
    distillation_weight: float = 10.0  # main.py: --kd_weight

    name: ClassVar[str] = "IL2A"
    VERSION: ClassVar[int] = 2  # the distance counts the mixtures that there are, not the most there could be
    published: ClassVar[Recipe] = PASS_RECIPE  # main.py: the same as PASS
    memory_arrays: ClassVar[tuple[str, ...]] = ("means", "covariances")
    later_options: ClassVar[tuple[str, ...]] = ("semantic_weight", "distillation_weight")

    def __post_init__(self) -> None:
        super().__post_init__()
        number("semantic_weight", self.semantic_weight, 0)
        number("distillation_weight", self.distillation_weight, 0)

    def _n_outputs(self, n_classes: int) -> int:
        return n_classes + n_classes * (n_classes - 1) // 2

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        n_old, n_new = self.known, int(targets.max()) + 1 - self.known
        n_classes, head, device = n_old + n_new, network.head, network.head.weight.device
        assert isinstance(head, LinearOutputs)
        means, covariances = (
            torch.from_numpy(self.kept[name] if n_old else np.empty(0)).to(device) for name in self.memory_arrays
        )

        def loss(batch: Batch) -> torch.Tensor:
            pixels, classes = mixed_classes(batch.pixels, batch.targets, n_old, n_new, batch.generator)
            features = network.features(pixels)
            right = cross_entropy(head(features) / TEMPERATURE, classes)
            if old is None:
                return right
            with torch.no_grad():
                old_features = old.features(pixels)
            held = feature_distance(features, old_features, BATCH * len(pixels) / len(batch.targets))
            drawn = torch.randint(n_old, (len(batch.targets),), generator=batch.generator).to(device)
            outputs = head.weight[:n_classes], head.bias[:n_classes]
            logits = augmented_logits(means, covariances, drawn, *outputs, ratio=COVARIANCE)
            known = cross_entropy(logits / TEMPERATURE, drawn)
            return right + self.semantic_weight * known + self.distillation_weight * held

        self._fit(network, images, targets, loss)
        head.keep_first(n_new)  # mixtures are no classes any more

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        features = self._encode(network, images).astype(np.float64)
        samples = [features[targets == c] for c in np.unique(targets)]
        means = np.stack([one.mean(axis=0) for one in samples]).astype(np.float32)
        covariances = np.stack([np.cov(one.T, ddof=min(1, len(one) - 1)) for one in samples]).astype(np.float32)
        if self.known:
            means = np.concatenate([self.kept["means"], means])
            covariances = np.concatenate([self.kept["covariances"], covariances])
        return {"means": means, "covariances": covariances}
