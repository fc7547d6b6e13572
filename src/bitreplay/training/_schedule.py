"""What every recipe of a training may choose from, and the learning rate of those that anneal.

In the flow images → features → bits → memory/head → class it is used wherever a network is trained: the frozen encoder
on task 0, and the networks of methods that train theirs in every task.
"""

from __future__ import annotations

import math
from typing import Literal

__all__ = ["Augmentation", "Optimizer", "Schedule", "annealed"]

Schedule = Literal["steps", "one_cycle", "cosine"]
Augmentation = Literal["none", "paper", "strong"]
Optimizer = Literal["sgd", "adam"]


def annealed(highest: float, done: float, warmup: float = 0.0) -> float:
    """Learning rate after a share `done` of a training: a linear rise over the first `warmup`, half a cosine to zero.

    Examples
    --------
    >>> [round(annealed(0.1, done, warmup=0.2), 3) for done in (0, 0.1, 0.2, 0.6, 1)]
    [0.0, 0.05, 0.1, 0.05, 0.0]
    """
    if done < warmup:
        return highest * done / warmup
    return highest * (1 + math.cos(math.pi * (done - warmup) / (1 - warmup))) / 2
