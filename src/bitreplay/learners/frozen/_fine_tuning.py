"""Fine-tuning of the head, the lower bound: a linear layer keeps training on new data only, and forgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bitreplay.learners._learner import Arrays
from bitreplay.learners.frozen._linear_method import LinearMethod, scale_of
from bitreplay.learners.frozen._method import Labels


@dataclass(kw_only=True, eq=False)
class FineTuning(LinearMethod):
    """A linear layer that continues training on the new task alone. It stores nothing for old classes: 0 bits.

    Examples
    --------
    After a second task hardly any digit of the first is recognised:

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=6, return_X_y=True)
    >>> method = FineTuning(inputs="features")
    >>> for rows in (y < 3, y >= 3):  # two tasks
    ...     method.partial_fit(X[rows], y[rows])
    >>> bool((method.predict(X[y < 3]) == y[y < 3]).mean() < 0.1), method.memory_bits()
    (True, 0)
    """

    name: ClassVar[str] = "FineTuning"
    bound: ClassVar[str] = "lower bound: nothing is done against forgetting"
    decision_arrays: ClassVar[tuple[str, ...]] = ("weights", "biases")

    def _learn(self, X: Any, y: Labels, new: Labels) -> Arrays:
        known = len(self.classes)
        scale = float(self.learned["scale"]) if known else scale_of(X)
        start = (self.learned["weights"], self.learned["biases"]) if known else None
        weights, biases = self._train(self._rows(X, scale), y, start, known + len(new))
        return {"weights": weights, "biases": biases, "scale": np.array(scale)}
