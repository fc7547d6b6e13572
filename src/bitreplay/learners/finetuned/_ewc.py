"""EWC, elastic weight consolidation (Kirkpatrick et al., PNAS 2017): important weights are held in place.

The importance of a weight is the diagonal of the Fisher information. The paper does not cover classes that arrive task
by task. Two variants are in use. FACIL (Masana et al., TPAMI 2022) holds the backbone and trains the outputs of the new
task by themselves (`outputs="new"`): old classes are retained well, and new ones rarely win against them, because the
two kinds of outputs were never trained together. Avalanche's strategy on one growing layer trains all outputs together
and holds every weight, those of the outputs too (`outputs="all"`): new classes are learned, and the outputs of the old
ones, which get no samples, give way as far as they are not held. The lower bound is the same training with a strength
of 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

from bitreplay._floor.arguments import integer, number, one_of
from bitreplay.learners._learner import Arrays
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Batch

Outputs = Literal["new", "all"]

SAMPLES = 4  # what a seed is for, in addition to those of the base


def held_weights(network: GrowingNetwork, outputs: Outputs) -> list[torch.Tensor]:
    """The backbone's weights and, unless only new outputs learn, those of the outputs, task by task.

    Another task adds its own at the end.
    """
    tasks = zip(*network.head.lists(), strict=True) if outputs == "all" else ()
    return [*network.backbone.parameters(), *(weight for task in tasks for weight in task)]


def diagonal_fisher(network: GrowingNetwork, pixels: torch.Tensor, outputs: Outputs = "new") -> list[torch.Tensor]:
    """Mean squared gradient of the log-probability of the predicted class, for every weight that is held.

    One gradient per sample: the square of a batch's mean gradient is a different quantity. The network must be in
    evaluation mode, or samples would influence each other.
    """
    weights = held_weights(network, outputs)
    total = [torch.zeros_like(value) for value in weights]
    for image in pixels:
        logits = network(image[None])
        loss = cross_entropy(logits, logits.argmax(1))
        gradients = torch.autograd.grad(loss, weights)
        for square, gradient in zip(total, gradients, strict=True):
            square += gradient.square()
    return [square / len(pixels) for square in total]


def elastic_penalty(
    weights: Iterable[torch.Tensor], anchors: Iterable[torch.Tensor], fisher: Iterable[torch.Tensor]
) -> torch.Tensor:
    """Half the sum of Fisher information times squared distance, over all weights (eq. 3 of the paper).

    Weights that have come since have no anchor, and are free.
    """
    parts = [(f * (value - anchor).square()).sum() for value, anchor, f in zip(weights, anchors, fisher, strict=False)]
    return torch.stack(parts).sum() / 2


@dataclass(kw_only=True, eq=False)
class EWC(FineTunedLearner):
    """Weights are held in place according to their importance.

    It stores a number for every weight of the backbone, 32 bits each, regardless of the number of classes; if all
    outputs learn, also for each of theirs. (The GBM paper calls it memory-free: it stores nothing about a class.)

    Parameters
    ----------
    strength : float
        Lambda, weight of the penalty.
    old_share : float
        Share of the old Fisher information when that of a new task is added.
    clip : float
        Largest Fisher information that counts.
    fisher_samples : int
        Samples of a task on which it is measured.
    outputs : {"new", "all"}
        Which outputs the loss compares: only those of the new classes, with the others frozen; or all, held as the
        backbone is.

    Examples
    --------
    What it keeps does not grow with the classes: a number for each of the backbone's 940 weights.

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> learner = EWC(fisher_samples=5, epochs=1, batch_size=128)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4):
    ...     learner.learn(task)
    ...     print(len(learner.classes), learner.memory_bits() == 940 * 32)
    2 True
    4 True
    """

    strength: float = 5000.0  # FACIL, approach/ewc.py: --lamb; nobody's together with the clip
    old_share: float = 0.5  # FACIL: --alpha
    clip: float = 1e-4  # PyCIL, models/ewc.py: fishermax; without it a step of SGD can overshoot
    outputs: Outputs = "new"  # FACIL, approach/ewc.py: the loss without exemplars
    fisher_samples: int = 1000  # ours: FACIL takes all, but by the square of a batch's gradient, which is cheaper

    name: ClassVar[str] = "EWC"
    # PyCIL, models/ewc.py: 180 epochs with steps at 70, 120 and 150 and this weight decay for later tasks. Task 0 has
    # 200 epochs there too, but steps at 60, 120 and 170 and a weight decay of 5e-4: a recipe has only one of each.
    published: ClassVar[Recipe] = Recipe(
        base_epochs=200, epochs=180, milestones=(70 / 180, 120 / 180, 150 / 180), weight_decay=2e-4
    )
    memory_arrays: ClassVar[tuple[str, ...]] = ("fisher",)
    later_options: ClassVar[tuple[str, ...]] = ("strength", "old_share")

    def __post_init__(self) -> None:
        super().__post_init__()
        number("strength", self.strength, 0)
        number("old_share", self.old_share, 0, 1)
        number("clip", self.clip, above=0)
        integer("fisher_samples", self.fisher_samples, 1)
        one_of("outputs", self.outputs, Outputs)

    @property
    def version(self) -> str:
        """With all outputs, the second one: it also holds their weights."""
        return super().version + (".2" if self.outputs == "all" else "")

    def _loaded(self) -> None:
        assert self.network is not None
        held = sum(value.numel() for value in held_weights(self.network, self.outputs))
        if len(self.kept["fisher"]) != held:
            raise ValueError(f"it has Fisher information of {len(self.kept['fisher'])} weights instead of {held}")

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        first = self.known if self.outputs == "new" else 0
        if first:
            network.head.freeze_old()
        anchors: list[torch.Tensor] = []
        fisher: list[torch.Tensor] = []
        if old is not None:
            anchors = [value.detach() for value in held_weights(old, self.outputs)]
            fisher = _split(self.kept["fisher"], anchors)
        weights = held_weights(network, self.outputs)

        def loss(batch: Batch) -> torch.Tensor:
            logits = network(batch.pixels)[:, first:]
            plain = cross_entropy(logits, batch.targets - first)
            if not fisher:
                return plain
            return plain + self.strength * elastic_penalty(weights, anchors, fisher)

        self._fit(network, images, targets, loss)

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        network.eval()
        chosen = torch.randperm(len(images), generator=self._generator(SAMPLES))[: self.fisher_samples].numpy()
        pixels = self.preprocessing(torch.from_numpy(images[chosen]))
        measured = diagonal_fisher(network, pixels.to(network.head.weight.device), self.outputs)
        fisher = np.concatenate([value.cpu().numpy().ravel() for value in measured])
        fisher = np.minimum(fisher, np.float32(self.clip))
        if self.known:
            old = self.kept["fisher"]
            fisher[: len(old)] = self.old_share * old + (1 - self.old_share) * fisher[: len(old)]
        return {"fisher": fisher.astype(np.float32)}


def _split(values: npt.NDArray[np.float32], like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """One long vector as tensors, shaped as others are."""
    parts = np.split(values, np.cumsum([tensor.numel() for tensor in like])[:-1])
    return [
        torch.from_numpy(part).to(tensor.device).view(tensor.shape) for part, tensor in zip(parts, like, strict=True)
    ]
