"""Known or unknown: the one place where the service decides that a picture shows no class it was taught.

The last step of images → features → bits → memory/head → **class**. A model that was calibrated decides itself
(`refuse`), and its file says the same everywhere. Until then, frames that were held back say how new known things look.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.classifier import GBMClassifier
from bitreplay.service._held_back import HeldBack

SURE = 0.5  # ours: below, all other classes together are likelier than the best
FEWEST = 8  # ours: held-back frames; the newest of fewer says little
MARGIN = 0.25  # ours: of the way from the middle to the newest; things look a little newer in another minute
FEWEST_TO_CALIBRATE = 10  # ours: below, one frame would decide how sure the model sounds
FEWEST_TO_REFUSE = 20  # what `refuse` needs
REFUSE = 0.01  # ours: frames held back are of the same minute as those learned, so that hardly one may be refused
OTHER_WORD = "(unknown)"  # for a model that has a class called unknown


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
