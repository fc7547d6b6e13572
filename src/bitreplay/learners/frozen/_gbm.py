"""GBM, the method of this library: a generative binary memory, and a head that decides from it.

Like :class:`bitreplay.GBMClassifier`, it wraps the core (:mod:`bitreplay.gbm`): with the same options and seed both
give the same answers. This one learns from packed and cached bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from bitreplay._floor.arguments import one_of
from bitreplay._floor.seeds import first_draw
from bitreplay.binarizers import BinarizerName
from bitreplay.bits import PackedBits
from bitreplay.errors import InputError
from bitreplay.gbm import GBMOptions, GBMState, Update
from bitreplay.heads import Bayes, ClosedForm, Head, Replay
from bitreplay.learners.frozen._architectures import Architecture
from bitreplay.learners.frozen._method import Labels
from bitreplay.learners.frozen._on_bits import MemoryAndHead
from bitreplay.memory import Prior
from bitreplay.mixture import EMOptions, Init, Objective, Weights

HeadName = Literal["closed_form", "replay", "bayes"]


@dataclass(kw_only=True, eq=False)
class GBM(MemoryAndHead):
    """A Bernoulli mixture of every class in a few bits per value: K * D * q * n_c bits are stored.

    Parameters
    ----------
    prototypes : int
        K, prototypes per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    binarizer : {"thermometer", "heaviside"}
        The binarizer for encoders that were not trained with one.
    p, f : int
        Thermometer bits per feature; width factor of Heaviside.
    head : {"closed_form", "replay", "bayes"}
        How a decision is made from the memory: in closed form, by the paper's SGD on pseudo-exemplars, or by the
        mixtures' posterior.
    blend, ridge : float, optional
        a and lam of the closed form. By default they are chosen on a fifth of task 0's samples.
    clamp : float, optional
        The same for the Bayes head.
    strength, offset : float, optional
        How classes of few samples are helped; a strength of 0 for not at all. By default as of the heads; replay has no
        offset.
    prior : {"balanced", "empirical"}
        Whether all classes are equally frequent, or as frequent as they had samples.
    architecture : {"linear", "hidden", "binary", "quicknet_tail"}
        What replay trains: a linear layer, one with hidden units, the classifier of the fully binary network, or the
        part of a QuickNet that follows the encoder's tap.
    epochs, min_steps : int
        Passes over the new samples in replay, and the minimum number of steps.
    batch_size : int
        Samples and pseudo-exemplars per step in replay.
    learning_rate : float, optional
        For replay; by default one that suits the architecture and its inputs.
    init : {"centroid", "random"}, optional
        Where EM starts: near the centroid of the class, or at random. By default as in `em`.
    weights : {"learned", "fixed"}, optional
        Learn the mixing weights, or keep them at 1/K. By default as in `em`.
    objective : {"likelihood", "expected"}, optional
        What selects the best start and stops EM; "expected" is the paper's. By default as in `em`.
    em : EMOptions, optional
        How mixtures are fitted otherwise; `prototypes` sets their number.
    update : {"online", "refit"}
        How known classes take more samples, in streams: by online EM, or by a refit to pseudo-exemplars.
    n_jobs : int, optional
        Threads of EM, as in scikit-learn: None means one, -1 all cores. Results do not depend on it.
    seed : int
        Seed for all randomness.

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

    prototypes: int = GBMOptions.prototypes
    bits: int = GBMOptions.bits
    binarizer: BinarizerName = "thermometer"
    p: int = 1  # table 1: GBM^T_1 is the best configuration
    f: int = 2  # table 1: GBM^H_2
    head: HeadName = "closed_form"
    blend: float | None = None
    ridge: float | None = None
    clamp: float | None = None
    strength: float | None = None
    offset: float | None = None
    prior: Prior = "balanced"
    architecture: Architecture = "linear"  # sec. 4
    epochs: int = Replay.epochs
    min_steps: int = Replay.min_steps
    batch_size: int = Replay.batch_size
    learning_rate: float | None = None
    init: Init | None = None
    weights: Weights | None = None
    objective: Objective | None = None
    em: EMOptions | None = None
    update: Update = GBMOptions.update
    n_jobs: int | None = None
    seed: int = 0

    name: ClassVar[str] = "GBM"
    VERSION: ClassVar[int] = 3  # streams: small classes keep their past, and are joined with what came since
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("head", self.head, HeadName)
        self._make_core()
        if self.architecture != "linear" and self.head != "replay":
            raise InputError(f"architecture={self.architecture} is trained by replay: it needs head=replay")

    def _options(self) -> GBMOptions:
        few: dict[str, Any] = {} if self.strength is None else {"strength": self.strength}
        few |= {"offset": self.offset, "prior": self.prior}
        heads: dict[HeadName, Head] = {
            "closed_form": ClosedForm(self.blend, self.ridge, **few),
            "replay": self._replay(),
            "bayes": Bayes(self.clamp, **few),
        }
        em = EMOptions() if self.em is None else self.em
        if not isinstance(em, EMOptions):
            raise InputError(f"em must be EMOptions or None; got {em!r}")
        em = replace(
            em,
            init=self.init or em.init,
            weights=self.weights or em.weights,
            objective=self.objective or em.objective,
        )
        calibrate = self.prior == "empirical"  # only classes are predicted: nothing else needs a temperature
        return GBMOptions(
            self.prototypes,
            self.bits,
            heads[self.head],
            em,
            calibrate=calibrate,
            update=self.update,
            n_jobs=self.n_jobs,
        )

    def _learn(self, X: PackedBits, y: Labels, new: Labels) -> dict[str, Any]:
        samples = self._by_label(X, y, new)
        return {"state": (self.state if len(self.classes) else self._empty(X.n_features)).learned(samples)}

    def _empty(self, n_bits: int) -> GBMState:
        code, fingerprint = self._require_code(), self._fingerprint(n_bits)
        return GBMState.empty(self.core, code, fingerprint, first_draw(self.seed))
