"""How much better one method is than another, and how certain that is: the basis of the verdicts.

Three errors count. Another seed would have given another difference; so would another test set, however many seeds
there are, because all of them are tested on the same samples; and so would another training of the network that the
methods stand on. The first is measured by the spread over the seeds, the second by leaving out one part of the test
samples at a time (a jackknife), in both methods alike; the third was measured once for all (`_retraining.py`). Where
every seed trains its networks anew, the first contains the third, and what was measured helps to know it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri

from bitreplay import metrics
from bitreplay._pages.methods import MethodRuns
from bitreplay.evaluation import History
from bitreplay.experiments._noise import NOTHING, Noise, margin, probability, together
from bitreplay.experiments._retraining import Kind, Networks, retraining
from bitreplay.experiments._verdict import LEVEL, Verdict

Floats = npt.NDArray[np.float64]
View = Callable[[History], History]  # what is looked at of a history

PARTS = 20  # ours: the usual number of groups of a jackknife; more would change the error by some percent of itself
ROUNDING = 1e-9  # of numbers that are equal
POOLED = 0.25  # Bancroft & Han (1983): level of the test on which the pooling of two variances depends


@dataclass(frozen=True)
class Difference:
    """A difference of accuracies as shares, with its error.

    Examples
    --------
    >>> str(Difference([0.010, 0.012, 0.014])), Difference([0.010, 0.012, 0.014]).verdict.holds
    ('+1.2 points (95 %: +0.7 to +1.7)', True)
    >>> Difference([0.010, 0.012, 0.014], test_error=0.01).verdict.holds  # 100 samples say little, however many seeds
    >>> Difference([0.010, 0.012, 0.014], network=Noise(0.01, 3)).verdict.noises  # nor does one network
    ('seeds', 'network')
    """

    values: Sequence[float]  # one per seed; values of one seed are averaged first, as they are not independent
    test_error: float = 0.0  # standard error due to the finite test set, common to all seeds
    n_parts: float = PARTS  # of the test set that this error was estimated from
    network: Noise = NOTHING  # due to the training of the network, common to all seeds
    expected: Noise = NOTHING  # spread of a single value where every seed trains its networks, as measured elsewhere
    over: str = "seeds"  # what there is one value for
    sampled: str = "test samples"  # what the test error comes from

    @property
    def mean(self) -> float:
        """Mean over the seeds."""
        return float(np.mean(self.values))

    @property
    def seeds(self) -> Noise:
        """Standard error of the mean over the seeds; 0 if there is only one, or nothing is random.

        Two or three values say little of their spread: what is expected of it is pooled with them, unless they clearly
        spread more.

        Examples
        --------
        >>> Difference([0.01, 0.02], expected=Noise(0.01, 20)).seeds.degrees
        21.0
        >>> Difference([0.01, 0.07], expected=Noise(0.01, 20)).seeds.degrees
        1.0
        """
        n = len(self.values)
        own = 0.0 if n == 1 or np.ptp(self.values) < ROUNDING else float(np.var(self.values, ddof=1))
        degrees, (spread, known) = n - 1.0, self.expected
        if n > 1 and spread and own <= spread**2 * float(fdtri(degrees, known, 1 - POOLED)):
            own = (degrees * own + known * spread**2) / (degrees + known)
            degrees += known
        return Noise(math.sqrt(own / n), degrees)

    @property
    def noises(self) -> dict[str, Noise]:
        """The errors that count, by what they come from."""
        found = {
            self.over: self.seeds,
            self.sampled: Noise(self.test_error, self.n_parts - 1),
            "network": self.network,
        }
        return {name: noise for name, noise in found.items() if noise.error}

    @property
    def error(self) -> float:
        """Standard error of the mean, of all noises together."""
        return together(self.noises.values()).error

    @property
    def margin(self) -> float:
        """Half-width of the 95 % confidence interval of the mean."""
        return margin(self.noises.values(), LEVEL)

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
        return Verdict(distance > 0, probability(self.noises.values(), distance), noises=tuple(self.noises))

    def minus(self, other: Difference) -> Difference:
        """By how much it is larger than another, independent difference."""
        own = [noise for one in (self, other) for name, noise in one.noises.items() if name != "network"]
        sampled = self.sampled if self.test_error else self.over
        network = together([self.network, other.network])
        error, degrees = together(own)
        return Difference([self.mean - other.mean], error, degrees + 1, network, sampled=sampled)

    def __neg__(self) -> Difference:
        return replace(self, values=[-value for value in self.values])

    def __str__(self) -> str:
        return self.text(" points")

    def text(self, unit: str, times: float = 100.0) -> str:
        """Itself and its interval, `times` as large, in a unit.

        Examples
        --------
        >>> Difference([19.0, 20.0, 21.0]).text(" nats", 1)
        '+20.0 nats (95 %: +17.5 to +22.5)'
        """
        margin = times * self.margin
        digits = 2 if 0 < margin < 0.1 else 1  # an interval of no width would say nothing
        mean, low, high = (
            f"{round(value, digits) + 0.0:+.{digits}f}"
            for value in (times * self.mean, times * self.mean - margin, times * self.mean + margin)
        )
        return f"{mean}{unit}" + (f" (95 %: {low} to {high})" if margin else "")


def difference_of_shares(one: float, other: float, n_samples: int, network: Noise = NOTHING) -> Difference:
    """Difference of two accuracies of which only the values are known, as if measured on different samples.

    Examples
    --------
    >>> str(difference_of_shares(0.8, 0.75, 1000))
    '+5.0 points (95 %: +1.3 to +8.7)'
    """
    # Add one correct and one wrong answer: no accuracy is certain just because no errors occurred.
    shares = [(share * n_samples + 1) / (n_samples + 2) for share in (one, other)]
    error = math.sqrt(sum(share * (1 - share) for share in shares) / n_samples)
    return Difference([one - other], error, n_samples, network)


def difference(
    one: MethodRuns,
    other: MethodRuns,
    metric: Callable[[History], float] = metrics.average,
    networks: Networks = "same",
    by_seed: bool = False,
) -> Difference:
    """How much better one method is than another, per seed; `networks` says whether they stand on the same network."""
    pairs = list(zip(one.histories, other.histories, strict=True))
    kind: Kind = "average" if metric is metrics.average else "final" if metric is metrics.final else "state"
    return difference_of(
        lambda view: [metric(view(a)) - metric(view(b)) for a, b in pairs], networks, kind, by_seed=by_seed
    )


def mean_difference(pairs: Sequence[tuple[MethodRuns, MethodRuns]]) -> Difference:
    """How much better the first of each pair is in average accuracy, over all pairs, per seed.

    Both methods of a pair stand on the same network; pairs on the same one share its noise, and are not averaged.
    """

    def averages(methods: Sequence[MethodRuns], view: View) -> Floats:
        values = [[metrics.average(view(history)) for history in method.histories] for method in methods]
        return np.asarray(np.mean(values, axis=0))

    better, worse = zip(*pairs, strict=True)
    return difference_of(lambda view: averages(better, view) - averages(worse, view))


def difference_of(
    statistic: Callable[[View], Sequence[float] | Floats],
    networks: Networks = "same",
    kind: Kind = "average",
    times: float = 1.0,
    by_seed: bool = False,
) -> Difference:
    """Any statistic of histories, with all its errors.

    `statistic` takes a view, a function from a history to the part under consideration, and returns one value per seed;
    it must access every history through the view. It changes `times` as much with the network as what was measured of
    this `kind` (:func:`retraining`). If the networks are trained `by_seed`, the seeds show that noise themselves, and
    what was measured says what to expect of them.
    """
    histories: list[History] = []

    def whole(history: History) -> History:
        histories.append(history)
        return history

    values = [float(value) for value in statistic(whole)]
    error, degrees = retraining(histories, networks, kind)
    noise = Noise(times * error, degrees)
    network, expected = (NOTHING, noise) if by_seed else (noise, NOTHING)
    parts = n_parts(histories)
    if parts < 2:  # no answers were kept, or next to none: as if the methods had been asked about different samples
        off = max(float(metrics.standard_error(history).mean()) for history in histories)
        return Difference(values, math.sqrt(2) * off, network=network, expected=expected)
    left_out = [float(np.mean(statistic(thinned(part, parts)))) for part in range(parts)]
    return Difference(values, float(np.std(left_out)) * math.sqrt(parts - 1), parts, network, expected)


def n_parts(histories: Sequence[History]) -> int:
    """Parts that the test samples can be divided into, some of every class in each; 0 if no answers were stored."""
    if not all(history.answers for history in histories):
        return 0
    return min(PARTS, *(int(history.count[history.count > 0].min()) for history in histories))


def thinned(part: int, parts: int) -> View:
    """A function that drops every n-th sample of each class from a history, starting with sample `part`.

    In every state and every history alike, so that differences between methods stay differences on the same samples.
    """

    def view(history: History) -> History:
        right, count, answers = np.zeros_like(history.right), np.zeros_like(history.count), []
        for state, given in enumerate(history.answers):
            counts = history.count[state]
            place = np.arange(len(given)) - np.repeat(np.cumsum(counts) - counts, counts)  # within its class
            kept = place % parts != part
            classes = np.repeat(np.arange(len(counts)), counts)[kept]
            answers.append(given[kept])
            count[state] = np.bincount(classes, minlength=len(counts))
            right[state] = np.bincount(classes, given[kept], minlength=len(counts))
        confusion = np.diag(right[-1])  # who was taken for whom is not known by sample: all errors in one place
        classes = np.arange(len(confusion))
        confusion[classes, (classes + 1) % len(classes)] += count[-1] - right[-1]
        return replace(history, right=right, count=count, confusion=confusion, answers=tuple(answers))

    return view
