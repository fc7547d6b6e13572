"""Errors from several sources, each known from a few values only: the interval and the probability that follow.

Where all are known equally well, Student's t would do. Here one may come from three seeds, another from four networks.
Banerjee's interval (1960, "Approximate confidence interval for linear functions of means of k populations when the
population variances are not equal") adds the squares of what each source would allow for by itself. It holds the truth
in at least 95 % of all cases; Welch and Satterthwaite's would be narrower and, with sources this uncertain, hold it in
93 % (tests/experiments/test_retraining.py draws both).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

LEAST = 1e-300  # probabilities below are 0


class Noise(NamedTuple):
    """A standard error, and the degrees of freedom with which it is known."""

    error: float
    degrees: float


NOTHING = Noise(0.0, math.inf)


def together(noises: Collection[Noise]) -> Noise:
    """Independent errors of one kind as one, known as well as the least known."""
    parts = [noise for noise in noises if noise.error]
    return Noise(
        math.hypot(*(noise.error for noise in parts)), min((noise.degrees for noise in parts), default=math.inf)
    )


def margin(noises: Collection[Noise], level: float) -> float:
    """Half-width of an interval that misses the truth with a probability of at most `level`.

    Examples
    --------
    >>> round(margin([Noise(1.0, 2)], 0.05), 2), round(margin([Noise(1.0, 2), Noise(1.0, 19)], 0.05), 2)
    (4.3, 4.78)
    """
    return math.hypot(*(float(stdtrit(noise.degrees, level / 2)) * noise.error for noise in noises if noise.error))


def probability(noises: Collection[Noise], distance: float) -> float:
    """How likely a value so far from the truth is, at most: the level whose interval just reaches it.

    Examples
    --------
    >>> noises = [Noise(1.0, 2), Noise(1.0, 19)]
    >>> round(probability(noises, margin(noises, 0.05)), 4), probability(noises, 0.0)
    (0.05, 1.0)
    """
    parts = [noise for noise in noises if noise.error]
    ratio = -abs(distance) / math.hypot(*(noise.error for noise in parts))
    least, most = (2 * float(stdtr(f(noise.degrees for noise in parts), ratio)) for f in (max, min))
    if least < LEAST:
        return most

    def beyond(logarithm: float) -> float:
        return margin(parts, math.exp(logarithm)) - abs(distance)

    low, high = math.log(least), math.log(most)
    if beyond(high) >= 0 or beyond(low) <= 0:  # one source is nearly all, or none is: there, rounding decides
        return most
    return math.exp(brentq(beyond, low, high))
