"""What all methods that train the whole network share: the network, checks before anything changes, sizes, the state.

A method is one file. It defines how its network is trained for a task (`_train`), what it stores afterwards
(`_remember`) and, if that is not simply the largest output, how it decides (`_scores`).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.arguments import integer, number
from bitreplay._floor.seeds import mix_seed
from bitreplay.backbones import Preprocessing
from bitreplay.data import Samples, Task
from bitreplay.errors import InputError
from bitreplay.learners._learner import Arrays, Learner, Place
from bitreplay.learners.finetuned._context import TrainingContext
from bitreplay.learners.finetuned._network import GrowingNetwork, LinearOutputs, OutputLayers
from bitreplay.learners.finetuned._progress import Progress
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._state import state_of, with_state
from bitreplay.learners.finetuned._training import Augment, Batch, encode, fit
from bitreplay.training import PaperAugmentation, StrongAugmentation, default_preprocessing

Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]

TRAINING_VERSION = 1  # of the loop and the networks that all methods share
BACKBONE_WEIGHTS, HEAD_WEIGHTS, TRAINING = range(3)  # what a seed is for


@dataclass(kw_only=True, eq=False)
class FineTunedLearner(Learner):
    """Base of the methods: see the module's docstring.

    Parameters
    ----------
    base_epochs, epochs : int, optional
        Passes over the samples of task 0, and of each later task; by default as in the preset.
    batch_size : int, optional
        Images per step; by default as in the preset.
    learning_rate : float, optional
        The highest of the schedule; by default the published one.
    seed : int
        Seed for all randomness.

    Attributes
    ----------
    classes : ndarray of int64
        Labels learned so far, in learning order; a class's position here is its index in the network.
    network : GrowingNetwork or None
        None before the first task.
    kept : mapping of str to ndarray
        The last result of `_remember`. `memory_arrays` names those that count as memory.
    context : TrainingContext
        Which network is trained, for how long and where.

    Examples
    --------
    A method of one's own says how its network is trained for a task:

    >>> class Smoothed(FineTunedLearner):
    ...     name = "Smoothed"
    ...
    ...     def _train(self, network, old, images, targets):
    ...         loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    ...         self._fit(network, images, targets, lambda batch: loss(network(batch.pixels), batch.targets))
    >>> Smoothed(learning_rate=0.05).recipe.learning_rate, Smoothed.published.learning_rate
    (0.05, 0.1)
    """

    base_epochs: int | None = None
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    seed: int = 0

    published: ClassVar[Recipe] = Recipe()
    memory_arrays: ClassVar[tuple[str, ...]] = ()
    head_kind: ClassVar[type[OutputLayers]] = LinearOutputs

    def __post_init__(self) -> None:
        for option in ("base_epochs", "epochs", "batch_size"):
            if (value := getattr(self, option)) is not None:
                integer(option, value, 1)
        if self.learning_rate is not None:
            number("learning_rate", self.learning_rate, above=0)
        integer("seed", self.seed, 0)
        self.classes: Labels = np.empty(0, dtype=np.int64)
        self.network: GrowingNetwork | None = None
        self.kept: Mapping[str, npt.NDArray[Any]] = {}
        self.context = TrainingContext()
        self.image_shape: tuple[int, ...] = ()
        self.preprocessing = Preprocessing()
        self.progress = Progress()

    # ------------------------------------------------------------------ what a method defines

    @abstractmethod
    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        """Train a network that already has outputs for the new classes; `old` is its previous state, None in task 0."""

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        """Everything stored after the task, old and new, besides the network."""
        return {}

    def _n_outputs(self, n_classes: int) -> int:
        """Number of outputs for this many new classes."""
        return n_classes

    def _backbone(self, backbone: nn.Module) -> nn.Module:
        """A backbone as the method needs it."""
        return backbone

    def _augmentation(self, recipe: Recipe) -> Augment | None:
        if recipe.augmentation == "none":
            return None
        height, width, channels = self.image_shape
        return PaperAugmentation((height, width)) if recipe.augmentation == "paper" else StrongAugmentation(channels)

    def _scores(self, features: torch.Tensor) -> torch.Tensor:
        """Scores (N, classes) of features; the highest wins."""
        assert self.network is not None
        scores: torch.Tensor = self.network.head(features)
        return scores

    # ------------------------------------------------------------------ what a method uses

    @property
    def known(self) -> int:
        """Classes learned so far: within `_train` and `_remember`, the old ones."""
        return len(self.classes)

    @property
    def version(self) -> str:
        """Version of its results, and of the training that all share: part of the key of its runs."""
        return f"{self.VERSION}.{TRAINING_VERSION}"

    @property
    def recipe(self) -> Recipe:
        """How it trains: as published or within the budget, modified by its own options."""
        budget = self.context.budget
        recipe = self.published if budget is None else self.published.within(budget)
        options = ("base_epochs", "epochs", "batch_size", "learning_rate")
        own = {option: value for option in options if (value := getattr(self, option)) is not None}
        if "epochs" in own:
            own.setdefault("base_epochs", own["epochs"])
        return replace(recipe, **own)

    def _fit(
        self,
        network: GrowingNetwork,
        images: Images,
        targets: Labels,
        loss: Callable[[Batch], torch.Tensor],
        *,
        phase: int = 0,
        share: float = 1.0,
        slower: float = 1.0,
        milestones: tuple[float, ...] | None = None,
        keep_statistics: bool = False,
    ) -> None:
        """Train on a task's samples, by the recipe or with a `share` of its epochs, `slower`, or other `milestones`."""
        recipe = self.recipe.part(share, slower, milestones)
        fit(
            network,
            images,
            targets,
            loss,
            recipe,
            epochs=recipe.epochs if self.known else recipe.base_epochs,
            seed=(self.seed, self.known, TRAINING, phase),
            preprocessing=self.preprocessing,
            augment=self._augmentation(recipe),
            keep_statistics=keep_statistics,
            title=f"{self.name}: {self.known} classes known",
            checkpoint=self.progress.of_next(f"{self.known}-classes-known"),
        )

    def _encode(self, network: GrowingNetwork, images: Images) -> npt.NDArray[np.float32]:
        return encode(network, images, self.preprocessing)

    # ------------------------------------------------------------------ learning and deciding

    def use(self, context: TrainingContext) -> None:
        """Set which network is trained, for how long and where; before the first task."""
        if self.known:
            raise InputError(f"{self.name} has already learned classes: its network cannot change")
        self.context = context

    def learner_in(self, place: Place) -> FineTunedLearner:
        """Itself, with the network that a run requests."""
        self.use(place.training_context())
        return self

    def keep_progress_in(self, folder: Path, seconds: float) -> None:
        """Keep the state within a task, too: as often as a run does between tasks."""
        self.progress = Progress(folder, seconds)

    def notes(self) -> dict[str, str]:
        """What a reader of results must know about the network."""
        return {"encoder": f"{self.context.backbone}, trained in every task"}

    def learn(self, task: Task) -> None:
        """Learn the classes of a task, with its training samples only."""
        images, targets = self._numbered(task)
        self.progress.begin()
        if self.network is None:
            self.image_shape = images.shape[1:]
            self.preprocessing = default_preprocessing(self.context.backbone, task, self.context.backbone_options)
            network, old = self.new_network(), None
        else:  # what is trained is a copy: where that fails, nothing has changed
            network, old = copy.deepcopy(self.network), self.network.eval().requires_grad_(False)
        network.head.grow(self._n_outputs(len(task.classes)), self._generator(HEAD_WEIGHTS))
        network = self.placed(network).requires_grad_(True)
        self._train(network, old, images, targets)
        self.earlier_seconds = self.progress.earlier_seconds
        kept = self._remember(network, images, targets)
        self.network, self.kept = network.eval(), kept
        self.classes = np.concatenate([self.classes, task.classes])

    def _numbered(self, task: Task) -> tuple[Images, Labels]:
        """A task's training images, and the position of each one's class in the learning order; or an error."""
        images, labels = task.train.images, task.train.labels
        if not len(images):
            raise InputError(f"task {task.id} has no training images")
        if self.image_shape and images.shape[1:] != self.image_shape:
            raise InputError(f"{self.name} learned from images of shape {self.image_shape}; got {images.shape[1:]}")
        again = np.intersect1d(task.classes, self.classes)
        if len(again):
            raise InputError(f"classes {again[:10].tolist()} were already learned: every class comes in one task")
        if not np.array_equal(np.unique(labels), np.unique(task.classes)):
            raise InputError(f"task {task.id} needs training images of each of its classes, and of no others")
        place = {int(label): self.known + i for i, label in enumerate(task.classes)}
        return images, np.array([place[int(label)] for label in labels], dtype=np.int64)

    def predict(self, samples: Samples | Images) -> Labels:
        """A class for every image, numbered as the data set numbers them."""
        features = torch.from_numpy(self._features(samples))
        with torch.inference_mode():
            best = self._scores(features.to(self.context.torch_device())).argmax(1)
        return np.asarray(self.classes[best.cpu().numpy()])

    def _features(self, samples: Samples | Images) -> npt.NDArray[np.float32]:
        if self.network is None:
            raise InputError(f"{self.name} has not learned any class yet: call learn first")
        images = samples.images if isinstance(samples, Samples) else np.asarray(samples)
        if images.dtype != np.uint8 or images.shape[1:] != self.image_shape or not len(images):
            got = f"{images.dtype} {images.shape}"
            raise InputError(f"{self.name} learned from uint8 images of shape {self.image_shape}; got {got}")
        return self._encode(self.network, images)

    def new_network(self) -> GrowingNetwork:
        """A network without outputs, as it is before the first task."""
        backbone, n_features = self.context.new_backbone(self.image_shape, self._generator(BACKBONE_WEIGHTS))
        return GrowingNetwork(self._backbone(backbone), self.head_kind(n_features))

    def placed(self, network: GrowingNetwork) -> GrowingNetwork:
        """A network on the device, in the layout that is fastest there."""
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # twice as fast on a CPU
        return network.to(self.context.torch_device())

    def _generator(self, *purpose: int) -> torch.Generator:
        """A generator that depends on the seed and on how much was learned: a reloaded method continues identically."""
        return torch.Generator().manual_seed(mix_seed(self.seed, self.known, *purpose))

    # ------------------------------------------------------------------ sizes

    def memory_bits(self) -> int:
        """Bits stored for the classes learned so far, values only; the network is not counted."""
        return 8 * sum(int(self.kept[name].nbytes) for name in self.memory_arrays if name in self.kept)

    def working_set_bits(self) -> int:
        """Weights and biases of the outputs, in float32; the backbone is not counted, as for frozen encoders."""
        if self.network is None:
            return 0
        return 32 * sum(parameter.numel() for parameter in self.network.head.parameters())

    # ------------------------------------------------------------------ state

    def state_dict(self) -> Arrays:
        """Everything learned, as arrays."""
        return state_of(self)

    def load_state_dict(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Load the `state_dict` of a method with the same options and network."""
        self.__dict__.update(with_state(self, state).__dict__)

    def _loaded(self) -> None:
        """Compute what follows from `kept`; most methods have nothing to do."""
