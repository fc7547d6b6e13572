"""How much better one thing is than another, and whether that is more than noise: what verdicts rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.report._methods import APART, Method

__all__ = ["Difference", "all_hold", "difference"]

NOISE = 0.005  # ours: what one run may be off; seeds of a learner differ by a few tenths of a point
ROUNDING = 1e-9  # of numbers that are equal


@dataclass(frozen=True)
class Difference:
    """Differences of accuracy as shares, one for each pair of runs that differ in nothing else.

    Examples
    --------
    >>> str(Difference([0.010, 0.012, 0.014])), Difference([0.010, 0.012, 0.014]).holds
    ('+1.2 points (standard error 0.1)', True)
    >>> Difference([0.010, -0.006]).holds is None, Difference([-0.01]).holds
    (True, False)
    """

    values: Sequence[float]

    @property
    def mean(self) -> float:
        """Of all pairs."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """Standard error of the mean; 0 where there is but one pair, or nothing random."""
        if len(self.values) == 1 or np.ptp(self.values) < ROUNDING:
            return 0.0
        return float(np.std(self.values, ddof=1) / np.sqrt(len(self.values)))

    @property
    def holds(self) -> bool | None:
        """Whether it is positive; None where it is as small as noise: two standard errors, or half a point."""
        return self.mean > 0 if abs(self.mean) > (APART * self.error or NOISE) else None

    def __str__(self) -> str:
        error = f" (standard error {100 * self.error:.1f})" if self.error else ""
        return f"{round(100 * self.mean, 1) + 0.0:+.1f} points{error}"


def difference(one: Method, other: Method, metric: Callable[[History], float] = metrics.average) -> Difference:
    """By how much one method is better than another, seed by seed."""
    return Difference([metric(a) - metric(b) for a, b in zip(one.histories, other.histories, strict=True)])


def all_hold(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether a claim of many parts holds: it fails with one, and cannot be told with one that cannot."""
    found = set(verdicts)
    return False if False in found else None if None in found else True
