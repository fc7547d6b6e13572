"""Binary latent replay: packed embeddings of some samples of every class are kept and replayed (sec. 5.2 of the paper).

An exemplar is a prototype of one bit per value, so the memory is GBM's with E prototypes and q = 1: what is drawn from
it are the exemplars themselves, and the layer is trained on them exactly as GBM's is on pseudo-exemplars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bitreplay.bits import PackedBits
from bitreplay.classifier._learning import seed_for
from bitreplay.heads import Replay
from bitreplay.learners.frozen._code import BinarizerName
from bitreplay.learners.frozen._memory_head import MemoryAndHead
from bitreplay.learners.frozen._method import Labels, check_number
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import Mixture

__all__ = ["LatentReplay"]


@dataclass(kw_only=True, eq=False)
class LatentReplay(MemoryAndHead):
    """E packed embeddings per class, chosen at random: E * D * n_c bits are kept.

    Parameters
    ----------
    exemplars : int
        E, embeddings kept per class; all of them where a class has fewer samples.
    binarizer : {"thermometer", "heaviside"}
        What makes bits of the features of an encoder that was not trained with a binarizer.
    p, f : int
        Thermometer bits per feature; width factor of Heaviside.
    epochs : int
        Passes over the new samples.
    learning_rate : float
        Of SGD.
    seed : int
        Of which samples are kept, and of their order in training.
    """

    exemplars: int = 20  # the field's convention since LUCIR (Hou et al., CVPR 2019): 20 per class
    binarizer: BinarizerName = "thermometer"
    p: int = 1  # table 1: GBM^T_1 is the best configuration
    f: int = 2  # table 1: GBM^H_2
    epochs: int = Replay.epochs  # as GBM's replay
    learning_rate: float = Replay.lr
    seed: int = 0

    name: ClassVar[str] = "LatentReplay"

    def __post_init__(self) -> None:
        check_number("exemplars", self.exemplars, 1, whole=True)
        self._check_code_options()
        check_number("seed", self.seed, 0, whole=True)
        self._blank_head()  # refuses options out of range

    def _blank_head(self) -> Replay:
        return Replay(epochs=self.epochs, lr=self.learning_rate)

    def _learn(self, X: PackedBits, y: Labels, new: Labels) -> dict[str, Any]:
        known = len(self.classes)
        generator = self._generator()
        samples: dict[Label, PackedBits] = {int(label): X[y == known + i] for i, label in enumerate(new)}
        memory = self.memory.copy() if known else BinaryMemory(1, self._fingerprint(X.n_features))
        memory.add_all({label: self._keep(bits, generator) for label, bits in samples.items()})
        head = self.decider if known else self._blank_head()
        head = head.update(memory, self._require_code(), samples, seed_for(self.seed, "head", known))
        return {"memory": memory, "head": head}

    def _keep(self, bits: PackedBits, generator: np.random.Generator) -> Mixture:
        chosen = generator.permutation(len(bits))[: self.exemplars]
        return Mixture(bits[chosen].unpack(np.float32), np.full(len(chosen), 1 / len(chosen)), len(bits))
