"""A linear layer trained by SGD with momentum: the one training loop of all methods that train a layer on samples.

(GBM's replay head and latent replay have their own loop in `bitreplay.heads`, which trains any network.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.threads import torch_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.heads import LinearSteps
from bitreplay.learners.frozen._method import Features, Labels

Layer = tuple[Features, Features]  # weights (classes, inputs) and biases (classes,)
MIN_STEPS = 500  # ours: as the replay head's; a few passes over small data are too few steps


class Rows(Protocol):
    """Samples that can be indexed by row, as float32."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: npt.NDArray[np.intp], /) -> Features: ...


class DecodedBits:
    """Packed bits as a layer sees them: unpacked a batch at a time, the mean of every feature's bits."""

    def __init__(self, bits: PackedBits, code: Binarizer) -> None:
        self.bits, self.code = bits, code

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, rows: npt.NDArray[np.intp]) -> Features:
        unpacked = self.bits[rows].unpack(np.float32)
        return np.asarray(self.code.decode(torch.from_numpy(unpacked)).numpy(), dtype=np.float32)


def count_steps(n_rows: int, batch_size: int, epochs: int) -> int:
    """Steps in this many passes over the rows, and enough of them if rows are few."""
    return max(MIN_STEPS, epochs * -(-n_rows // batch_size))


def shuffled_batches(
    rows: Rows, targets: Labels, batch_size: int, n_steps: int, generator: np.random.Generator
) -> Iterator[tuple[Features, Labels]]:
    """`n_steps` batches from passes over all rows, each pass in another order; its last batch may be smaller."""
    step = 0
    while True:
        order = generator.permutation(len(rows))
        for begin in range(0, len(order), batch_size):
            if step == n_steps:
                return
            step += 1
            chosen = order[begin : begin + batch_size]
            yield rows[chosen], targets[chosen]


def train_linear(
    start: Layer | None,  # to continue from; it is not changed
    shape: tuple[int, int],  # classes and inputs
    batches: Iterable[tuple[Features, Labels]],  # inputs (B, d) and targets (B,), one step each
    n_steps: int,  # how many batches there will be
    *,
    learning_rate: float,
    momentum: float = 0.9,  # sec. 4.1 of the GBM paper, and every recipe compared here
    weight_decay: float = 0.0,
) -> Layer:
    """Train softmax regression by SGD; the learning rate decays to 0 along a cosine.

    Rows of classes that `start` does not have begin at 0, as all do without a start. Options are those of torch's SGD.

    Examples
    --------
    >>> X, y = np.eye(3, dtype=np.float32), np.arange(3)
    >>> batches = shuffled_batches(X, y, 3, 20, np.random.default_rng(0))
    >>> layer = train_linear(None, (3, 3), batches, 20, learning_rate=0.5)
    >>> linear_scores(X, layer).argmax(1).tolist()
    [0, 1, 2]
    """
    weights, biases = torch.zeros(shape), torch.zeros(shape[0])
    if start is not None:
        weights[: len(start[0])] = torch.from_numpy(start[0])
        biases[: len(start[1])] = torch.from_numpy(start[1])
    steps = LinearSteps(weights, biases, momentum=momentum, weight_decay=weight_decay)
    with torch_threads(weights.numel()):
        for step, (inputs, targets) in enumerate(batches):
            rate = learning_rate * (1 + math.cos(math.pi * step / n_steps)) / 2
            steps.step(torch.from_numpy(inputs), torch.from_numpy(targets), rate)
    return weights.numpy(), biases.numpy()


def linear_scores(inputs: Features, layer: Layer) -> npt.NDArray[np.float32]:
    """Scores of a linear layer."""
    weights, biases = layer
    return np.asarray(inputs @ weights.T + biases)
