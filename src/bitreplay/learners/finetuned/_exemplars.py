"""Exemplars: a few training images of every class, stored for replay.

iCaRL, EEIL and LUCIR share them. They are chosen by herding (Welling 2009, as in iCaRL, algorithm 4), and counted in
bits like every memory: height x width x channels x 8 for an image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.learners._learner import Arrays
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.frozen._nearest_mean import unit


def herd(features: npt.NDArray[np.floating], n: int) -> npt.NDArray[np.int64]:
    """Which samples of a class to keep: each next one brings the mean of those kept closest to the mean of all.

    They are in the order in which they were chosen: the first m are the result of herding m. iCaRL's features have
    length 1.

    Examples
    --------
    >>> herd(np.array([[0.0], [1.0], [2.0], [9.0]]), 2).tolist()  # the mean is 3: first 2, then 2 and 1 or 9
    [2, 1]
    """
    features = np.asarray(features, dtype=np.float64)
    mean, total = features.mean(axis=0), np.zeros(features.shape[1])
    left = np.ones(len(features), dtype=np.bool_)
    chosen = []
    for kept in range(1, min(n, len(features)) + 1):
        distances = np.square(mean - (total + features) / kept).sum(axis=1)
        best = int(np.argmin(np.where(left, distances, np.inf)))
        chosen.append(best)
        left[best] = False
        total += features[best]
    return np.array(chosen, dtype=np.int64)


@dataclass(kw_only=True, eq=False)
class WithExemplars(FineTunedLearner):
    """Base of the methods that keep exemplars; those of a class are chosen once, when it is learned."""

    exemplars: int = 20  # E=20 in table 1 of the GBM paper; LUCIR, sec. 4.1

    memory_arrays = ("exemplars",)

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("exemplars", self.exemplars, 1)

    def _with_exemplars(self, images: Images, targets: Labels) -> tuple[Images, Labels]:
        """Samples of new classes, followed by the exemplars of old ones."""
        if not self.known:
            return images, targets
        kept = self.kept["exemplars"], self.kept["exemplar_targets"]
        return np.concatenate([images, kept[0]]), np.concatenate([targets, kept[1]])

    def _chosen(self, network: GrowingNetwork, images: Images, targets: Labels) -> Labels:
        """Rows of the samples to keep: class by class, the best first."""
        features = self._directions(network, images)
        rows = [np.flatnonzero(targets == c) for c in np.unique(targets)]
        return np.concatenate([members[herd(features[members], self.exemplars)] for members in rows])

    def _directions(self, network: GrowingNetwork, images: Images) -> npt.NDArray[np.float64]:
        """Features at length 1, as iCaRL takes means of them."""
        return unit(self._encode(network, images).astype(np.float64))

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        rows = self._chosen(network, images, targets)
        kept = self._with_exemplars(images[rows], targets[rows])
        return {"exemplars": kept[0], "exemplar_targets": kept[1]}
