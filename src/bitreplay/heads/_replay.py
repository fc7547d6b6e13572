"""The paper's classifier: G trained by SGD on new samples mixed with fresh pseudo-exemplars of the old classes (sec.
3.2).

Every batch holds as many rows per new class as per old one. New rows are real samples, old rows are drawn from the
memory afresh for every batch. From the memory alone (after `forget`, or on another device) all rows are drawn, and so
are always those of classes of few samples, from what other classes lend them (:mod:`bitreplay.heads._few`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.arguments import integer, make_plain, number, one_of
from bitreplay._floor.random_state import seeded
from bitreplay._floor.seeds import seed_for
from bitreplay._floor.threads import torch_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, concatenate, row_blocks
from bitreplay.errors import InputError
from bitreplay.heads._few import VARIETY, lend_variety
from bitreplay.heads._head import Scores
from bitreplay.heads._network import MakeModule, balanced_rows, check_saved, make_layers
from bitreplay.heads._steps import LinearSteps, NetworkSteps
from bitreplay.memory import BinaryMemory, Label, Prior
from bitreplay.nn import binary_layers, keep_clipped

OptimizerName = Literal["sgd", "adam"]


@dataclass(frozen=True)
class Replay:
    """G, any torch module, trained on class-balanced batches of samples and pseudo-exemplars.

    Parameters
    ----------
    hidden : sequence of int
        Widths of hidden layers; none makes G linear, as in the paper.
    module : callable, optional
        ``module(n_inputs, n_classes)`` makes G instead, for any architecture. When classes are added it is called
        again, and matching parts of the old G are copied: parameters of equal shape, and the leading rows of those
        that grew.
    epochs, min_steps : int
        Passes over the new samples, and the minimum number of steps, for small data.
    batch_size : int
        B.
    optimizer : {"sgd", "adam"}
        The optimizer of G; Adam suits binary weights. Latent weights of binary layers are clipped after every step.
    learning_rate, momentum, weight_decay : float
        Options of the optimizer (Adam has its own momentum); the learning rate decays to 0 along a cosine.
    prior : {"balanced", "empirical"}
        Whether every class has the same share of a batch, or a share by its number of samples.
    strength : float
        Samples that the mean of all classes is worth to a class of few samples; 0 for no help to such classes.
    device : str, optional
        Where to train; a GPU if there is one.
    on_epoch : callable, optional
        Called after each epoch with the training accuracy on its batches and the current head.

    Examples
    --------
    >>> from bitreplay import GBMClassifier
    >>> head = Replay(epochs=1, min_steps=50)
    >>> clf = GBMClassifier(head=head, binarizer="identity").fit([[0, 1], [1, 0]], ["mug", "cup"])
    >>> clf.predict([[0, 1]]).tolist()
    ['mug']
    """

    hidden: Sequence[int] = ()  # sec. 4, "The classifier G consists of a linear projection"
    module: MakeModule | None = None
    epochs: int = 5  # ours: benchmarks/replay_options.py, on held-out samples of task 0; the paper does not say
    min_steps: int = 500  # ours: a few epochs of small data are too few steps
    batch_size: int = 128  # sec. 4.1
    optimizer: OptimizerName = "sgd"  # sec. 4.1
    learning_rate: float = 0.1  # ours: replay_options.py and replay_rates.py there; 0.03 does as well on average
    momentum: float = 0.9  # sec. 4.1
    weight_decay: float = 0.0  # ours: benchmarks/replay_options.py; 5e-4 makes no difference
    prior: Prior = "balanced"  # eq. 6
    strength: float = VARIETY
    device: str | None = None
    on_epoch: Callable[[float, Replay], None] | None = field(default=None, repr=False, compare=False)
    _network: nn.Module | None = field(default=None, repr=False)
    _labels: tuple[Label, ...] = field(default=(), repr=False)
    _binarizer: Binarizer | None = field(default=None, repr=False)

    name = "replay"
    calibrated = False  # its log-probabilities are those of samples that it was trained on

    def open_options(self) -> dict[str, tuple[Any, ...]]:
        """None: choosing would train G many times."""
        return {}

    def open_few_options(self) -> dict[str, tuple[Any, ...]]:
        """None either."""
        return {}

    def decided(self, **options: Any) -> Replay:
        """The same head with other options."""
        return replace(self, **options)

    def __post_init__(self) -> None:
        make_plain(self)
        for name, least in (("epochs", 1), ("min_steps", 1), ("batch_size", 2)):
            integer(name, getattr(self, name), least)
        number("learning_rate", self.learning_rate, above=0)
        for name in ("momentum", "weight_decay", "strength"):
            number(name, getattr(self, name), 0)
        one_of("prior", self.prior, Prior)
        one_of("optimizer", self.optimizer, OptimizerName)
        if not isinstance(self.hidden, Sequence):
            raise InputError(f"hidden must be a sequence of positive integers; got {self.hidden!r}")
        for width in self.hidden:
            integer("hidden, each of its widths,", width, 1)
        try:
            torch.device(self.device or "cpu")
        except (RuntimeError, TypeError):
            raise InputError(
                f"device must be one that torch knows, such as 'cpu' or 'cuda:0'; got {self.device!r}"
            ) from None
        if self.module is not None and (isinstance(self.module, nn.Module) or not callable(self.module)):
            raise InputError(f"module must make G when called with (n_inputs, n_classes); got {self.module!r}")

    def fit(self, memory: BinaryMemory, binarizer: Binarizer, seed: int) -> Replay:
        """Train G from scratch on pseudo-exemplars of all classes."""
        fresh = replace(self, _network=None, _labels=())
        return fresh.update(memory, binarizer, {}, seed)

    def update(
        self,
        memory: BinaryMemory,
        binarizer: Binarizer,
        samples: Mapping[Label, PackedBits],
        seed: int,
    ) -> Replay:
        """Continue training with the samples of some classes and pseudo-exemplars of the others."""
        if not len(memory):
            raise InputError("the memory holds no classes")
        generator = np.random.default_rng(seed)
        device = torch.device(self.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        n_inputs = memory.n_features // binarizer.bits_per_feature
        network = self._grown(n_inputs, memory.labels, seed).to(device).train()
        steps_per_epoch = self._steps_per_epoch(memory, samples)
        n_steps = max(self.min_steps, self.epochs * steps_per_epoch)
        memory, lent = lend_variety(memory, self.strength, seed)
        samples = {label: bits for label, bits in samples.items() if label not in lent}
        right: list[float] = []
        n_parameters = sum(parameter.numel() for parameter in network.parameters())
        steps = self._steps(network, len(memory))
        with torch_threads(n_parameters), seeded(seed_for(seed, "dropout"), device):
            for step, (bits, targets) in enumerate(self._batches(memory, samples, n_steps, generator)):
                rate = self.learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2
                inputs = binarizer.decode(torch.from_numpy(bits)).to(device)
                classes = torch.from_numpy(targets).to(device)
                outputs = steps.step(inputs, classes, rate)
                if self.on_epoch is not None:
                    right.append(float((outputs.argmax(1) == classes).float().mean()))
                    if (step + 1) % steps_per_epoch == 0 or step + 1 == n_steps:
                        now = copy.deepcopy(network).cpu().eval()
                        shown = replace(self, _network=now, _labels=memory.labels, _binarizer=binarizer)
                        self.on_epoch(sum(right) / len(right), shown)
                        right.clear()
        return replace(self, _network=network.cpu().eval(), _labels=memory.labels, _binarizer=binarizer)

    def _steps(self, network: nn.Module, n_classes: int) -> LinearSteps | NetworkSteps:
        """Steps of a new optimizer: its state from earlier tasks says little about this one."""
        momentum, weight_decay = self.momentum, self.weight_decay
        if self.module is None and not self.hidden and self.optimizer == "sgd":
            weights, biases = network.parameters()
            return LinearSteps(weights, biases, momentum=momentum, weight_decay=weight_decay)
        made: torch.optim.Optimizer
        if self.optimizer == "adam":
            made = torch.optim.Adam(network.parameters(), weight_decay=weight_decay)
        else:
            made = torch.optim.SGD(network.parameters(), momentum=momentum, weight_decay=weight_decay)
        return NetworkSteps(network, keep_clipped(made, network), n_classes)

    def _steps_per_epoch(self, memory: BinaryMemory, samples: Mapping[Label, PackedBits]) -> int:
        if not samples:
            return max(1, sum(memory.count(label) for label in memory.labels) // self.batch_size)
        return max(1, -(-sum(map(len, samples.values())) // self._new_rows(memory, samples)))

    def _new_rows(self, memory: BinaryMemory, samples: Mapping[Label, PackedBits]) -> int:
        """N_new of a batch (eq. 6): the new classes' share of the classes; at least one row, and one for the old."""
        sizes = {label: 1 if self.prior == "balanced" else memory.count(label) for label in memory.labels}
        share = sum(sizes[label] for label in samples) / sum(sizes.values())
        room = self.batch_size - (len(samples) < len(memory))
        return min(room, max(1, round(self.batch_size * share)))

    def _batches(
        self, memory: BinaryMemory, samples: Mapping[Label, PackedBits], n_steps: int, generator: np.random.Generator
    ) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]]:
        """Batches of bits and class positions: real rows of the new classes, fresh pseudo-exemplars of the others."""
        position = {label: i for i, label in enumerate(memory.labels)}
        old = tuple(label for label in memory.labels if label not in samples)
        n_new = self._new_rows(memory, samples) if samples else 0
        if samples:
            rows = concatenate(list(samples.values()))
            targets = np.repeat([position[label] for label in samples], [len(bits) for bits in samples.values()])
            alike = targets if self.prior == "balanced" else np.zeros_like(targets)  # every class, or every sample
            stream = balanced_rows(alike, n_new, generator)
        for _ in range(n_steps):
            bits, classes = [], []
            if samples:
                chosen = next(stream)
                bits.append(rows[chosen].unpack(np.float32))
                classes.append(targets[chosen])
            if old and n_new < self.batch_size:
                drawn, components = memory.draw(self.batch_size - n_new, old, generator, self.prior)
                bits.append(drawn)
                classes.append(components)
            yield np.concatenate(bits), np.concatenate(classes)

    def _grown(self, n_inputs: int, labels: tuple[Label, ...], seed: int) -> nn.Module:
        """A G for `labels` that retains what the current one has learned."""
        with seeded(seed):  # modules draw their initial weights from torch's global generator
            network = (
                self.module(n_inputs, len(labels)) if self.module else make_layers(n_inputs, self.hidden, len(labels))
            )
        if not isinstance(network, nn.Module):
            raise InputError(f"module must make a torch.nn.Module; it made {network!r}")
        if self._network is None:
            return network
        places = {label: place for place, label in enumerate(labels)}
        rows = [places[label] for label in self._labels]
        known = self._network.state_dict()
        state = network.state_dict()
        for name, value in state.items():
            if name not in known:
                continue
            if value.ndim and len(value) == len(labels) and len(known[name]) == len(self._labels):
                value[rows] = known[name]
            elif value.shape == known[name].shape:
                value.copy_(known[name])
        return network

    def scores(self, bits: PackedBits) -> Scores:
        """Log-probabilities under G's softmax."""
        if self._network is None or self._binarizer is None:
            raise InputError("the head has not been fitted to a memory yet")
        outputs = np.empty((len(bits), len(self._labels)))
        with torch.inference_mode(), torch_threads():
            for rows in row_blocks(*bits.shape):
                inputs = self._binarizer.decode(torch.from_numpy(bits[rows].unpack(np.float32)))
                outputs[rows] = self._network(inputs).log_softmax(1).numpy()
        return outputs

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of G, in the order of its scores."""
        return self._labels

    @property
    def network(self) -> nn.Module | None:
        """The trained G, in evaluation mode; None before training."""
        return self._network

    def with_network(self, network: nn.Module) -> Replay:
        """The same head with its G replaced by another of the same form."""
        return replace(self, _network=network.eval())

    @property
    def nbytes(self) -> int:
        """Working set in bytes: G's parameters, one bit each in binary layers."""
        if self._network is None:
            return 0
        total: int = sum(tensor.nbytes for tensor in self._network.state_dict().values())
        latent = [layer.weight for layer in binary_layers(self._network)]
        return total - sum(weight.nbytes - -(-weight.numel() // 8) for weight in latent)

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options and G's parameters."""
        own = {"hidden", "module", "on_epoch"}
        names = [each.name for each in fields(self) if each.name not in own and not each.name.startswith("_")]
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        options["hidden"] = list(self.hidden)
        options["own_module"] = self.module is not None
        state = self._network.state_dict() if self._network else {}
        return options, {name: value.numpy() for name, value in state.items()}

    def restore(
        self, memory: BinaryMemory, binarizer: Binarizer, tensors: Mapping[str, npt.NDArray[Any]], seed: int
    ) -> Replay:
        """G with its saved parameters."""
        n_inputs = memory.n_features // binarizer.bits_per_feature
        check_saved(tensors, None if self.module else [n_inputs, *self.hidden, len(memory)])
        network = replace(self, _network=None)._grown(n_inputs, memory.labels, seed)
        network.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
        return replace(self, _network=network.eval(), _labels=memory.labels, _binarizer=binarizer)
