"""The bits of every class, and pseudo-exemplars from their mixtures, for the figures about embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bitreplay.binarizers import Binarizer, Thermometer
from bitreplay.bits import PackedBits
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import EMOptions
from bitreplay.runs import Prepared

Bits = npt.NDArray[np.uint8]
FLOAT32 = 32  # q: what is seen in a figure of mixtures should not be their quantisation


def class_bits(prepared: Prepared, part: Literal["train", "test"] = "train") -> dict[int, PackedBits]:
    """Packed bits of every class by its label, in learning order.

    If the encoder was not trained with a binarizer, one is calibrated on task 0, as GBM does.
    """
    encoder, scenario = prepared.encoder, prepared.scenario
    code: Binarizer | None = encoder.binarizer
    if code is None:
        code = Thermometer(prepared.setting.p, calibrated=True)
        code.calibrate(encoder.features(scenario[0].train))
    found: dict[int, PackedBits] = {}
    for task in scenario:
        samples = task.train if part == "train" else task.test
        bits = encoder.bits(samples, code)
        found |= {int(label): bits[samples.labels == label] for label in task.classes}
    return found


def remember(bits: Mapping[int, PackedBits], prototypes: int, seed: int, n_jobs: int = 1) -> BinaryMemory:
    """A memory of all classes with K prototypes each, fitted as GBM fits them."""
    memory = BinaryMemory(FLOAT32)
    named: dict[Any, PackedBits] = dict(bits)
    memory.enrol(named, EMOptions(n_components=prototypes), seed=seed, n_jobs=n_jobs)
    return memory


def draw(memory: BinaryMemory, label: int, n: int, seed: int) -> Bits:
    """Pseudo-exemplars of one class (n, D); they do not depend on which other classes are drawn."""
    bits, _ = memory.sample(n, [label], generator=np.random.default_rng([seed, label]))
    return np.asarray(bits)
