"""Verdicts: whether a claim holds, how likely that is by chance alone, and the cost of testing many claims.

A claim that is tested together with ten others is likely to come out wrong once. Holm's correction (1979) allows for
that: the claims of an experiment all hold, or fail, with 95 % confidence together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

LEVEL = 0.05  # the field's 95 %


@dataclass(frozen=True)
class Verdict:
    """What the numbers say about a claim, and the probability of an equally clear result by chance alone.

    Examples
    --------
    >>> Verdict(True, p=0.001).holds, Verdict(False, p=0.001).holds, Verdict(True, p=0.2).holds
    (True, False, None)
    >>> Verdict.fact(3 < 4).holds  # nothing was measured with an error
    True
    """

    positive: bool
    p: float
    tested: bool = True  # or known beforehand: that nothing was tested needs no correction
    noises: tuple[str, ...] = ()  # what may have been otherwise: seeds, test samples, the network
    corrected: bool = field(default=False, repr=False, compare=False)  # for the claims tested with it: not again

    @classmethod
    def fact(cls, true: bool) -> Verdict:
        """A verdict that is certain."""
        return cls(true, 0.0, tested=False)

    @classmethod
    def inconclusive(cls) -> Verdict:
        """A claim that these measurements cannot decide, such as one about other data."""
        return cls(False, 1.0, tested=False)

    @property
    def holds(self) -> bool | None:
        """True or False if that is certain; None if it is not."""
        return self.positive if self.p < LEVEL else None


def all_hold(parts: Iterable[Verdict]) -> Verdict:
    """The verdict on a claim with several parts: it holds if all do, and fails if one certainly does.

    It is as certain as the least certain part. One of many parts fails by chance more easily than a single one, so its
    probability is multiplied by their number (Bonferroni).

    Examples
    --------
    >>> sure, unsure, against = Verdict(True, 0.001), Verdict(True, 0.3), Verdict(False, 0.001)
    >>> all_hold([sure, sure]).holds, all_hold([sure, unsure]).holds, all_hold([sure, unsure, against])
    (True, None, Verdict(positive=False, p=0.003, tested=True, noises=()))
    """
    verdicts = list(parts)
    if not verdicts:
        return Verdict.inconclusive()
    tested = any(verdict.tested for verdict in verdicts)
    noises = tuple(dict.fromkeys(name for verdict in verdicts for name in verdict.noises))
    failing = [verdict.p for verdict in verdicts if not verdict.positive]
    if failing:
        return Verdict(False, min(1.0, len(verdicts) * min(failing)), tested, noises)
    return Verdict(True, max(verdict.p for verdict in verdicts), tested, noises)


def holm(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The same verdicts, with probabilities corrected for testing all of them together.

    Examples
    --------
    >>> [verdict.p for verdict in holm([Verdict(True, 0.03), Verdict(True, 0.01), Verdict.fact(True)])]
    [0.03, 0.02, 0.0]
    """
    adjusted = list(verdicts)
    tested = [place for place, verdict in enumerate(verdicts) if verdict.tested and not verdict.corrected]
    so_far = 0.0
    for rank, place in enumerate(sorted(tested, key=lambda place: verdicts[place].p)):
        so_far = max(so_far, min(1.0, (len(tested) - rank) * verdicts[place].p))
        adjusted[place] = replace(verdicts[place], p=so_far, corrected=True)
    return adjusted
