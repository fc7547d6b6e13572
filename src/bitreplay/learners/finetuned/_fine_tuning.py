"""Fine-tuning of the whole network, the lower bound: it keeps training on new data only, and forgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch.nn.functional import cross_entropy

from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork


@dataclass(kw_only=True, eq=False)
class FullFineTuning(FineTunedLearner):
    """Backbone and outputs continue training on the new task alone. It stores nothing for old classes: 0 bits.

    Examples
    --------
    After a second task hardly any image of the first is recognised:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> first, second = make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4)
    >>> learner = FullFineTuning(epochs=1)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in (first, second):
    ...     learner.learn(task)
    >>> bool((learner.predict(first.test) == first.test.labels).mean() < 0.1), learner.memory_bits()
    (True, 0)
    """

    name: ClassVar[str] = "FullFineTuning"
    bound: ClassVar[str] = "lower bound: the whole network is trained, and nothing is done against forgetting"

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        self._fit(network, images, targets, lambda batch: cross_entropy(network(batch.pixels), batch.targets))
