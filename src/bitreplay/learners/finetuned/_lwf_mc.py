"""LwF-MC, learning without forgetting for many classes: iCaRL's network and loss without any exemplars.

Defined in sec. 4 of iCaRL (Rebuffi et al., CVPR 2017) after LwF (Li & Hoiem, ECCV 2016). Many implementations called
LwF distil by softmax instead; that is another method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from bitreplay.learners.finetuned._icarl import ICARL_RECIPE, icarl_loss
from bitreplay.learners.finetuned._learner import FineTunedLearner, Images, Labels
from bitreplay.learners.finetuned._network import GrowingNetwork
from bitreplay.learners.finetuned._recipe import Recipe
from bitreplay.learners.finetuned._training import Batch


@dataclass(kw_only=True, eq=False)
class LwFMC(FineTunedLearner):
    """Distillation by sigmoids, on the new samples alone. It stores nothing for old classes: 0 bits.

    Examples
    --------
    Without any memory, a part of the old images is still recognised, where fine-tuning recognises none:

    >>> from bitreplay.data import load_dataset, make_scenario
    >>> from bitreplay.learners import TrainingContext
    >>> from bitreplay.training import PRESETS
    >>> first, second = make_scenario(load_dataset("digits"), sizes=[2, 2], classes=4)
    >>> learner = LwFMC(epochs=1)
    >>> learner.use(TrainingContext("small_cnn", {"width": 4}, PRESETS["digits"], "cpu"))
    >>> for task in (first, second):
    ...     learner.learn(task)
    >>> bool((learner.predict(first.test) == first.test.labels).mean() > 0.1), learner.memory_bits()
    (True, 0)
    """

    name: ClassVar[str] = "LwF-MC"
    published: ClassVar[Recipe] = ICARL_RECIPE

    def _train(self, network: GrowingNetwork, old: GrowingNetwork | None, images: Images, targets: Labels) -> None:
        def loss(batch: Batch) -> torch.Tensor:
            with torch.no_grad():
                old_logits = None if old is None else old(batch.pixels)
            return icarl_loss(network(batch.pixels), batch.targets, old_logits)

        self._fit(network, images, targets, loss)
