"""Suggestion: configurations that fit a budget of memory, how they did on held-out samples, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bitreplay.classifier._budget import Budget, in_bytes

SHOWN = 10  # rows of the printed table; `candidates` has all


@dataclass(frozen=True)
class Candidate:
    """A configuration that fits the budget, and what was measured of it."""

    prototypes: int
    bits: int
    p: int
    head: str
    accuracy: float  # share of the held-out samples that it recognises
    memory: int  # bytes once it has learned all samples: the most that it can take
    working_set: int  # bytes that the head needs besides, to be recomputed from the memory at any time
    seconds: float  # to make and judge the head; mixtures are fitted once for all that share them


@dataclass(frozen=True)
class Suggestion:
    """What :meth:`bitreplay.GBMClassifier.suggest` found: it prints as a table, and makes the best classifier.

    Parameters
    ----------
    candidates : sequence of Candidate
        All that were tried, the best first; of equals, the one with the smaller memory and working set.
    budget : Budget
        What they had to fit.
    n_classes, n_held_out : int
        Classes, and samples that judged.
    seconds : float
        Time that it took in all.

    Examples
    --------
    >>> from bitreplay import GBMClassifier
    >>> one = Candidate(prototypes=4, bits=3, p=2, head="closed_form", accuracy=0.97, memory=2_100, working_set=52_000,
    ...                 seconds=0.01)
    >>> found = Suggestion([one], Budget(4_000), n_classes=10, n_held_out=355, seconds=0.5, makes=GBMClassifier)
    >>> print(found)
    4 KB for 10 classes; accuracy on 355 held-out samples; 1 candidate, 0.5 s
    K  q  p  head         accuracy  memory  working set
    4  3  2  closed_form    97.0 *  2.1 KB        52 KB
    * not distinguishable from the best (one standard error, 0.9 points)
    >>> found.make(random_state=0)
    GBMClassifier(p=2, prototypes=4, random_state=0)
    """

    candidates: Sequence[Candidate]
    budget: Budget
    n_classes: int
    n_held_out: int
    seconds: float
    makes: Any = field(repr=False)  # the class of classifier, and the options that all candidates share
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def best(self) -> Candidate:
        """The candidate with the highest accuracy."""
        return self.candidates[0]

    @property
    def error(self) -> float:
        """Standard error of the best one's accuracy, due to the number of held-out samples."""
        right = self.best.accuracy
        return float((right * (1 - right) / self.n_held_out) ** 0.5)

    def make(self, candidate: Candidate | None = None, **options: Any) -> Any:
        """A classifier with the best configuration, or another candidate's; it has learned nothing yet.

        Parameters
        ----------
        candidate : Candidate, optional
            Which, instead of the best.
        **options
            Further options of the classifier, such as `random_state`.
        """
        one = candidate or self.best
        chosen = {"prototypes": one.prototypes, "bits": one.bits, "p": one.p, "head": one.head}
        return self.makes(**{**self.options, **chosen, **options})

    def table(self) -> list[tuple[str, ...]]:
        """All candidates as text, column names first; a star marks those within one standard error of the best."""
        rows: list[tuple[str, ...]] = [("K", "q", "p", "head", "accuracy", "memory", "working set")]
        for one in self.candidates:
            near = "*" if one.accuracy >= self.best.accuracy - self.error else " "
            numbers = str(one.prototypes), str(one.bits), str(one.p)
            sizes = in_bytes(one.memory), in_bytes(one.working_set)
            rows.append((*numbers, one.head, f"{100 * one.accuracy:.1f} {near}", *sizes))
        return rows

    def __str__(self) -> str:
        n = len(self.candidates)
        head, *rows = self.table()
        shown = [head, *rows[:SHOWN]]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if name == "head" else cell.rjust(width)
                for name, cell, width in zip(head, row, widths, strict=True)
            )
            for row in shown
        ]
        about = f"{self.budget} for {self.n_classes} classes; accuracy on {self.n_held_out:,} held-out samples"
        more = [f"and {n - SHOWN} more in `candidates`"] if n > SHOWN else []
        return "\n".join(
            [
                f"{about}; {n} candidate{'s' if n > 1 else ''}, {self.seconds:.1f} s",
                *(line.rstrip() for line in lines),
                *more,
                f"* not distinguishable from the best (one standard error, {100 * self.error:.1f} points)",
            ]
        )
