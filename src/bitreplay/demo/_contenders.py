"""The methods that the demo compares. Each learns what a day brings, answers, and says what it has to keep for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.binarizers import Thermometer
from bitreplay.classifier import GBMClassifier
from bitreplay.memory import BinaryMemory

__all__ = ["GBM", "Contender", "Everything", "FineTuning", "Footprint", "NearestMean"]

Array = npt.NDArray[Any]

# SGD of the linear layers: the replay head's, but in smaller batches, as a class of digits has only 135 samples.
EPOCHS = 10
BATCH_SIZE = 32
LEARNING_RATE = 0.1
MOMENTUM = 0.9  # sec. 4.1 of the paper


@dataclass(frozen=True)
class Footprint:
    """What a method keeps from one day to the next, in bytes."""

    memory: int  # what it knows of old classes, as the paper counts: values only
    held: int  # the same as it really lies in memory, with counts and labels
    working_set: int  # what a decision needs beside it: weights


class Contender(Protocol):
    """A method that learns day by day."""

    name: str

    def learn(self, features: Array, labels: Array) -> None:
        """Learn the new classes of a day."""

    def predict(self, features: Array) -> Array:
        """A class for every sample."""

    def footprint(self) -> Footprint:
        """What it keeps."""


class LinearLayer:
    """Softmax regression on the bits that a calibrated thermometer makes, trained by SGD.

    It starts at zero (the problem is convex), and a new class gets a new row of zeros.
    """

    def __init__(self, p: int, seed: int) -> None:
        self.binarizer = Thermometer(p, calibrated=True)
        self.generator = torch.Generator().manual_seed(seed)
        self.classes = np.empty(0, dtype=np.int64)
        self.weights = torch.empty(0, 0)
        self.biases = torch.empty(0)

    def bits(self, features: Array) -> torch.Tensor:
        """Bits as floats; thresholds are calibrated by the first call and then stay, as GBMClassifier's do."""
        if not len(self.binarizer.thresholds):
            self.binarizer.calibrate(features)
        return self.binarizer.encode(torch.from_numpy(features).float())

    def train(self, bits: torch.Tensor, labels: Array) -> None:
        """Go on training with these samples alone."""
        new = np.setdiff1d(labels, self.classes)
        self.classes = np.concatenate([self.classes, new])
        weights = torch.zeros(len(self.classes), bits.shape[1])
        biases = torch.zeros(len(self.classes))
        if len(self.biases):
            weights[: len(self.weights)], biases[: len(self.biases)] = self.weights, self.biases
        parameters = [weights.requires_grad_(), biases.requires_grad_()]
        optimizer = torch.optim.SGD(parameters, lr=LEARNING_RATE, momentum=MOMENTUM)
        targets = torch.from_numpy((labels[:, None] == self.classes).argmax(1))
        for _ in range(EPOCHS):
            order = torch.randperm(len(bits), generator=self.generator)
            for rows in torch.split(order, BATCH_SIZE):
                scores = torch.nn.functional.linear(bits[rows], weights, biases)
                loss = torch.nn.functional.cross_entropy(scores, targets[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        self.weights, self.biases = weights.detach(), biases.detach()

    def predict(self, features: Array) -> Array:
        """The class with the highest score."""
        scores = torch.nn.functional.linear(self.bits(features), self.weights, self.biases)
        return np.asarray(self.classes[scores.argmax(1).numpy()])

    @property
    def nbytes(self) -> int:
        """Bytes of weights and biases."""
        return self.weights.nbytes + self.biases.nbytes


class FineTuning(LinearLayer):
    """Plain fine-tuning: SGD on what is new, nothing against forgetting."""

    name = "fine-tuning"

    def learn(self, features: Array, labels: Array) -> None:
        """SGD on the new classes alone."""
        self.train(self.bits(features), labels)

    def footprint(self) -> Footprint:
        """No memory at all."""
        return Footprint(0, 0, self.nbytes)


class Everything(LinearLayer):
    """Not incremental: every day the same layer is trained from zero on all samples so far, which must be kept."""

    name = "all data at once"

    def __init__(self, p: int, seed: int) -> None:
        super().__init__(p, seed)
        self.kept_bits: list[torch.Tensor] = []
        self.kept_labels: list[Array] = []

    def learn(self, features: Array, labels: Array) -> None:
        """SGD from zero on everything."""
        self.kept_bits.append(self.bits(features))
        self.kept_labels.append(labels)
        self.classes, self.biases = self.classes[:0], self.biases[:0]
        self.train(torch.cat(self.kept_bits), np.concatenate(self.kept_labels))

    def footprint(self) -> Footprint:
        """All samples as packed bits, and a byte for every label."""
        packed = sum(bits.numel() for bits in self.kept_bits) // 8
        return Footprint(packed, packed + sum(map(len, self.kept_labels)), self.nbytes)


class NearestMean:
    """The class whose mean is nearest to the features, in floating point."""

    name = "nearest class mean"

    def __init__(self) -> None:
        self.means: dict[int, npt.NDArray[np.float32]] = {}

    def learn(self, features: Array, labels: Array) -> None:
        """One mean per new class."""
        for label in np.unique(labels).tolist():
            self.means[label] = features[labels == label].mean(axis=0, dtype=np.float64).astype(np.float32)

    def predict(self, features: Array) -> Array:
        """The nearest mean by Euclidean distance."""
        distances = [np.square(features - mean).sum(axis=1) for mean in self.means.values()]
        return np.asarray(np.array(list(self.means))[np.argmin(distances, axis=0)])

    def footprint(self) -> Footprint:
        """The means are the memory, and a decision needs nothing else."""
        size = sum(mean.nbytes for mean in self.means.values())
        return Footprint(size, size + len(self.means), 0)


class GBM:
    """A generative binary memory, by way of the public classifier."""

    def __init__(self, head: str, prototypes: int, bits: int, p: int, seed: int) -> None:
        BinaryMemory(bits)  # refuses bits out of range now, and not when other methods have run already
        self.name = f"GBM, {head.replace('_', ' ')}"
        self.classifier = GBMClassifier(prototypes, bits, p=p, head=head, random_state=seed)

    def learn(self, features: Array, labels: Array) -> None:
        """All that a user of the library has to call."""
        self.classifier.partial_fit(features, labels)

    def predict(self, features: Array) -> Array:
        """A class for every sample."""
        return self.classifier.predict(features)

    def footprint(self) -> Footprint:
        """Prototypes; with weights, counts and labels; and the head's weights."""
        memory = self.classifier.memory_
        return Footprint(-(-memory.size_bits // 8), memory.nbytes, self.classifier.head_.nbytes)
