"""Scripts for firmware/runner.c: calls, and the answers that Python's integers give.

A script grows call by call; each method computes what it expects with `bitreplay.device` and writes both down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.bits import PackedBits
from bitreplay.device import (
    BlockError,
    DeviceError,
    DeviceMemory,
    DeviceNetwork,
    IntegerHead,
    IntegerThresholds,
    Layout,
    Status,
    words_of,
)

KINDS = ("uint8", "int8", "int16")
UP = 65536  # small numbers are moved up, so that the runner reads no negative ones


class Operation(IntEnum):
    END = 0
    LAYOUT = 1
    FILL = 2
    ENROL = 3
    FORGET = 4
    WORDS = 5
    SCORES = 6
    STORE = 7
    LOAD = 8
    HEAD = 9
    HEAD_SCORES = 10
    BINARIZE = 11
    NETWORK = 12
    EMBED = 13


class Script:
    """Calls with expected answers, as bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.memory: DeviceMemory | None = None

    def __bytes__(self) -> bytes:
        return b"".join([*self._parts, np.array([Operation.END], dtype="<u4").tobytes()])

    def _words(self, *values: Any) -> None:
        for value in values:
            array = np.atleast_1d(np.asarray(value)).reshape(-1)
            assert array.size == 0 or (array.min() >= 0 and array.max() < 2**32)
            self._parts.append(array.astype("<u4").tobytes())

    def _bytes(self, data: bytes) -> None:
        self._parts.append(data + bytes(-len(data) % 4))

    # ------------------------------------------------------------------ the memory

    def layout(self, layout: Layout, capacity: int) -> None:
        """An empty memory."""
        self.memory = DeviceMemory(layout, capacity)
        how = layout.starts, layout.warm_up, layout.steps, layout.fingerprint
        self._words(Operation.LAYOUT, layout.features, layout.min_count, layout.bits, layout.prototypes, how)
        self._words(layout.log_probabilities.astype(np.int64) + UP, capacity)

    def fill(self, memory: DeviceMemory) -> None:
        """The classes of a memory of the same layout."""
        assert self.memory is not None
        self.memory.load(memory.to_block())
        self._words(Operation.FILL, len(memory), len(memory.words), memory.words)

    def enrol(self, label: int, bits: PackedBits) -> Status:
        assert self.memory is not None
        status = status_of(self.memory.enrol, label, bits)
        self._words(Operation.ENROL, label, len(bits), words_of(bits), status)
        return status

    def forget(self, label: int) -> Status:
        assert self.memory is not None
        status = status_of(self.memory.forget, label)
        self._words(Operation.FORGET, label, status)
        return status

    def words(self) -> None:
        """Compare the whole memory."""
        assert self.memory is not None
        self._words(Operation.WORDS, len(self.memory), len(self.memory.words), self.memory.words)

    def scores(self, bits: PackedBits) -> None:
        assert self.memory is not None
        self._scores(Operation.SCORES, bits, self.memory.scores(bits))

    def store(self, sequence: int) -> bytes:
        assert self.memory is not None
        block = self.memory.to_block(sequence)
        self._words(Operation.STORE, sequence, len(block))
        self._bytes(block)
        return block

    def load(self, block: bytes) -> Status:
        assert self.memory is not None
        status = status_of(self.memory.load, block)
        self._words(Operation.LOAD, len(block))
        self._bytes(block)
        self._words(status)
        return status

    # ------------------------------------------------------------------ the others

    def head(self, head: IntegerHead) -> None:
        self._head = head
        self._words(Operation.HEAD, head.n_features, head.n_classes, head.squares, head.weight_bits, head.shift)
        self._words(head.score_shift, head.planes)
        self._words(*(values.astype(np.int64) + 2**31 for values in (head.biases, head.scales)))

    def head_scores(self, bits: PackedBits) -> None:
        self._scores(Operation.HEAD_SCORES, bits, self._head.scores(bits))

    def _scores(self, operation: Operation, bits: PackedBits, scores: npt.NDArray[np.int32]) -> None:
        rows = np.concatenate([words_of(bits), scores.view(np.uint32)], axis=1)
        self._words(operation, len(bits), rows)

    def binarize(self, thresholds: IntegerThresholds, features: npt.NDArray[Any]) -> None:
        kind, stride = KINDS.index(thresholds.feature_type), 0 if thresholds.shared else thresholds.per_input
        sizes = thresholds.inputs, thresholds.per_input, stride, thresholds.values.size, len(features)
        rows = np.concatenate([features.astype(np.int64) + UP, words_of(thresholds.pack(features))], axis=1)
        self._words(Operation.BINARIZE, kind, sizes, thresholds.values.astype(np.int64) + UP, rows)

    def network(self, network: DeviceNetwork) -> None:
        self._words(Operation.NETWORK, len(network.layers), network.colours, network.levels)
        self._words(network.scratch_words, network.map_words, network.pixel_levels)
        names = ("height", "width", "channels", "outputs", "groups", "size", "stride", "padding", "pool")
        for layer in network.layers:
            self._words([int(getattr(layer, name)) for name in names], layer.weights.size, layer.weights)
            self._words(layer.limits.astype(np.int64) + UP, layer.flips)

    def embed(self, images: Iterable[npt.NDArray[np.uint8]], bits: PackedBits) -> None:
        """Images, and what Python's packed network made of them."""
        self._words(Operation.EMBED, len(bits))
        for image, words in zip(images, words_of(bits), strict=True):
            self._bytes(image.tobytes())
            self._words(words)


def status_of(call: Callable[..., object], *arguments: Any) -> Status:
    """What the device should answer to the same call."""
    try:
        call(*arguments)
    except (DeviceError, BlockError) as error:
        return error.status
    return Status.OK
