"""LUCIR, learning a unified classifier by rebalancing (Hou et al., CVPR 2019).

Three measures against the bias towards new classes: a cosine head, in which no class has larger weights than another;
features that keep their direction ("less forget"); and a margin between an exemplar's class and the new classes
most like it. Details are from the authors' code, hshustc/CVPR19_Incremental_Learning, with the options of its run.sh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import nn
from torch.nn import functional

from bitreplay._floor.arguments import integer, number
from bitreplay.learners.finetuned._exemplars import WithExemplars
from bitreplay.learners.finetuned._learner import Images, Labels
from bitreplay.learners.finetuned._network import CosineOutputs, GrowingNetwork, OutputLayers, without_last_relu
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Batch


def less_forget(features: torch.Tensor, old_features: torch.Tensor) -> torch.Tensor:
    """1 minus the cosine between features now and before, on average (sec. 3.3)."""
    return (1 - functional.cosine_similarity(features, old_features)).mean()


def margin_ranking(
    cosines: torch.Tensor, targets: torch.Tensor, n_old: int, margin: float, rivals: int
) -> torch.Tensor:
    """Average violation of a margin between an exemplar's class and the new classes most like it (sec. 3.4).

    Only samples of old classes count, the first `n_old`; each is compared with the `rivals` new classes of the highest
    cosines. Without such samples the loss is 0.
    """
    old = targets < n_old
    if not bool(old.any()):
        return cosines.new_zeros(())
    right = cosines[old].gather(1, targets[old, None])
    highest = cosines[old, n_old:].topk(min(rivals, cosines.shape[1] - n_old), dim=1).values
    return functional.relu(margin - right + highest).mean()


def imprinted(features: torch.Tensor, targets: torch.Tensor, old_weight: torch.Tensor) -> torch.Tensor:
    """Initial weights of new classes: the mean direction of their features, with the average length of old weights.

    `features` are of the network before this task, `targets` counted from 0 among the new classes.
    """
    directions = functional.normalize(features)
    means = torch.stack([directions[targets == c].mean(0) for c in range(int(targets.max()) + 1)])
    length: torch.Tensor = torch.linalg.vector_norm(old_weight, dim=1).mean()
    return functional.normalize(means) * length


@dataclass(kw_only=True, eq=False)
class LUCIR(WithExemplars):
    """A cosine head, features that keep their direction, a margin for exemplars, and imprinted new classes.

    It stores exemplars: their number per class x n_c x height x width x channels x 8 bits.

    Parameters
    ----------
    exemplars : int
        E, images stored per class.
    less_forget_weight : float
        Weight of the loss on the features' direction, times the square root of old classes per new class.
    margin, margin_weight : float
        By how much the cosine of an exemplar's class must exceed that of new classes, and the weight of that loss.
    rivals : int
        K, new classes compared with each exemplar.

    Examples
    --------
    Directions of old classes stay while new ones are learned:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> first, second = make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4)
    >>> learner = LUCIR(exemplars=5, epochs=1, batch_size=128)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> learner.learn(first)
    >>> before = learner.network.head.weight
    >>> learner.learn(second)
    >>> torch.equal(learner.network.head.weight[:2], before), learner.memory_bits() == 5 * 4 * 8 * 8 * 8
    (True, True)
    """

    less_forget_weight: float = 5.0  # run.sh: --lamda 5 --adapt_lamda
    margin: float = 0.5  # run.sh: --dist 0.5
    margin_weight: float = 1.0  # run.sh: --lw_mr 1
    rivals: int = 2  # run.sh: --K 2

    name: ClassVar[str] = "LUCIR"
    published: ClassVar[Recipe] = (
        Recipe(  # class_incremental_cosine_cifar100.py: base_lr, lr_strat, custom_weight_decay
            base_epochs=160, epochs=160, learning_rate=0.1, milestones=(80 / 160, 120 / 160), weight_decay=5e-4
        )
    )
    head_kind: ClassVar[type[OutputLayers]] = CosineOutputs
    later_options: ClassVar[tuple[str, ...]] = ("less_forget_weight", "margin", "margin_weight", "rivals")

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("less_forget_weight", "margin", "margin_weight"):
            number(option, getattr(self, option), 0)
        integer("rivals", self.rivals, 1)

    def _backbone(self, backbone: nn.Module) -> nn.Module:
        return without_last_relu(backbone)  # the authors' modified_resnet_cifar.py

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        head = network.head
        assert isinstance(head, CosineOutputs)
        if old is None:
            self._fit(network, images, targets, lambda b: functional.cross_entropy(network(b.pixels), b.targets))
            return
        device = head.weight.device
        features = torch.from_numpy(self._encode(network, images)).to(device)
        with torch.no_grad():
            among_new = torch.from_numpy(targets - self.known).to(device)
            head.weights[-1].copy_(imprinted(features, among_new, head.weight[: self.known]))
        head.freeze_old()  # old directions stay while features are held to theirs
        n_old, n_new = self.known, head.sizes[-1]
        strength = self.less_forget_weight * math.sqrt(n_old / n_new)

        def loss(batch: Batch) -> torch.Tensor:
            features = network.features(batch.pixels)
            with torch.no_grad():
                old_features = old.features(batch.pixels)
            cosines = head.cosines(features)
            return (
                functional.cross_entropy(head.scale * cosines, batch.targets)
                + strength * less_forget(features, old_features)
                + self.margin_weight * margin_ranking(cosines, batch.targets, n_old, self.margin, self.rivals)
            )

        self._fit(network, *self._with_exemplars(images, targets), loss)
