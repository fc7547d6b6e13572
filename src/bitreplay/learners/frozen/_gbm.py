"""GBM, the method of this library: a generative binary memory, and a head that decides from it.

It is made of the parts of :class:`bitreplay.GBMClassifier`. Here they learn from bits that were packed before, and
cached, and the head's options are chosen on task 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import effective_n_jobs

from bitreplay._floor.arguments import integer, one_of
from bitreplay.bits import PackedBits
from bitreplay.classifier._learning import remember, seed_for
from bitreplay.errors import InputError
from bitreplay.heads import Bayes, ClosedForm, Head, Replay
from bitreplay.learners.frozen._classifiers import ClassifierName
from bitreplay.learners.frozen._code import BinarizerName
from bitreplay.learners.frozen._held_out import hold_out
from bitreplay.learners.frozen._memory_head import MemoryAndHead
from bitreplay.learners.frozen._method import Labels
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import EMOptions
from bitreplay.mixture._options import Init, Objective, Weights

__all__ = ["GBM"]

HeadName = Literal["closed_form", "replay", "bayes"]
Choose = Literal["task0", "fixed"]

# What is tried on task 0's held-out samples; the accuracy is flat around its best, so few values do.
BLENDS = (0.5, 0.6, 0.7, 0.8, 0.9)
RIDGES = (0.02, 0.05, 0.1, 0.2)
CLAMPS = (0.02, 0.05, 0.08, 0.12, 0.2)


@dataclass(kw_only=True, eq=False)
class GBM(MemoryAndHead):
    """A Bernoulli mixture of every class in a few bits per value: K * D * q * n_c bits are kept.

    Parameters
    ----------
    prototypes : int
        K, prototypes per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    binarizer : {"thermometer", "heaviside"}
        What makes bits of the features of an encoder that was not trained with a binarizer.
    p, f : int
        Thermometer bits per feature; width factor of Heaviside.
    head : {"closed_form", "replay", "bayes"}
        How a decision is made from the memory: in closed form, by the paper's SGD on pseudo-exemplars, or by the
        mixtures' posterior.
    choose : {"task0", "fixed"}
        Choose `blend` and `ridge` of the closed form (or the clamp of the Bayes head) by the accuracy on a fifth of
        task 0's training samples, for which mixtures are fitted to the rest; or take the values given here.
    blend, ridge : float
        a and lam of the closed form where they are not chosen.
    classifier : {"linear", "hidden", "binary", "quicknet_tail"}
        What replay trains: a linear layer, one with hidden units, the classifier of the fully binary network, or the
        part of a QuickNet that follows the encoder's tap.
    epochs, min_steps : int
        Passes over the new samples in replay, and steps at least.
    batch_size : int
        Samples and pseudo-exemplars of a step in replay.
    learning_rate : float, optional
        Of replay; by default one that suits the classifier and its inputs.
    init : {"centroid", "random"}, optional
        Where EM starts: near the centroid of the class, or anywhere. By default as `em` says.
    weights : {"learned", "fixed"}, optional
        Learn the mixing weights, or keep them at 1/K. By default as `em` says.
    objective : {"likelihood", "expected"}, optional
        What starts are judged and EM is stopped by; "expected" is the paper's. By default as `em` says.
    em : EMOptions, optional
        How mixtures are fitted otherwise; `prototypes` decides their number.
    n_jobs : int, optional
        Threads of EM, as in scikit-learn: None means one, -1 all cores. Results do not depend on it.
    seed : int
        Of everything random.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=6, return_X_y=True)
    >>> method = GBM(prototypes=2, bits=3)
    >>> method.calibrate(X[y < 3])  # thresholds of the bits, once and for all; an encoder may bring its own
    >>> bits = method.code.pack(X)
    >>> for rows in (y < 3, y >= 3):  # two tasks; the samples of the first are gone in the second
    ...     method.partial_fit(bits[rows], y[rows])
    >>> bool((method.predict(bits) == y).mean() > 0.9), method.memory_bits() == 2 * 64 * 3 * 6
    (True, True)
    """

    prototypes: int = 8  # table 1, "K=8"
    bits: int = 3  # sec. 5.2, "for q >= 3, GBM outperforms LR"
    binarizer: BinarizerName = "thermometer"
    p: int = 1  # table 1: GBM^T_1 is the best configuration
    f: int = 2  # table 1: GBM^H_2
    head: HeadName = "closed_form"
    choose: Choose = "task0"
    blend: float = ClosedForm.blend
    ridge: float = ClosedForm.ridge
    classifier: ClassifierName = "linear"  # sec. 4
    epochs: int = Replay.epochs
    min_steps: int = Replay.min_steps
    batch_size: int = Replay.batch_size
    learning_rate: float | None = None
    init: Init | None = None
    weights: Weights | None = None
    objective: Objective | None = None
    em: EMOptions | None = None
    n_jobs: int | None = None
    seed: int = 0

    name: ClassVar[str] = "GBM"

    def __post_init__(self) -> None:
        integer("prototypes", self.prototypes, 1)
        BinaryMemory(self.bits)  # refuses bits out of range
        self._check_code_options()
        one_of("head", self.head, HeadName)
        one_of("choose", self.choose, Choose)
        if not isinstance(self.em, EMOptions | None):
            raise InputError(f"em must be EMOptions or None; got {self.em!r}")
        self._em_options()  # refuses words that do not exist
        integer("seed", self.seed, 0)
        self._check_replay_options()
        if self.classifier != "linear" and self.head != "replay":
            raise InputError(f"classifier={self.classifier} is trained by replay: it needs head=replay")
        self._fixed_head()  # refuses options out of range

    def _learn(self, X: PackedBits, y: Labels, new: Labels) -> dict[str, Any]:
        samples = _by_class(X, y - len(self.classes), new)
        if len(self.classes):
            previous, head = self.memory, self.decider
        else:
            previous = BinaryMemory(self.bits, self._fingerprint(X.n_features))
            head = self._chosen_head(previous, X, y, new)
        memory, gathered = self._remember(previous, samples)
        return {"memory": memory, "head": self._updated(head, memory, gathered)}

    def _remember(
        self, previous: BinaryMemory, samples: Mapping[Label, PackedBits]
    ) -> tuple[BinaryMemory, Mapping[Label, PackedBits]]:
        jobs = effective_n_jobs(self.n_jobs)
        return remember(previous, samples, self._em_options(), self.seed, len(previous), jobs)

    def _em_options(self) -> EMOptions:
        em = self.em or EMOptions()
        return replace(
            em,
            n_components=int(self.prototypes),
            init=self.init or em.init,
            weights=self.weights or em.weights,
            objective=self.objective or em.objective,
        )

    def _updated(self, head: Head, memory: BinaryMemory, samples: Mapping[Label, PackedBits]) -> Head:
        return head.update(memory, self._require_code(), samples, seed_for(self.seed, "head", len(self.classes)))

    # ------------------------------------------------------------------ the head's options

    def _fixed_head(self) -> Head:
        if self.head == "closed_form":
            return ClosedForm(self.blend, self.ridge)
        return self._replay() if self.head == "replay" else Bayes()

    def _candidates(self) -> list[Head]:
        if self.head == "closed_form":
            return [ClosedForm(blend, ridge) for blend, ridge in itertools.product(BLENDS, RIDGES)]
        return [Bayes(clamp) for clamp in CLAMPS] if self.head == "bayes" else []

    def _chosen_head(self, empty: BinaryMemory, X: PackedBits, y: Labels, new: Labels) -> Head:
        """The candidate that is right most often on held-out samples of task 0; its mixtures are fitted only once."""
        held = hold_out(y, self._generator(1))
        candidates = self._candidates() if self.choose == "task0" else []
        if not candidates or len(new) < 2 or not held.any():
            return self._fixed_head()
        memory, kept = self._remember(empty, _by_class(X[~held], y[~held], new))
        right = [(self._updated(head, memory, kept).scores(X[held]).argmax(1) == y[held]).mean() for head in candidates]
        return candidates[int(np.argmax(right))]


def _by_class(X: PackedBits, which: Labels, labels: Labels) -> dict[Label, PackedBits]:
    """Samples of every class by its label, in the order of the labels."""
    return {int(label): X[which == i] for i, label in enumerate(labels)}
