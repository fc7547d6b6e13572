"""Binary latent replay: packed embeddings of some samples of every class are kept and replayed (sec. 5.2 of the paper).

An exemplar is a prototype of one bit per value, so the memory is GBM's with E prototypes and q = 1: draws from
it are the exemplars themselves, and the layer is trained on them exactly as GBM's is on pseudo-exemplars.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, one_of
from bitreplay._floor.seeds import seed_for
from bitreplay.binarizers import BinarizerName
from bitreplay.bits import PackedBits, concatenate, pack, product, row_blocks
from bitreplay.gbm import GBMOptions, GBMState
from bitreplay.heads import Replay
from bitreplay.learners.frozen._architectures import Architecture
from bitreplay.learners.frozen._method import Labels
from bitreplay.learners.frozen._on_bits import MemoryAndHead
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import Mixture

Selection = Literal["random", "herding"]


@dataclass(kw_only=True, eq=False)
class LatentReplay(MemoryAndHead):
    """E packed embeddings per class: E * D * n_c bits are stored.

    Parameters
    ----------
    exemplars : int
        E, embeddings stored per class; all of them if a class has fewer samples.
    selection : {"random", "herding"}
        Which: random ones, or greedily those whose mean is closest to the mean of the class (iCaRL, Rebuffi et al.
        2017). In a stream they are always random, a reservoir of every class (Vitter 1985): each of its samples so far
        is kept with the same probability. There `epochs` and `min_steps` are those of every batch.
    binarizer : {"thermometer", "heaviside"}
        The binarizer for encoders that were not trained with one.
    p, f : int
        Thermometer bits per feature; width factor of Heaviside.
    architecture : {"linear", "hidden", "binary", "quicknet_tail"}
        What is trained: a linear layer, one with hidden units, the classifier of the fully binary network, or the part
        of a QuickNet that follows the encoder's tap.
    epochs, min_steps : int
        Passes over the new samples, and the minimum number of steps.
    batch_size : int
        Samples and exemplars per step.
    learning_rate : float, optional
        By default one that suits the architecture and its inputs.
    seed : int
        Determines which samples are stored, and their order in training.

    Examples
    --------
    The memory holds samples themselves, bit by bit:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=6, return_X_y=True)
    >>> method = LatentReplay(exemplars=20, epochs=1, min_steps=50)
    >>> method.calibrate(X[y < 3])
    >>> bits = method.code.pack(X)
    >>> for rows in (y < 3, y >= 3):  # two tasks
    ...     method.partial_fit(bits[rows], y[rows])
    >>> {*map(tuple, method.memory.mixture(2).prototypes)} <= {*map(tuple, bits[y == 2].unpack())}
    True
    >>> bool((method.predict(bits) == y).mean() > 0.8), method.memory_bits() == 20 * 64 * 6
    (True, True)
    """

    exemplars: int = 20  # the field's convention since LUCIR (Hou et al., CVPR 2019): 20 per class
    selection: Selection = "random"  # the paper does not say; Vorabbi et al. 2024 choose at random
    binarizer: BinarizerName = "thermometer"
    p: int = 1  # table 1: GBM^T_1 is the best configuration
    f: int = 2  # table 1: GBM^H_2
    architecture: Architecture = "linear"
    epochs: int = Replay.epochs  # as GBM's replay
    min_steps: int = Replay.min_steps
    batch_size: int = Replay.batch_size
    learning_rate: float | None = None
    seed: int = 0

    name: ClassVar[str] = "LatentReplay"
    VERSION: ClassVar[int] = 2  # its own learning rate
    # Ours: results/choices/replay_*.txt, on held-out samples of task 0; 0.1, which suits GBM, costs one or two points.
    linear_rate: ClassVar[float] = 0.03
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        integer("exemplars", self.exemplars, 1)
        one_of("selection", self.selection, Selection)
        self._make_core()

    def _options(self) -> GBMOptions:
        return GBMOptions(self.exemplars, 1, self._replay(), calibrate=False)

    def _learn(self, X: PackedBits, y: Labels, new: Labels) -> dict[str, Any]:
        known = len(self.classes)
        generator = self._generator()
        samples = self._by_label(X, y, new)
        code, fingerprint = self._require_code(), self._fingerprint(X.n_features)
        before = self.state if known else GBMState.empty(self.core, code, fingerprint, self.seed)
        memory = before.memory.copy()
        again = [label for label in samples if label in memory]
        memory.add_all({label: self._keep(bits, generator) for label, bits in samples.items() if label not in again})
        purpose = ["head", known, *([before.calls] if again else [])]
        if again:
            generator = np.random.default_rng(seed_for(self.seed, "reservoir", before.calls))
            memory.replace({label: self._kept_on(memory, label, samples[label], generator) for label in again})
            for label in again:  # the layer sees those from before, too
                earlier = pack(before.memory.mixture(label).prototypes)
                samples[label] = concatenate([earlier, samples[label]])
        head = before.head.update(memory, code, samples, seed_for(self.seed, *purpose))
        return {"state": replace(before, memory=memory, head=head, calls=before.calls + 1)}

    def _kept_on(self, memory: BinaryMemory, label: Label, bits: PackedBits, generator: np.random.Generator) -> Mixture:
        """A reservoir after more samples of its class."""
        kept, count = memory.mixture(label).prototypes, memory.count(label)
        rows = list(kept)
        for row in bits.unpack(np.float32):
            count += 1
            place = len(rows) if len(rows) < self.exemplars else int(generator.integers(count))
            if place < self.exemplars:
                rows[place : place + 1] = [row]
        return Mixture(np.stack(rows), np.full(len(rows), 1 / len(rows)), count)

    def _keep(self, bits: PackedBits, generator: np.random.Generator) -> Mixture:
        if self.selection == "herding":
            chosen = herd_bits(bits, self.exemplars)
        else:
            chosen = generator.permutation(len(bits))[: self.exemplars]
        return Mixture(bits[chosen].unpack(np.float32), np.full(len(chosen), 1 / len(chosen)), len(bits))


def herd_bits(bits: PackedBits, n: int) -> npt.NDArray[np.intp]:
    """Rows of at most `n` different samples, in the order in which herding selects them.

    Each is the one that brings the mean of those selected so far closest to the mean of all.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> herd_bits(pack([[1, 1, 0], [1, 1, 1], [1, 0, 1], [0, 1, 1]]), 2).tolist()
    [1, 0]
    """
    words = bits.words
    ones = np.bitwise_count(words).sum(1, dtype=np.int64)
    mean = sum(bits[rows].unpack(np.uint8).sum(0, dtype=np.int64) for rows in row_blocks(*bits.shape)) / len(bits)
    along = product(bits, np.asarray(mean, dtype=np.float32)[None])[:, 0]  # every sample times the mean
    shared = np.zeros(len(bits), dtype=np.int64)  # every sample times the sum of those taken: ones in common
    taken: list[int] = []
    for size in range(1, min(n, len(bits)) + 1):
        # |mean - (sum + x) / size|^2 is smallest where |x|^2 - 2 x (size * mean - sum) is; |x|^2 counts ones.
        distances = ones - 2 * (size * along - shared)
        distances[taken] = np.inf
        taken.append(int(distances.argmin()))
        shared += np.bitwise_count(words & words[taken[-1]]).sum(1, dtype=np.int64)
    return np.array(taken, dtype=np.intp)
