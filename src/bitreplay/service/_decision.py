"""Known or unknown: the one place where the service decides that a picture shows no class it was taught.

A model that was calibrated decides itself (`refuse`), and its file says the same everywhere. Until then, frames that
were held back from learning say how new known things look. Their features live as long as the program, and are never
written anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.classifier import GBMClassifier
from bitreplay.memory import Label

Features = npt.NDArray[np.float32]

EVERY = 5  # ours: one frame of five is held back, as the classifier holds back a fifth where it chooses options
MOST = 64  # ours: of a class; at 1,280 features 320 KB
SURE = 0.5  # ours: below, all other classes together are likelier than the best
FEWEST = 8  # ours: held-back frames; the newest of fewer says little
MARGIN = 0.25  # ours: of the way from the middle to the newest; things look a little newer in another minute
FEWEST_TO_CALIBRATE = 10  # ours: below, one frame would decide how sure the model sounds
FEWEST_TO_REFUSE = 20  # what `refuse` needs
REFUSE = 0.01  # ours: frames held back are of the same minute as those learned, so that hardly one may be refused
OTHER_WORD = "(unknown)"  # for a model that has a class called unknown


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


class Decision(NamedTuple):
    """What a classifier makes of some pictures: probabilities (N, classes), and whether it knows each of them."""

    classes: list[Any]
    probabilities: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]


def decide(classifier: GBMClassifier, features: npt.NDArray[np.float32], newest: float | None = None) -> Decision:
    """Probabilities of all classes, and which rows are one of them; `newest` is how new known things may look."""
    probabilities = classifier.predict_proba(features)
    if classifier.refuse is not None or classifier.reject is not None:
        unknown = classifier.unknown
        if unknown is None:
            unknown = -1 if classifier.classes_.dtype.kind in "iufb" else "unknown"
        known = np.asarray(classifier.predict(features) != unknown, dtype=bool)
    else:
        known = probabilities.max(1) >= SURE
        if newest is not None:
            known &= classifier.novelty(features) <= newest
    return Decision(classifier.classes_.tolist(), probabilities, known)


def newest_known(classifier: GBMClassifier, held: HeldBack) -> float | None:
    """How new a known thing looks at most, by the frames held back; None if they are too few to tell."""
    mine = held.of(classifier.memory_.labels)
    if len(mine) < FEWEST:
        return None
    novelties = classifier.novelty(mine.together()[0])
    newest = float(novelties.max())
    return newest + MARGIN * (newest - float(np.median(novelties)))


def calibrated_on(classifier: GBMClassifier, held: HeldBack) -> None:
    """Let the frames held back decide how sure a classifier sounds and what it refuses, if all classes have some."""
    labels = classifier.memory_.labels
    if classifier.unknown is None and "unknown" in labels:
        classifier.unknown = OTHER_WORD
    mine = held.of(labels)
    fewest = FEWEST_TO_CALIBRATE if classifier.refuse is None else FEWEST_TO_REFUSE
    if len(labels) < 2 or len(mine) < fewest or len(mine.features) < len(labels):
        return
    classifier.calibrate(*mine.together())
    if classifier.refuse is None and classifier.reject is None and len(mine) >= FEWEST_TO_REFUSE:
        classifier.refuse = REFUSE
