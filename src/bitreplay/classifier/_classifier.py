"""GBMClassifier: binarizer, memory and head behind scikit-learn's classifier API.

It takes features from any encoder and learns new classes over time, without keeping any sample:
images → features → **bits → memory/head → class**.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from bitreplay._floor.container import Tensors, read_file, write_file
from bitreplay._floor.seeds import first_draw
from bitreplay.binarizers import Binarizer, BinarizerName, Identity, calibrated_binarizer
from bitreplay.bits import PackedBits
from bitreplay.classifier._checks import by_class, check_features, check_labels, input_of
from bitreplay.classifier._file import from_content, to_content
from bitreplay.classifier._fitted import Fitted, FittedAttributes
from bitreplay.classifier._novelty import NoveltyMethods
from bitreplay.classifier._refusal import answers_or_unknown, check_refusal, warn_of_reject
from bitreplay.classifier._suggest import Suggesting
from bitreplay.gbm import GBMOptions, GBMState, RefuseBy, Update
from bitreplay.heads import Head
from bitreplay.memory import BinaryMemory, Label
from bitreplay.mixture import EMOptions

Array = npt.NDArray[Any]


class GBMClassifier(FittedAttributes, Suggesting, NoveltyMethods, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Class-incremental classifier with a generative binary memory.

    Any number of threads may predict and save beside one that learns: each answer is that of a state that existed,
    before or after a call, never in between. Threads that learn queue. Copies and pickles have a lock of their own.

    Parameters
    ----------
    prototypes : int
        K, prototypes per class.
    bits : int
        q, bits per stored value: 1 to 16, or 32 for float32.
    p : int
        Thermometer bits per feature.
    binarizer : {"thermometer", "heaviside", "identity", "native"} or Binarizer
        "thermometer" puts thresholds at quantiles of the first call's features and then keeps them; "heaviside" does so
        with random projections of them; "identity" is for embeddings that are already bits, "native" for ±1. A trained
        or shared binarizer can be given instead.
    head : {"closed_form", "replay", "bayes"} or Head
        How a decision is made from the memory: in closed form, by the paper's SGD on pseudo-exemplars, or by the
        mixtures' posterior. Options that a head leaves open are chosen on a fifth of the first call's samples.
    em : EMOptions, optional
        How mixtures are fitted; `prototypes` sets their number.
    refuse : float, optional
        The share of samples of known classes that one is willing to refuse: `predict` answers `unknown` where a sample
        looks newer than all but this share of them. Calibrated on samples held out in the first calls.
    refuse_by : {"novelty", "probability", "both"}
        What makes a sample look new: how little speaks for its best class compared with what speaks for that class's
        own samples (see `novelty`), how little more probable that class is than the others, or the worse of the two.
    reject : float, optional
        Deprecated: answer `unknown` if the probability of the best class is below this. How many known samples that
        refuses, nobody knows; use `refuse`.
    unknown : label, optional
        What to answer then: "unknown" by default, or -1 if classes are numbers.
    update : {"online", "refit"}
        How known classes take more samples: by online EM, whose time is in proportion to those samples, with finer
        statistics beside the memory until :meth:`settle`; or by a refit to pseudo-exemplars and the new samples.
    encoder_name : str
        Name of the encoder; memories of different encoders refuse to be merged.
    random_state : int, RandomState or None
        Seed for all randomness.
    n_jobs : int, optional
        Threads, as in scikit-learn: None means one, -1 all cores. Results do not depend on it.

    Attributes
    ----------
    classes_ : ndarray
        Classes learned so far, sorted.
    memory_ : BinaryMemory
        Everything stored about them.
    head_ : Head
        The head computed from the memory, with its chosen options.
    binarizer_ : Binarizer
        With the thresholds of the first call.
    temperature_ : float or None
        Divisor of the scores before they become probabilities; None until calibrated.
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

    def __init__(
        self,
        prototypes: int = GBMOptions.prototypes,
        bits: int = GBMOptions.bits,
        *,
        p: int = 1,  # table 1: GBM^T_1 is the best configuration
        binarizer: BinarizerName | Binarizer = "thermometer",
        head: str | Head = GBMOptions.head,
        em: EMOptions | None = None,
        refuse: float | None = None,
        refuse_by: RefuseBy = "novelty",  # ours: benchmarks/unknown.py
        reject: float | None = None,
        unknown: Label | None = None,
        update: Update = GBMOptions.update,
        encoder_name: str = "",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.prototypes = prototypes
        self.bits = bits
        self.p = p
        self.binarizer = binarizer
        self.head = head
        self.em = em
        self.refuse = refuse
        self.refuse_by = refuse_by
        self.reject = reject
        self.unknown = unknown
        self.update = update
        self.encoder_name = encoder_name
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------ learning

    def fit(self, X: Any, y: Any) -> GBMClassifier:
        """Forget everything and learn the classes of (X, y)."""
        with self._writing():
            return self._learn(X, y, None, None)

    def partial_fit(self, X: Any, y: Any, classes: Iterable[Label] | None = None) -> GBMClassifier:
        """Learn new classes, or more samples of known ones, without the samples of earlier calls.

        Parameters
        ----------
        X : array-like or tensor of shape (n, d)
            Features. The first call calibrates the thresholds on them.
        y : array-like of shape (n,)
            Labels: text or numbers.
        classes : array-like, optional
            If given, other labels are refused. New classes need not be announced.

        Notes
        -----
        More samples of a known class move its prototypes by online EM; it may come one sample at a time from its first.
        Meanwhile it keeps finer statistics than q bits and, if it was small, the bits of the samples that came since,
        until these are 20 times `prototypes`: see :meth:`settle`. `bits`, `p`, `binarizer` and `head` stay those of the
        first call, whatever `set_params` says later.
        """
        with self._writing():
            return self._learn(X, y, classes, self._fitted)

    def _learn(self, X: Any, y: Any, classes: Iterable[Label] | None, before: Fitted | None) -> GBMClassifier:
        check_refusal(self)
        warn_of_reject(self)
        options = GBMOptions(self.prototypes, self.bits, self.head, self.em, update=self.update, n_jobs=self.n_jobs)
        if before is None:
            features, width, names = input_of(X, takes_bits=self._takes_bits())
            labels, which = check_labels(y, len(features), (), classes)
            binarizer: Binarizer = Identity()
            seed = first_draw(self.random_state)
            if not isinstance(features, PackedBits):
                binarizer = calibrated_binarizer(self.binarizer, features, p=self.p, seed=seed)
            fingerprint = binarizer.fingerprint(width, self.encoder_name)
            state = GBMState.empty(options, binarizer, fingerprint, seed)
            before = Fitted(state, width, names)
        else:
            features = check_features(X, before, takes_bits=self._takes_bits(before))
            labels, which = check_labels(y, len(features), before.state.labels, classes)
        bits = before.bits(features)
        self._fitted = before.with_state(before.state.with_options(options).learned(by_class(bits, labels, which)))
        return self

    def forget(self, label: Label) -> GBMClassifier:
        """Remove a class: its prototypes, count and label; the head is recomputed from the rest.

        Thresholds, the head's options and the temperature stay: they were chosen on the first call's samples, which
        may have included the class.
        """
        with self._writing():
            fitted = self._now()
            self._fitted = fitted.with_state(fitted.state.without(label))
            return self

    def settle(self) -> GBMClassifier:
        """Bring all classes to rest: round statistics to q bits, and drop what classes in motion keep besides.

        It never happens by itself, except to a class that a large call joins or that both sides of a merge know.
        """
        with self._writing():
            fitted = self._now()
            self._fitted = fitted.with_state(fitted.state.settled())
            return self

    def merge(self, memory: BinaryMemory) -> GBMClassifier:
        """Add the classes of another device's memory, which must have been made with the same thresholds."""
        with self._writing():
            fitted = self._now()
            self._fitted = fitted.with_state(fitted.state.merged(memory))
            return self

    def calibrate(self, X: Any, y: Any) -> GBMClassifier:
        """Choose the temperature of probabilities on held-out samples of known classes, and see how new they look.

        What earlier calls held out for `refuse` is replaced by these samples, if there are at least 20.
        """
        with self._writing():
            fitted = self._now()
            state = fitted.state
            features = check_features(X, fitted, takes_bits=self._takes_bits(fitted))
            labels, which = check_labels(y, len(features), state.labels, state.labels)
            samples = by_class(fitted.bits(features), labels, which)
            self._fitted = fitted.with_state(state.calibrated(samples))
            return self

    # ------------------------------------------------------------------ deciding

    def predict(self, X: Any) -> Array:
        """The class of every sample, or `unknown` where it is refused."""
        check_refusal(self)
        fitted = self._now()
        features = check_features(X, fitted, takes_bits=self._takes_bits(fitted))
        if self.refuse is None and self.reject is None:
            return np.asarray(fitted.classes[fitted.best(features)])
        return answers_or_unknown(self, fitted, features)

    def predict_proba(self, X: Any) -> Array:
        """Probability of every class, in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithm of the probabilities."""
        fitted = self._now()
        return np.asarray(log_softmax(self._scores(X, fitted) / (fitted.state.temperature or 1.0), axis=1))

    def decision_function(self, X: Any) -> Array:
        """Score of every class; with two classes, the second's score minus the first's."""
        scores = self._scores(X, self._now())
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _scores(self, X: Any, fitted: Fitted) -> Array:
        return fitted.scores(check_features(X, fitted, takes_bits=self._takes_bits(fitted)))

    # ------------------------------------------------------------------ files and state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything needed to continue elsewhere to one safetensors file (docs/format.md), atomically."""
        write_file(path, "classifier", *self.to_content())

    def to_content(self) -> tuple[dict[str, Any], Tensors]:
        """The classifier as JSON content and tensors, for a file."""
        return to_content(self, self._now())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, head: Head | None = None) -> GBMClassifier:
        """Read a classifier. A replay head with a custom module must be passed again."""
        return cls.from_content(*read_file(path), os.fspath(path), head=head)

    @classmethod
    def from_content(
        cls, content: Mapping[str, Any], tensors: Tensors, name: str, *, head: Head | None = None
    ) -> GBMClassifier:
        """Rebuild a classifier from the output of :meth:`to_content`; `name` is the file's, for messages."""
        options, fitted = from_content(content, tensors, name, head)
        clf = cls(**options)
        clf._fitted = fitted
        return clf

    def _takes_bits(self, fitted: Fitted | None = None) -> bool:
        binarizer = self.binarizer if fitted is None else fitted.state.binarizer
        return isinstance(binarizer, Identity) or (isinstance(binarizer, str) and binarizer == "identity")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # scikit-learn's test problem has two features: with one bit each, four points for three classes.
        tags.classifier_tags.poor_score = self.binarizer == "thermometer" and self.p in (1, 2, 3)
        return tags
