"""GBMClassifier: binarizer, memory and head behind scikit-learn's classifier API.

It takes features from any encoder and learns new classes day by day, without keeping a sample:
images → features → **bits → memory/head → class**.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from bitreplay._floor.seeds import first_draw
from bitreplay._floor.threads import n_threads
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits
from bitreplay.classifier._checks import check_features, check_labels, check_reject, sorted_classes
from bitreplay.classifier._file import from_content, to_content
from bitreplay.classifier._learning import held_out_temperature, remember, seed_for
from bitreplay.classifier._parts import make_binarizer, make_head, make_options
from bitreplay.errors import InputError
from bitreplay.heads import Head, fit_temperature
from bitreplay.memory import BinaryMemory, Label, as_label, read_file, write_file
from bitreplay.memory._labels import label_array
from bitreplay.mixture import EMOptions

__all__ = ["GBMClassifier"]

Array = npt.NDArray[Any]


class GBMClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Class-incremental classifier with a generative binary memory.

    Parameters
    ----------
    prototypes : int
        K, prototypes per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    p : int
        Thermometer bits per feature.
    binarizer : {"thermometer", "identity"} or Binarizer
        "thermometer" puts thresholds at quantiles of the first call's features and then keeps them; "identity" is for
        embeddings that are bits already. A trained or shared binarizer can be given instead.
    head : {"closed_form", "replay", "bayes"} or Head
        How a decision is made from the memory: in closed form, by the paper's SGD on pseudo-exemplars, or by the
        mixtures' posterior.
    em : EMOptions, optional
        How mixtures are fitted; `prototypes` decides their number.
    reject : float, optional
        Answer `unknown` where the probability of the best class is below this. Probabilities are then calibrated on a
        fifth of the samples of the first call after which there are two classes; set later, call `calibrate`.
    unknown : label, optional
        What to answer then: "unknown" by default, or -1 where classes are numbers.
    encoder : str
        Name of the encoder; memories of different encoders refuse to be merged.
    random_state : int, RandomState or None
        Seed of everything random.
    n_jobs : int, optional
        Threads, as in scikit-learn: None means one, -1 all cores. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        Classes learned so far, sorted.
    memory_ : BinaryMemory
        All that is kept of them.
    head_ : Head
        The head that was computed from the memory.
    binarizer_ : Binarizer
        With the thresholds of the first call.
    temperature_ : float or None
        What scores are divided by before they become probabilities; None until calibrated.
    n_features_in_, feature_names_in_
        As in every scikit-learn estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> old, new = y < 5, y >= 5
    >>> clf = GBMClassifier(prototypes=4, p=4, random_state=0)
    >>> clf = clf.partial_fit(X[old], y[old])       # today
    >>> clf = clf.partial_fit(X[new], y[new])       # tomorrow: the old samples are gone
    >>> clf.score(X, y) > 0.95
    True
    >>> clf.memory_
    BinaryMemory(10 classes, D=256, q=3, 3,840 bytes)
    >>> clf.forget(3).classes_
    array([0, 1, 2, 4, 5, 6, 7, 8, 9])
    """

    classes_: Array
    memory_: BinaryMemory
    head_: Head
    binarizer_: Binarizer
    temperature_: float | None
    seed_: int
    n_calls_: int
    n_features_in_: int
    feature_names_in_: Array

    def __init__(
        self,
        prototypes: int = 8,  # table 1, "K=8"
        bits: int = 3,  # sec. 5.2, "for q >= 3, GBM outperforms LR"
        *,
        p: int = 1,  # table 1: GBM^T_1 is the best configuration
        binarizer: str | Binarizer = "thermometer",
        head: str | Head = "closed_form",
        em: EMOptions | None = None,
        reject: float | None = None,
        unknown: Label | None = None,
        encoder: str = "",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.prototypes = prototypes
        self.bits = bits
        self.p = p
        self.binarizer = binarizer
        self.head = head
        self.em = em
        self.reject = reject
        self.unknown = unknown
        self.encoder = encoder
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any) -> GBMClassifier:
        """Forget everything and learn the classes of (X, y)."""
        return self._learn(X, y, None, first=True)

    def partial_fit(self, X: Any, y: Any, classes: Iterable[Label] | None = None) -> GBMClassifier:
        """Learn new classes, or more samples of known ones, without the samples of earlier calls.

        Parameters
        ----------
        X : array-like or tensor of shape (n, d)
            Features. The first call calibrates the thresholds on them.
        y : array-like of shape (n,)
            Labels: text or numbers.
        classes : array-like, optional
            If given, labels outside it are refused. New classes need no announcement.

        Notes
        -----
        Further samples of a known class: its mixture is fitted anew to them together with as many pseudo-exemplars as
        the class had samples.
        """
        return self._learn(X, y, classes, first=not hasattr(self, "memory_"))

    def _learn(self, X: Any, y: Any, classes: Iterable[Label] | None, *, first: bool) -> GBMClassifier:
        options = make_options(self.em, self.prototypes)
        check_reject(self.reject)
        n_jobs = n_threads(self.n_jobs)
        before = dict(self.__dict__)
        try:
            features = check_features(self, X, reset=first)
            labels, which = check_labels(y, len(features), () if first else self.memory_.labels, classes)
            seed = first_draw(self.random_state) if first else self.seed_
            calls = 0 if first else self.n_calls_
            binarizer = make_binarizer(self.binarizer, self.p, features) if first else self.binarizer_
            bits = features if isinstance(features, PackedBits) else binarizer.pack(features)
            width = features.shape[1]
            previous = BinaryMemory(self.bits, binarizer.fingerprint(width, self.encoder)) if first else self.memory_
            head = make_head(self.head) if first else self.head_
            samples = {label: bits[np.flatnonzero(which == i)] for i, label in enumerate(labels)}

            temperature = None if first else self.temperature_
            if self.reject is not None and temperature is None:
                how = (options, seed, calls, n_jobs)
                temperature = held_out_temperature(previous, binarizer, head, samples, *how)
            memory, gathered = remember(previous, samples, options, seed, calls, n_jobs)
            head = head.update(memory, binarizer, gathered, seed_for(seed, "head", calls))
            learned = sorted_classes(memory.labels)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.seed_, self.n_calls_ = seed, calls + 1
        self.binarizer_, self.memory_, self.head_, self.temperature_ = binarizer, memory, head, temperature
        self.classes_ = learned
        return self

    def forget(self, label: Label) -> GBMClassifier:
        """Remove a class: its prototypes, count and label; the head is computed again from what is left.

        The thresholds stay: they were calibrated on the first call's samples, of which the class may have been a part.
        """
        check_is_fitted(self)
        memory = self.memory_.copy()
        memory.remove(as_label(label))
        if not len(memory):
            raise InputError(f"class {label!r} is the only one; a classifier needs at least one class")
        return self._recompute(memory)

    def merge(self, memory: BinaryMemory) -> GBMClassifier:
        """Take over the classes of another device's memory, which must have been made with the same thresholds."""
        check_is_fitted(self)
        merged = self.memory_.copy()
        merged.merge(memory, self.prototypes)
        return self._recompute(merged)

    def _recompute(self, memory: BinaryMemory) -> GBMClassifier:
        """Take another memory and compute the head from it alone."""
        classes = sorted_classes(memory.labels)
        self.head_ = self.head_.fit(memory, self.binarizer_, seed_for(self.seed_, "head", self.n_calls_))
        self.memory_, self.n_calls_, self.classes_ = memory, self.n_calls_ + 1, classes
        return self

    def calibrate(self, X: Any, y: Any) -> GBMClassifier:
        """Choose the temperature of probabilities on held-out samples of known classes."""
        check_is_fitted(self)
        features = check_features(self, X, reset=False)
        labels, which = check_labels(y, len(features), self.memory_.labels, self.memory_.labels)
        targets = np.array([self.memory_.labels.index(label) for label in labels])[which]
        self.temperature_ = fit_temperature(self.head_.scores(self._bits(features)), targets)
        return self

    # ------------------------------------------------------------------ deciding

    def predict(self, X: Any) -> Array:
        """The class of every sample, or `unknown` where `reject` says so."""
        check_reject(self.reject)
        scores = self._scores(X)
        best = scores.argmax(1)
        if self.reject is None:
            return np.asarray(self.classes_[best])
        confidence = np.exp(log_softmax(scores / (self.temperature_ or 1.0), axis=1).max(1))
        unknown = self.unknown
        if unknown is None:
            unknown = -1 if self.classes_.dtype.kind in "iufb" else "unknown"
        if unknown in self.classes_.tolist():
            raise InputError(f"{unknown!r} is a class and cannot also mean unknown: choose another label for `unknown`")
        answers = label_array([*self.classes_.tolist(), as_label(unknown)])
        return np.asarray(answers[np.where(confidence < self.reject, len(self.classes_), best)])

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class, in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of the probabilities."""
        return np.asarray(log_softmax(self._scores(X) / (self.temperature_ or 1.0), axis=1))

    def decision_function(self, X: Any) -> Array:
        """Score of every class; with two classes, how much the second is ahead of the first."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        scores = self.head_.scores(self._bits(check_features(self, X, reset=False)))
        return scores[:, np.argsort(label_array(self.memory_.labels))]

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that is needed to go on elsewhere to one safetensors file (docs/format.md), atomically."""
        check_is_fitted(self)
        write_file(path, "classifier", *to_content(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, head: Head | None = None) -> GBMClassifier:
        """Read a classifier. A replay head with a module of the user's own needs that head as an argument again."""
        return from_content(cls, *read_file(path), os.fspath(path), head)

    def _bits(self, features: Array | PackedBits) -> PackedBits:
        return features if isinstance(features, PackedBits) else self.binarizer_.pack(features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's test problem has two features. With one bit each that is four distinguishable points for three
        # classes.
        tags.classifier_tags.poor_score = self.binarizer == "thermometer" and self.p in (1, 2, 3)
        return tags
