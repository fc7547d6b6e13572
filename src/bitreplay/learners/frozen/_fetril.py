"""FeTrIL (Petit et al., WACV 2023): pseudo-features of past classes by translation, and a linear classifier on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import number, one_of
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._linear import Layer, count_steps, linear_scores, shuffled_batches, train_linear
from bitreplay.learners.frozen._linear_method import check_training_options
from bitreplay.learners.frozen._linear_svc import train_linear_svc
from bitreplay.learners.frozen._method import Features, FrozenMethod, Labels
from bitreplay.learners.frozen._nearest_mean import class_means
from bitreplay.learners.frozen._translated import Translated

Classifier = Literal["svc", "fc"]


@dataclass(kw_only=True, eq=False)
class FeTrIL(FrozenMethod):
    """A linear classifier on new samples and on samples translated to the means of past classes.

    It stores one float mean per class: n_c * d * 32 bits.

    Parameters
    ----------
    classifier : {"svc", "fc"}
        One-vs-rest linear support vector machines on samples of length 1, trained afresh in every task, as published;
        or a layer that continues training by SGD with PyCIL's options, on unscaled samples (the paper's layer has
        samples of length 1 and another schedule).
    C, tol : float
        Options of the support vector machines, as in scikit-learn's LinearSVC.
    epochs, batch_size : int
        For SGD: passes over the samples, and samples per step.
    learning_rate, weight_decay : float
        For SGD with momentum 0.9; the rate decays to 0 along a cosine.
    seed : int
        Order of the samples in SGD.

    Examples
    --------
    No old sample is kept, and still old digits are told from new ones:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=6, return_X_y=True)
    >>> method = FeTrIL()
    >>> for rows in (y < 3, y >= 3):  # two tasks
    ...     method.partial_fit(X[rows], y[rows])
    >>> bool((method.predict(X[y < 3]) == y[y < 3]).mean() > 0.8), method.memory_bits() == 6 * 64 * 32
    (True, True)
    """

    classifier: Classifier = "svc"  # the paper's main variant, table 1
    C: float = 1.0  # released code: regul of configs/*.cf, LinearSVC(penalty="l2", dual=False)
    tol: float = 1e-4  # released code: toler of configs/*.cf
    epochs: int = 50  # sec. 4 of the paper, and PyCIL, exps/fetril.json
    batch_size: int = 128  # PyCIL, exps/fetril.json
    learning_rate: float = 0.05  # PyCIL, exps/fetril.json; the paper: 0.1, x0.1 with a patience of 10 epochs
    weight_decay: float = 5e-4  # PyCIL, exps/fetril.json
    seed: int = 0

    name: ClassVar[str] = "FeTrIL"
    memory_arrays: ClassVar[tuple[str, ...]] = ("means",)
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def __post_init__(self) -> None:
        one_of("classifier", self.classifier, Classifier)
        number("C", self.C, above=0)
        number("tol", self.tol, above=0)
        check_training_options(self)

    @property
    def random(self) -> bool:
        """Whether the result depends on the seed."""
        return self.classifier == "fc"

    def _learn(self, X: Features, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        means = class_means(X, y - known, len(new))
        if known:
            means = np.concatenate([self.learned["means"], means])
        rows = Translated(X, y, means, known)
        weights, biases = self._train_svc(rows) if self.classifier == "svc" else self._train_fc(rows)
        return {"means": means, "weights": weights, "biases": biases}

    def _train_svc(self, rows: Translated) -> Layer:
        lengths = rows.lengths()
        scale = np.asarray(1 / np.where(lengths > 0, lengths, 1), dtype=np.float32)
        return train_linear_svc(rows, scale, rows.targets, rows.shifts.shape, C=self.C, tol=self.tol)

    def _train_fc(self, rows: Translated) -> Layer:
        start = (self.learned["weights"], self.learned["biases"]) if len(self.classes) else None
        n_steps = count_steps(len(rows), self.batch_size, self.epochs)
        batches = shuffled_batches(rows, rows.targets, self.batch_size, n_steps, self._generator())
        options = {"learning_rate": self.learning_rate, "weight_decay": self.weight_decay}
        return train_linear(start, rows.shifts.shape, batches, n_steps, **options)

    def _scores(self, X: Features) -> npt.NDArray[np.float32]:
        weights, biases = self.learned["weights"], self.learned["biases"]
        if self.classifier == "fc":
            return linear_scores(X, (weights, biases))
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return np.asarray(X @ weights.T / np.where(lengths > 0, lengths, 1) + biases)
