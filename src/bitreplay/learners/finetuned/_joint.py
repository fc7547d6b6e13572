"""Joint training of the whole network, the upper bound: it stores all images, and trains on all of them every time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch.nn.functional import cross_entropy

from bitreplay.learners._learner import Arrays
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork


@dataclass(kw_only=True, eq=False)
class FullJoint(FineTunedLearner):
    """Backbone and outputs continue training on all images of all classes. It stores every image.

    Parameters
    ----------
    base_epochs, epochs : int, optional
        Passes over the samples of task 0, and over all samples for each later task; by default as in the preset.

    Examples
    --------
    Old classes are not forgotten, as every image is kept, 8 x 8 bytes each:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> scenario = make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4)
    >>> learner = FullJoint(epochs=1)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in scenario:
    ...     learner.learn(task)
    >>> test, n_train = scenario.test_seen(1), sum(len(task.train) for task in scenario)
    >>> bool((learner.predict(test) == test.labels).mean() > 0.8), learner.memory_bits() == n_train * 8 * 8 * 8
    (True, True)
    """

    name: ClassVar[str] = "FullJoint"
    bound: ClassVar[str] = "upper bound: the whole network is trained on all data"
    memory_arrays: ClassVar[tuple[str, ...]] = ("images",)

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        everything = self._with_old(images, targets)
        self._fit(network, *everything, lambda batch: cross_entropy(network(batch.pixels), batch.targets))

    def _remember(self, network: GrowingNetwork, images: Images, targets: Labels) -> Arrays:
        images, targets = self._with_old(images, targets)
        return {"images": images, "targets": targets}

    def _with_old(self, images: Images, targets: Labels) -> tuple[Images, Labels]:
        if not self.known:
            return images, targets
        return np.concatenate([self.kept["images"], images]), np.concatenate([self.kept["targets"], targets])
