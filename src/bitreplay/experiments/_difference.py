"""How much better one thing is than another, and whether that is more than noise: what verdicts rest on.

Errors are over pairs of runs on the same network and the same test samples: a verdict is about these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from bitreplay import metrics
from bitreplay.evaluation import History
from bitreplay.report._methods import APART, Method

__all__ = ["Difference", "all_hold", "difference"]

NOISE = 0.005  # ours: what one run may be off; seeds of a learner differ by a few tenths of a point
SURE = 0.975  # below the upper end of an interval that holds 95 %
ROUNDING = 1e-9  # of numbers that are equal


@dataclass(frozen=True)
class Difference:
    """Differences of accuracy as shares, one for each pair of runs that differ in nothing else.

    Parameters
    ----------
    values : sequence of float
        One for each pair.
    noise : float
        What a single pair may be off.

    Examples
    --------
    >>> str(Difference([0.010, 0.012, 0.014])), Difference([0.010, 0.012, 0.014]).holds
    ('+1.2 points (standard error 0.1)', True)
    >>> Difference([0.010, -0.006]).holds is None, Difference([-0.01]).holds
    (True, False)
    """

    values: Sequence[float]
    noise: float = NOISE

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
    def margin(self) -> float:
        """How far the mean may be off: 95 % by Student's t, which is 4.3 standard errors of three pairs; or `noise`."""
        return float(stdtrit(len(self.values) - 1, SURE)) * self.error if self.error else self.noise

    @property
    def holds(self) -> bool | None:
        """Whether it is positive; None where it is as small as noise."""
        return self.mean > 0 if abs(self.mean) > self.margin else None

    def reaches(self, target: float) -> bool | None:
        """Whether it is positive and, but for noise, as large as the paper says.

        Examples
        --------
        >>> Difference([0.30, 0.32, 0.34]).reaches(0.33), Difference([0.20, 0.22, 0.24]).reaches(0.33)
        (True, False)
        """
        return self.mean + self.margin >= target if self.holds else self.holds

    def __str__(self) -> str:
        digits = 2 if 0 < self.error < 0.001 else 1  # an error of 0.0 would say nothing
        error = f" (standard error {100 * self.error:.{digits}f})" if self.error else ""
        return f"{round(100 * self.mean, digits) + 0.0:+.{digits}f} points{error}"


def difference(one: Method, other: Method, metric: Callable[[History], float] = metrics.average) -> Difference:
    """By how much one method is better than another, seed by seed.

    A single seed says nothing of the noise, but the size of the test set does: two methods, which answer about the same
    samples, are taken to differ by chance as much as one of them is off.
    """
    off = max(float(metrics.standard_error(history).mean()) for history in (*one.histories, *other.histories))
    values = [metric(a) - metric(b) for a, b in zip(one.histories, other.histories, strict=True)]
    return Difference(values, max(NOISE, APART * off))


def all_hold(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether a claim of many parts holds: it fails with one, and cannot be told with one that cannot."""
    found = set(verdicts)
    return False if False in found else None if None in found else True
