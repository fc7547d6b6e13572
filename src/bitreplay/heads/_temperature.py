"""Temperature scaling, head → **class**: one number that calibrates confidence on unseen data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from bitreplay.heads._head import Scores

__all__ = ["fit_temperature", "held_out_loss"]

COLDEST = 0.5  # ours: held-out data without an error proves little
HOTTEST = 1e4  # ours: distances over many bits are overconfident


def held_out_loss(scores: Scores, targets: npt.NDArray[np.intp], temperature: float) -> float:
    """Mean negative log-probability that ``softmax(scores / temperature)`` gives the targets."""
    return -float(log_softmax(scores / temperature, axis=1)[np.arange(len(targets)), targets].mean())


def fit_temperature(scores: Scores, targets: npt.NDArray[np.intp]) -> float:
    """The temperature T for which ``softmax(scores / T)`` gives held-out targets the highest likelihood.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(5000, 3))
    >>> drawn = [rng.choice(3, p=np.exp(row)) for row in log_softmax(scores, axis=1)]
    >>> round(fit_temperature(7 * scores, np.array(drawn)))
    7
    """

    def loss(log_temperature: float) -> float:
        return held_out_loss(scores, targets, float(np.exp(log_temperature)))

    best = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    return float(np.exp(best.x))
