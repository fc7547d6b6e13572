"""Temperature scaling, head → **class**: one number that calibrates confidence on unseen data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from bitreplay.heads._head import Scores

COLDEST = 0.5  # ours: held-out data without an error proves little
HOTTEST = 1e4  # ours: distances over many bits are overconfident


def held_out_loss(scores: Scores, targets: npt.NDArray[np.intp], temperature: float) -> float:
    """Mean negative log-probability that ``softmax(scores / temperature)`` gives the targets."""
    return -float(log_softmax(scores / temperature, axis=1)[np.arange(len(targets)), targets].mean())


def fit_temperature(scores: Scores, targets: npt.NDArray[np.intp], doubt: float = 0.0) -> float:
    """The temperature T for which ``softmax(scores / T)`` gives held-out targets the highest likelihood.

    With `doubt`, so much of every target goes to the likeliest other class: a few held-out samples without an error do
    not prove that there are none (Platt, "Probabilistic outputs for support vector machines", 1999).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(5000, 3))
    >>> drawn = [rng.choice(3, p=np.exp(row)) for row in log_softmax(scores, axis=1)]
    >>> round(fit_temperature(7 * scores, np.array(drawn)))
    7
    >>> from scipy.special import softmax
    >>> sure = np.array([[50.0, 0.0]] * 8)  # all of them right: nine of ten are believed
    >>> softmax(sure[0] / fit_temperature(sure, np.zeros(8, np.intp), doubt=0.1)).round(2).tolist()
    [0.9, 0.1]
    """
    others = scores.copy()
    np.put_along_axis(others, targets[:, None], -np.inf, axis=1)
    likeliest = others.argmax(axis=1)

    def loss(log_temperature: float) -> float:
        temperature = float(np.exp(log_temperature))
        own = held_out_loss(scores, targets, temperature)
        return own if doubt == 0 else (1 - doubt) * own + doubt * held_out_loss(scores, likeliest, temperature)

    best = minimize_scalar(loss, bounds=(np.log(COLDEST), np.log(HOTTEST)), method="bounded")
    return float(np.exp(best.x))
