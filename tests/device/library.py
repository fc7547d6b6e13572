"""The C library as Python sees it: compiled with the machine's own compiler, called through ctypes.

Each call returns the C status; buffers are NumPy arrays, so tests see what C has written.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from bitreplay.device import DeviceMemory, DeviceNetwork, IntegerHead, IntegerThresholds, Layout, Status, library_folder
from bitreplay.device._records import Words

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion"]
COMPILER = shutil.which(os.environ.get("CC", "cc"))

c_int, u8, u16, u32 = ctypes.c_int, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32
pointer = ctypes.c_void_p
WRITE = ctypes.CFUNCTYPE(c_int, pointer, u32, ctypes.POINTER(u8), u32)


class CLayout(ctypes.Structure):
    _fields_ = [
        ("features", u16),
        ("min_count", u16),
        *((name, u8) for name in ("bits", "prototypes", "starts", "warm_up", "steps")),
        ("fingerprint", u32),
        ("log_probability", pointer),
    ]


class CMemoryFields(ctypes.Structure):
    _fields_ = [("words", pointer), ("room", pointer), ("capacity", u32), ("used", u32), ("classes", u32)]


class CScratch(ctypes.Structure):
    _fields_ = [
        *((name, pointer) for name in ("counts", "shares", "levels")),
        *((name, u32) for name in ("n_counts", "n_shares", "n_levels")),
    ]


class CNext(ctypes.Structure):
    _fields_ = [("slot", u32), ("sequence", u32)]


class CThresholds(ctypes.Structure):
    _fields_ = [("inputs", u16), ("per_input", u16), ("stride", u16), ("values", pointer)]


class CHead(ctypes.Structure):
    _fields_ = [
        ("features", u16),
        ("classes", u16),
        *((name, u8) for name in ("squares", "weight_bits", "shift", "score_shift")),
        *((name, pointer) for name in ("planes", "biases", "scales")),
    ]


class CLayer(ctypes.Structure):
    _fields_ = [
        *((name, u16) for name in ("height", "width", "channels", "outputs", "groups")),
        *((name, u8) for name in ("size", "stride", "padding", "pool")),
        *((name, pointer) for name in ("weights", "limits", "flips")),
    ]


class CNetwork(ctypes.Structure):
    _fields_ = [
        ("layers", ctypes.POINTER(CLayer)),
        *((name, u8) for name in ("n_layers", "colours", "levels")),
        ("pixel_levels", pointer),
        ("scratch_words", u32),
        ("map_words", u32),
    ]


def compile_library(folder: Path, *options: str, compiler: str | None = COMPILER) -> ctypes.CDLL:
    """A shared library of all C sources; warnings are errors."""
    assert compiler is not None
    target = folder / f"library{len(list(folder.iterdir()))}.so"
    sources = sorted(map(str, library_folder().glob("*.c")))
    command = [compiler, *STRICT, "-O2", "-DBITREPLAY_FLOAT", "-shared", "-fPIC", *options, "-o", str(target), *sources]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def address(array: np.ndarray[Any, Any]) -> int:
    assert array.flags.c_contiguous
    return int(array.ctypes.data)


class CMemory:
    """A memory in C, driven like :class:`DeviceMemory`; calls give a status."""

    def __init__(self, library: ctypes.CDLL, layout: Layout, capacity: int) -> None:
        self.library, self.python_layout = library, layout
        self._table = layout.log_probabilities
        self.layout = CLayout(
            layout.features,
            layout.min_count,
            layout.bits,
            layout.prototypes,
            layout.starts,
            layout.warm_up,
            layout.steps,
            layout.fingerprint,
            address(self._table),
        )
        self.room = np.full(capacity + 1, 0xDEADBEEF, dtype=np.uint32)  # one more, which nobody may touch
        self.fields = CMemoryFields()
        assert self._call("open", pointer(address(self.room)), u32(capacity)) is Status.OK

    def _call(self, name: str, *arguments: Any) -> Status:
        function = self.library[f"bitreplay_{name}"]
        return Status(function(ctypes.byref(self.layout), ctypes.byref(self.fields), *arguments))

    @property
    def words(self) -> Words:
        return self.room[: self.fields.used].copy()

    @property
    def untouched(self) -> bool:
        """Whether the word behind the memory is as it was."""
        return bool(self.room[-1] == 0xDEADBEEF)

    def fill(self, memory: DeviceMemory) -> None:
        """Take over the words of a memory in Python."""
        words = memory.words
        self.room[: len(words)] = words
        self.fields.used, self.fields.classes = len(words), len(memory)

    def enrol(self, label: int, samples: Words, short: str = "") -> Status:
        n, k = len(samples), self.python_layout.prototypes_for(len(samples))
        sizes = {
            "counts": self.python_layout.features + 3 * k,
            "shares": n * k,
            "levels": k * self.python_layout.features,
        }
        kinds = {"counts": np.uint32, "shares": np.uint16, "levels": np.uint8}
        if short:
            sizes[short] -= 1
        self.buffers = {name: np.full(size + 8, 0xA5, dtype=kinds[name]) for name, size in sizes.items()}
        scratch = CScratch(*(address(buffer) for buffer in self.buffers.values()), *sizes.values())
        status = self._call("enrol", u32(label), pointer(address(samples)), u32(n), ctypes.byref(scratch))
        assert all((buffer[-8:] == 0xA5).all() for buffer in self.buffers.values())
        return status

    def forget(self, label: int) -> Status:
        return self._call("forget", u32(label))

    def label(self, position: int) -> tuple[Status, int]:
        label = u32(0)
        return self._call("label", u32(position), ctypes.byref(label)), label.value

    def scores(self, bits: Words, room: int | None = None) -> tuple[Status, np.ndarray[Any, np.dtype[np.int32]]]:
        scores = np.full((len(bits), max(1, self.fields.classes)), -1, dtype=np.int32)
        status = Status.OK
        for row, out in zip(bits, scores, strict=True):
            n = self.fields.classes if room is None else room
            status = self._call("scores", pointer(address(row)), pointer(address(out)), u32(n))
        return status, scores

    def predict(self, bits: Words) -> tuple[Status, list[int], list[int]]:
        labels, scores, status = [], [], Status.OK
        for row in bits:
            label, score = u32(0), ctypes.c_int32(0)
            status = self._call("predict", pointer(address(row)), ctypes.byref(label), ctypes.byref(score))
            labels.append(label.value)
            scores.append(score.value)
        return status, labels, scores

    def store(self, sequence: int, fails_at: int | None = None) -> tuple[Status, bytes]:
        block = bytearray()

        def write(_: Any, offset: int, data: Any, n: int) -> int:
            assert offset == len(block)
            assert 1 <= n <= 64
            block.extend(data[:n])
            return int(fails_at is not None and len(block) > fails_at)

        return self._call("store", u32(sequence), WRITE(write), None), bytes(block)

    def load(self, block: bytes) -> tuple[Status, int]:
        sequence = u32(0)
        exact = ctypes.create_string_buffer(block, max(1, len(block)))
        return self._call("load", exact, u32(len(block)), ctypes.byref(sequence)), sequence.value

    def load_newest(self, slots: tuple[bytes, bytes]) -> tuple[Status, int, int]:
        n = max(map(len, slots))
        buffers = [ctypes.create_string_buffer(slot.ljust(n, b"\xff"), max(1, n)) for slot in slots]
        following = CNext(7, 7)
        status = self._call("load_newest", *buffers, u32(n), ctypes.byref(following))
        return status, following.slot, following.sequence


def binarize(library: ctypes.CDLL, thresholds: IntegerThresholds, features: np.ndarray[Any, Any]) -> Words:
    """Bits of features by C."""
    name = {"uint8": "u8", "int8": "s8", "int16": "s16", "float32": "float"}[thresholds.feature_type]
    kind = {"uint8": np.int16, "int8": np.int16, "int16": np.int32, "float32": np.float32}[thresholds.feature_type]
    values = np.ascontiguousarray(thresholds.values.astype(kind))
    stride = 0 if thresholds.shared else thresholds.per_input
    fields = CThresholds(thresholds.inputs, thresholds.per_input, stride, address(values))
    out = np.full((len(features), -(-thresholds.n_features // 32)), 0xDEADBEEF, dtype=np.uint32)
    for row, bits in zip(np.ascontiguousarray(features), out, strict=True):
        function = library[f"bitreplay_binarize_{name}"]
        assert Status(function(ctypes.byref(fields), pointer(address(row)), pointer(address(bits)))) is Status.OK
    return out


class CHeadCalls:
    """A head in C."""

    def __init__(self, library: ctypes.CDLL, head: IntegerHead) -> None:
        self.library, self.n_classes = library, head.n_classes
        self._kept = head.planes, head.biases.reshape(-1).copy(), head.scales.reshape(-1).copy()
        numbers = head.n_features, head.n_classes, head.squares, head.weight_bits, head.shift, head.score_shift
        self.fields = CHead(*numbers, *(address(array) for array in self._kept))

    def scores(self, bits: Words) -> np.ndarray[Any, np.dtype[np.int32]]:
        scores = np.empty((len(bits), self.n_classes), dtype=np.int32)
        for row, out in zip(bits, scores, strict=True):
            arguments = pointer(address(row)), pointer(address(out)), u32(self.n_classes)
            assert self.library.bitreplay_head_scores(ctypes.byref(self.fields), *arguments) == 0
        return scores

    def predict(self, bits: Words) -> list[int]:
        labels = []
        for row in bits:
            label = u32(0)
            found = self.library.bitreplay_head_predict
            assert found(ctypes.byref(self.fields), pointer(address(row)), ctypes.byref(label), None) == 0
            labels.append(label.value)
        return labels


def embed(library: ctypes.CDLL, network: DeviceNetwork, images: np.ndarray[Any, Any]) -> Words:
    """Embeddings of images by C, within exactly the scratch that the network says it needs."""
    kept = [(layer.weights, layer.limits, layer.flips) for layer in network.layers]
    names = ("height", "width", "channels", "outputs", "groups", "size", "stride", "padding", "pool")
    layers = (CLayer * len(kept))(
        *(
            CLayer(*(int(getattr(layer, name)) for name in names), *(address(array) for array in arrays))
            for layer, arrays in zip(network.layers, kept, strict=True)
        )
    )
    sizes = network.scratch_words, network.map_words
    fields = CNetwork(layers, len(kept), network.colours, network.levels, address(network.pixel_levels), *sizes)
    scratch = np.full(network.scratch_words + 1, 0xDEADBEEF, dtype=np.uint32)
    out = np.full((len(images), -(-network.n_features // 32)), 0xDEADBEEF, dtype=np.uint32)
    for image, bits in zip(np.ascontiguousarray(images), out, strict=True):
        places = (pointer(address(array)) for array in (image, scratch))
        n = u32(network.scratch_words)
        status = library.bitreplay_embed(ctypes.byref(fields), *places, n, pointer(address(bits)))
        assert Status(status) is Status.OK
    assert scratch[-1] == 0xDEADBEEF
    return out
