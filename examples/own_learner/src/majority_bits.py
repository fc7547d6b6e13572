"""MajorityBits: keep of every class what most of its samples have, bit by bit, and answer with the nearest class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bitreplay.binarizers import BinarizerName
from bitreplay.errors import InputError
from bitreplay.learners import OnBits


@dataclass(kw_only=True, eq=False)
class MajorityBits(OnBits):
    """What most samples of a class have, for every bit of the embedding; counted as it is stored, in a byte each.

    Parameters
    ----------
    binarizer : {"thermometer", "heaviside"}
        What makes bits of the features of an encoder that was not trained with a binarizer.
    p, f : int
        Thermometer bits per feature; width factor of Heaviside.
    seed : int
        Of a random Heaviside projection; nothing else is random.
    """

    binarizer: BinarizerName = "thermometer"
    p: int = 1
    f: int = 2
    seed: int = 0

    name: ClassVar[str] = "MajorityBits"
    memory_arrays: ClassVar[tuple[str, ...]] = ("majority",)  # uint8, counted as it is stored
    decision_arrays: ClassVar[tuple[str, ...]] = ("majority",)

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise InputError(f"seed must be at least 0; got {self.seed}")

    @property
    def random(self) -> bool:
        """Only a projection that nobody trained is drawn."""
        return self.binarizer == "heaviside"

    def _learn(self, X: Any, y: Any, new: Any) -> dict[str, Any]:
        """What is kept after the new classes; `y` are their places among all classes, and nothing is changed here."""
        bits, known = X.unpack(), len(self.classes)
        rows = [bits[y == known + i].mean(axis=0) >= 0.5 for i in range(len(new))]
        old = self.learned["majority"] if known else np.empty((0, bits.shape[1]), dtype=np.uint8)
        return {"majority": np.concatenate([old, np.array(rows, dtype=np.uint8)])}

    def _scores(self, X: Any) -> Any:
        majority = self.learned["majority"].astype(np.float32)
        bits = X.unpack(np.float32)
        return -(bits @ (1 - majority).T + (1 - bits) @ majority.T)  # minus the bits that differ
