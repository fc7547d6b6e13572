"""Frames that were held back from learning: the features of a few per class, to say how well the model does.

They live as long as the program and are never written anywhere. images → **features** → bits → memory/head → class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.classifier import GBMClassifier
from bitreplay.memory import Label

Features = npt.NDArray[np.float32]

EVERY = 5  # ours: one frame of five is held back, as the classifier holds back a fifth where it chooses options
MOST = 64  # ours: of a class; at 1,280 features 320 KB


def split(count: int) -> npt.NDArray[np.bool_]:
    """Which of the frames of a call are held back: every fifth, spread over the time they were taken in.

    Examples
    --------
    >>> split(7).astype(int).tolist(), split(4).astype(int).tolist()
    ([0, 0, 1, 0, 0, 0, 0], [0, 0, 0, 0])
    """
    whole = count - count % EVERY
    return np.array([place < whole and place % EVERY == EVERY // 2 for place in range(count)], dtype=bool)


@dataclass(frozen=True)
class HeldBack:
    """Features by class. Never changed: a change makes another one."""

    features: Mapping[Label, Features] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(map(len, self.features.values()))

    def with_more(self, label: Label, features: Features) -> HeldBack:
        """After more frames of a class; the latest are kept."""
        if not len(features):
            return self
        known = self.features.get(label)
        both = features if known is None else np.concatenate([known, features])
        return HeldBack({**self.features, label: both[-MOST:]})

    def of(self, labels: tuple[Label, ...]) -> HeldBack:
        """Only the frames of these classes."""
        return HeldBack({label: rows for label, rows in self.features.items() if label in labels})

    def together(self) -> tuple[Features, list[Label]]:
        """All features, and the label of each."""
        labels = [label for label, rows in self.features.items() for _ in rows]
        return np.concatenate([*self.features.values()]), labels

    def judged(self, classifier: GBMClassifier) -> dict[Label, tuple[int, int]]:
        """For every class: frames that are recognised, and all of them."""
        if not len(self):
            return {}
        features, labels = self.together()
        best: Any = classifier.classes_[classifier.predict_proba(features).argmax(1)].tolist()
        right = [answer == label for answer, label in zip(best, labels, strict=True)]
        return {
            label: (sum(hit for hit, one in zip(right, labels, strict=True) if one == label), len(rows))
            for label, rows in self.features.items()
        }
