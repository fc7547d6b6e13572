"""Known or unknown: the one place where the service decides that a picture shows no class it was taught.

The last step of images → features → bits → memory/head → **class**.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.classifier import GBMClassifier

__all__ = ["Decision", "decide"]

SURE = 0.6  # ours: below, the best class is hardly better than a coin; `reject` of the model's own file goes before


class Decision(NamedTuple):
    """What a classifier makes of some pictures: probabilities (N, classes), and whether it knows each of them."""

    classes: list[Any]
    probabilities: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]


def decide(classifier: GBMClassifier, features: npt.NDArray[np.float32]) -> Decision:
    """Probabilities of all classes, and which rows are none of them."""
    probabilities = classifier.predict_proba(features)
    known = probabilities.max(1) >= (SURE if classifier.reject is None else classifier.reject)
    return Decision(classifier.classes_.tolist(), probabilities, known)
