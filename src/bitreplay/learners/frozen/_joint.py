"""Joint training of the head, the upper bound of a linear layer on a frozen encoder: it stores all data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bitreplay.bits import PackedBits
from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._linear_method import LinearMethod, scale_of
from bitreplay.learners.frozen._method import Labels


@dataclass(kw_only=True, eq=False)
class Joint(LinearMethod):
    """A linear layer trained from scratch on all samples so far, in every task. Not incremental: it stores them all.

    Its memory is therefore N * D bits, or N * d * 32 for features.

    Examples
    --------
    Old classes are not forgotten, as every sample is kept:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=6, return_X_y=True)
    >>> method = Joint(inputs="features")
    >>> for rows in (y < 3, y >= 3):  # two tasks
    ...     method.partial_fit(X[rows], y[rows])
    >>> bool((method.predict(X) == y).mean() > 0.9), method.memory_bits() == len(X) * 64 * 32
    (True, True)
    """

    name: ClassVar[str] = "Joint"
    bound: ClassVar[str] = "upper bound: it keeps all training data"
    memory_arrays: ClassVar[tuple[str, ...]] = ("samples",)
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def _learn(self, X: Any, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        samples = X.data if isinstance(X, PackedBits) else X
        scale = float(self.learned["scale"]) if known else scale_of(X)
        samples = np.concatenate([self.learned["samples"], samples] if known else [samples])  # a copy in any case
        y = np.concatenate([self.learned["targets"], y] if known else [y])
        everything = PackedBits(samples, X.n_features) if isinstance(X, PackedBits) else samples
        weights, biases = self._train(self._rows(everything, scale), y, None, known + len(new))
        return {"weights": weights, "biases": biases, "scale": np.array(scale), "samples": samples, "targets": y}

    def memory_bits(self) -> int:
        """All samples; the padding of packed rows is not counted."""
        if self.uses == "features" or not len(self.classes):
            return super().memory_bits()
        return len(self.learned["samples"]) * self.n_features
