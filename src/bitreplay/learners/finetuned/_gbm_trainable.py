"""GBM with a trainable backbone: the extension that the GBM paper suggests in its last section.

It goes on from the network that a frozen GBM stands on. From the second task on, pseudo-exemplars of old classes feed
the outputs, the backbone is held by feature distillation (as in PASS and IL2A), and the prototypes follow it: how often
each bit flips is measured on the new task's images, before and after.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import cross_entropy

from bitreplay._floor.arguments import number, one_of, truth
from bitreplay._floor.seeds import first_draw
from bitreplay.binarizers import Thermometer
from bitreplay.bits import PackedBits
from bitreplay.data import Samples, Task
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions, GBMState, head_of, state_content, state_from_content
from bitreplay.heads import VERSION as HEADS_VERSION
from bitreplay.learners._learner import Arrays, from_text, to_text
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork, LinearOutputs
from bitreplay.learners.finetuned._pass import PASS_RECIPE, feature_distance
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Batch
from bitreplay.learners.frozen._gbm import HeadName
from bitreplay.memory import BinaryMemory, Label
from bitreplay.training import Optimizer

Rates = npt.NDArray[np.float64]


def flip_rates(before: npt.ArrayLike, after: npt.ArrayLike) -> tuple[Rates, Rates]:
    """How often each bit that was set is cleared, and how often each that was clear is set.

    Of a bit that was never set (or never clear), the rate is unknown and taken as 0.

    Examples
    --------
    >>> cleared, added = flip_rates([[1, 0], [1, 0], [0, 0]], [[0, 1], [1, 0], [0, 1]])
    >>> cleared.tolist(), added.round(2).tolist()
    ([0.5, 0.0], [0.0, 0.67])
    """
    was, now = np.asarray(before, dtype=np.bool_), np.asarray(after, dtype=np.bool_)
    ones = was.sum(axis=0)
    cleared = (was & ~now).sum(axis=0) / np.maximum(ones, 1)
    added = (~was & now).sum(axis=0) / np.maximum(len(was) - ones, 1)
    return cleared, added


def followed(memory: BinaryMemory, cleared: Rates, added: Rates) -> BinaryMemory:
    """A memory whose prototypes follow the bits: ``mu (1 - cleared) + (1 - mu) added``.

    This is exact if a bit flips independently of the class.
    """
    moved = {}
    for label in memory.labels:
        mixture = memory.mixture(label)
        mu = mixture.prototypes.astype(np.float64)
        moved[label] = replace(mixture, prototypes=(mu * (1 - cleared) + (1 - mu) * added).astype(np.float32))
    result = memory.copy()
    result.replace(moved)
    return result


@dataclass(kw_only=True, eq=False)
class TrainableGBM(FineTunedLearner):
    """A generative binary memory on a trainable backbone: K * D * q * n_c bits are stored.

    Task 0 is the training of a frozen encoder, from the cache if it was trained before: GBM and TrainableGBM begin with
    the same network. Options of the training are those of later tasks.

    Parameters
    ----------
    prototypes : int
        K, prototypes per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    p : int
        Thermometer bits per feature.
    head : {"closed_form", "replay", "bayes"}
        How a decision is made from the memory, as for GBM.
    distillation_weight : float
        Weight of the distance between new and old features.
    follow : bool
        Let prototypes follow the bits' flips.
    optimizer : {"adam", "sgd"}
        With SGD, the learning rate should be given too: that of Adam is by far too low for it.
    keep_statistics : bool
        Normalise by the statistics of task 0 instead of those of each batch.
    base_epochs, epochs : int, optional
        Passes over the samples of task 0, which the preset alone sets here, and of each later task; by default as in
        the preset.
    batch_size : int, optional
        Images per step, to which pseudo-exemplars of the old classes are added; by default as in the preset.

    Examples
    --------
    Prototypes of old classes follow the backbone, without any old image:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> first, second = make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4)
    >>> learner = TrainableGBM(prototypes=1, epochs=1, learning_rate=0.03)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> learner.learn(first)
    >>> before = learner.memory.mixture(0).prototypes
    >>> learner.learn(second)
    >>> bool((learner.memory.mixture(0).prototypes != before).any()), learner.memory_bits() == 1 * 32 * 8 * 4
    (True, True)
    """

    prototypes: int = 8  # table 1, "K=8"
    bits: int = 8  # sec. 5.2: "a peak at q=8"; fewer bits lose small steps of the prototypes
    p: int = 1  # table 1: GBM^T_1
    head: HeadName = "closed_form"
    distillation_weight: float = 10.0  # PASS and IL2A, main.py: --kd_weight
    follow: bool = True
    optimizer: Optimizer = "adam"  # PASS's, to which the weight of the distance belongs
    keep_statistics: bool = True  # ours: statistics of new classes alone would move every bit

    name: ClassVar[str] = "TrainableGBM"
    VERSION: ClassVar[int] = 3  # begins with the network of a frozen GBM
    published: ClassVar[Recipe] = PASS_RECIPE

    def __post_init__(self) -> None:
        super().__post_init__()
        number("distillation_weight", self.distillation_weight, 0)
        truth("follow", self.follow)
        truth("keep_statistics", self.keep_statistics)
        one_of("optimizer", self.optimizer, Optimizer)
        if self.base_epochs is not None:
            raise InputError(
                "base_epochs is not for TrainableGBM: its task 0 is the training of a frozen encoder, by the preset"
            )
        self.thermometer = Thermometer(self.p)
        self.core = GBMOptions(self.prototypes, self.bits, self.head, calibrate=False)
        self.state: GBMState | None = None

    @property
    def version(self) -> str:
        """Its own version, and those of memory and heads."""
        return f"{super().version}.{HEADS_VERSION}"

    @property
    def recipe(self) -> Recipe:
        """How it trains later tasks."""
        return replace(super().recipe, optimizer=self.optimizer)

    @property
    def memory(self) -> BinaryMemory | None:
        """Everything stored about the classes, which are identified by their position in the learning order."""
        return None if self.state is None else self.state.memory

    def learn(self, task: Task) -> None:
        """Learn the classes of a task, with its training samples only."""
        if self.network is None:
            self._numbered(task)  # refuses what cannot be learned before anything is trained
            self._first = self.context.trained_on(task, self.p)
        super().learn(task)
        self.state = self._learned

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        if old is None:
            self._take_over(network)
            return

        def loss(batch: Batch) -> torch.Tensor:
            features = network.features(batch.pixels)
            drawn, old_classes = self._pseudo_exemplars(len(batch.targets), network.head.sizes[-1], batch.generator)
            seen = torch.cat([self.thermometer(features), self.thermometer.decode(drawn.to(features))])
            classes = torch.cat([batch.targets, old_classes.to(batch.targets)])
            with torch.no_grad():
                old_features = old.features(batch.pixels)
            held = feature_distance(features, old_features)
            return cross_entropy(network.head(seen), classes) + self.distillation_weight * held

        self._fit(network, images, targets, loss, keep_statistics=self.keep_statistics)

    def _take_over(self, network: GrowingNetwork) -> None:
        """Backbone, outputs and preprocessing of the network that was trained on task 0 with a thermometer."""
        first, head = self._first, network.head
        assert isinstance(head, LinearOutputs)
        self.preprocessing = first.preprocessing
        network.backbone.load_state_dict(first.backbone.state_dict())
        with torch.no_grad():
            head.weights[0].copy_(torch.tensor(first.head_weight))
            head.biases[0].copy_(torch.tensor(first.head_bias))

    def _pseudo_exemplars(self, n: int, n_new: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Bits of old classes, as many of each as there are samples of a new one in a batch of `n` (eq. 6)."""
        assert self.state is not None
        memory = self.state.memory
        seed = int(torch.randint(2**62, (1,), generator=generator))
        bits, classes = memory.draw(round(n * self.known / n_new), memory.labels, np.random.default_rng(seed))
        return torch.from_numpy(bits), torch.from_numpy(classes)

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        bits = self.thermometer.pack(self._encode(network, images))
        state = self.state
        if state is None or self.network is None:
            fingerprint = self.thermometer.fingerprint(bits.n_features // self.p, self.context.backbone)
            state = GBMState.empty(self.core, self.thermometer, fingerprint, first_draw(self.seed))
        elif self.follow:
            before = self.thermometer.pack(self._encode(self.network, images))
            moved = followed(state.memory, *flip_rates(before.unpack(), bits.unpack()))
            state = replace(state, memory=moved)
        samples: dict[Label, PackedBits] = {int(label): bits[targets == label] for label in np.unique(targets)}
        self._learned = state.learned(samples)  # adds the new classes, and recomputes the head for all
        content, rest, tensors = state_content(self._learned)
        return {**tensors, "content": to_text({**content, "state": rest})}

    def _loaded(self) -> None:
        arrays = dict(self.kept)
        content = from_text(arrays["content"])
        memory = BinaryMemory.from_content(content, arrays, "the state")
        head = head_of(content["state"])
        assert head is not None
        self.state = state_from_content(memory, content["state"], arrays, self.core, head)

    def predict(self, samples: Samples | Images) -> Labels:
        """A class for every image, numbered as the data set numbers them."""
        bits = self.thermometer.pack(self._features(samples))
        assert self.state is not None
        places = np.array(self.state.labels)[self.state.scores(bits).argmax(1)]
        return np.asarray(self.classes[places])

    def memory_bits(self) -> int:
        """Size of the memory as the paper counts it: prototypes per class times D times q."""
        return 0 if self.state is None else self.state.memory.size_bits

    def working_set_bits(self) -> int:
        """Weights of the head that decides from the memory."""
        return 0 if self.state is None else 8 * self.state.head.nbytes
