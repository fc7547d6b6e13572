"""How much better one method is than another, and how certain that is: the basis of the verdicts.

Two errors count. Another seed would have given another difference; so would another test set, however many seeds there
are, because all of them are tested on the same samples. Both are measured: the first from the spread over the seeds,
the second by leaving out one part of the test samples at a time (a jackknife), in both methods alike. The verdict is
about these networks: the variation from retraining them is not included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.evaluation import History
from bitreplay.experiments._thinned import PARTS, View, n_parts, thinned
from bitreplay.experiments._verdict import LEVEL, Verdict

__all__ = ["Difference", "Floats", "View", "difference", "difference_of", "difference_of_shares", "mean_difference"]

Floats = npt.NDArray[np.float64]

ROUNDING = 1e-9  # of numbers that are equal


@dataclass(frozen=True)
class Difference:
    """A difference of accuracies as shares, with its error.

    Parameters
    ----------
    values : sequence of float
        One for each seed; values of the same seed are averaged first, because they are not independent.
    test_error : float
        Standard error due to the finite test set, common to all seeds.
    n_parts : int
        Parts of the test set used to estimate this error.

    Examples
    --------
    >>> str(Difference([0.010, 0.012, 0.014])), Difference([0.010, 0.012, 0.014]).verdict.holds
    ('+1.2 points (95 %: +0.7 to +1.7)', True)
    >>> Difference([0.010, 0.012, 0.014], test_error=0.01).verdict.holds  # 100 samples say little, however many seeds
    """

    values: Sequence[float]
    test_error: float = 0.0
    n_parts: int = PARTS

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(self.values))

    @property
    def seed_error(self) -> float:
        """Standard error of the mean over the seeds; 0 if there is only one, or nothing is random."""
        if len(self.values) == 1 or np.ptp(self.values) < ROUNDING:
            return 0.0
        return float(np.std(self.values, ddof=1) / math.sqrt(len(self.values)))

    @property
    def error(self) -> float:
        """Standard error of the mean, of seeds and test set together."""
        return math.hypot(self.seed_error, self.test_error)

    @property
    def degrees(self) -> float:
        """Degrees of freedom of that error, by Welch and Satterthwaite: those of the part that matters most."""
        parts = ((self.seed_error, len(self.values) - 1), (self.test_error, self.n_parts - 1))
        below = sum(error**4 / degrees for error, degrees in parts if error)
        return self.error**4 / below if below else math.inf

    @property
    def margin(self) -> float:
        """Half-width of the 95 % confidence interval of the mean, by Student's t."""
        return float(stdtrit(self.degrees, 1 - LEVEL / 2)) * self.error if self.error else 0.0

    @property
    def verdict(self) -> Verdict:
        """Whether it is positive."""
        return self._against(0.0)

    def reaches(self, target: float) -> Verdict:
        """Whether it is positive and, up to noise, as large as the paper says.

        Examples
        --------
        >>> Difference([0.30, 0.32, 0.34]).reaches(0.33).holds, Difference([0.20, 0.22, 0.24]).reaches(0.33).holds
        (True, False)
        """
        short = self._against(target)
        return short if short.holds is False else self.verdict

    def at_most(self, target: float) -> Verdict:
        """Whether it is no larger than the paper says.

        Examples
        --------
        >>> Difference([0.010, 0.011, 0.012]).at_most(0.02).holds, Difference([0.03, 0.031, 0.032]).at_most(0.02).holds
        (True, False)
        """
        return (-self)._against(-target)

    def _against(self, target: float) -> Verdict:
        distance = self.mean - target
        if not self.error:  # a single number of which nothing is known
            known = len(self.values) > 1 and abs(distance) > ROUNDING
            return Verdict.fact(distance > 0) if known else Verdict.inconclusive()
        return _verdict(distance, self.error, self.degrees)

    def minus(self, other: Difference) -> Verdict:
        """Whether it is larger than another, independent difference."""
        error = math.hypot(self.error, other.error)
        below = sum(one.error**4 / one.degrees for one in (self, other) if one.error)
        return _verdict(self.mean - other.mean, error, error**4 / below if below else math.inf)

    def __neg__(self) -> Difference:
        return Difference([-value for value in self.values], self.test_error, self.n_parts)

    def __str__(self) -> str:
        digits = 2 if 0 < self.margin < 0.001 else 1  # an interval of no width would say nothing
        mean, low, high = (
            f"{round(100 * value, digits) + 0.0:+.{digits}f}"
            for value in (self.mean, self.mean - self.margin, self.mean + self.margin)
        )
        return f"{mean} points" + (f" (95 %: {low} to {high})" if self.margin else "")


def _verdict(distance: float, error: float, degrees: float) -> Verdict:
    """Whether a difference with this error is positive, by Student's t; inconclusive without an error."""
    if not error:
        return Verdict.inconclusive()
    return Verdict(distance > 0, float(2 * stdtr(degrees, -abs(distance) / error)))


def difference_of_shares(one: float, other: float, n_samples: int) -> Difference:
    """Difference of two accuracies of which only the values are known, as if measured on different samples.

    Examples
    --------
    >>> str(difference_of_shares(0.8, 0.75, 1000))
    '+5.0 points (95 %: +1.3 to +8.7)'
    """
    # Add one correct and one wrong answer: no accuracy is certain just because no errors occurred.
    shares = [(share * n_samples + 1) / (n_samples + 2) for share in (one, other)]
    error = math.sqrt(sum(share * (1 - share) for share in shares) / n_samples)
    return Difference([one - other], error, n_samples)


def difference(one: MethodRuns, other: MethodRuns, metric: Callable[[History], float] = metrics.average) -> Difference:
    """How much better one method is than another, per seed."""
    pairs = list(zip(one.histories, other.histories, strict=True))
    return difference_of(lambda view: [metric(view(a)) - metric(view(b)) for a, b in pairs])


def mean_difference(pairs: Sequence[tuple[MethodRuns, MethodRuns]]) -> Difference:
    """How much better the first of each pair is in average accuracy, over all pairs, per seed."""

    def averages(methods: Sequence[MethodRuns], view: View) -> Floats:
        values = [[metrics.average(view(history)) for history in method.histories] for method in methods]
        return np.asarray(np.mean(values, axis=0))

    better, worse = zip(*pairs, strict=True)
    return difference_of(lambda view: averages(better, view) - averages(worse, view))


def difference_of(statistic: Callable[[View], Sequence[float] | Floats]) -> Difference:
    """Any statistic of histories, with both its errors.

    Parameters
    ----------
    statistic : callable
        Takes a view, a function from a history to the part under consideration, and returns one value per seed. It
        must access every history through the view.
    """
    histories: list[History] = []

    def whole(history: History) -> History:
        histories.append(history)
        return history

    values = [float(value) for value in statistic(whole)]
    parts = n_parts(histories)
    if parts < 2:  # no answers were kept, or next to none: as if the methods had been asked about different samples
        off = max(float(metrics.standard_error(history).mean()) for history in histories)
        return Difference(values, math.sqrt(2) * off)
    left_out = [float(np.mean(statistic(thinned(part, parts)))) for part in range(parts)]
    return Difference(values, float(np.std(left_out)) * math.sqrt(parts - 1), parts)
