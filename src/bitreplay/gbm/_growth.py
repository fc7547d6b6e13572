"""How the look of known samples changes as classes are added, memory/head → **class**.

The more classes there are, the better one or other of them fits any sample: known samples look less new, and a limit
that refused one in twenty comes to refuse one in fifty. How fast is seen by pretending that half of the classes came
later: the head's scores of these are left out, and then added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay.gbm._familiar import LEVELS, quantiles_of
from bitreplay.gbm._novelty import MEASURED, Numbers, Yardstick, density_weight, doubts, evidence, numbers_of
from bitreplay.memory import Label

Floats = npt.NDArray[np.float64]

FEWEST_CLASSES, FEWEST_SAMPLES = 10, 400  # ours: of whom half show a trend rather than chance


class Scored(NamedTuple):
    """Samples of known classes, as the head and the memory see them."""

    scores: Floats  # (rows, classes)
    densities: Floats | None  # (rows, classes) log p(z | c), where they count
    classes: npt.NDArray[np.intp]  # column of each row's own class
    plain: bool = False  # evidence as 0.2.0 had it

    def among(self, columns: npt.NDArray[np.intp], rows: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Scores and evidence of some rows, had there been these classes only."""
        densities = None if self.densities is None else self.densities[np.ix_(rows, columns)]
        scores = self.scores[np.ix_(rows, columns)]
        return scores, evidence(scores, densities, plain=self.plain)

    def numbers(self, columns: npt.NDArray[np.intp], of: npt.NDArray[np.intp]) -> dict[Label, Numbers]:
        """Numbers of some classes, had there been these classes only."""
        rows = np.isin(self.classes, of)
        _, values = self.among(columns, rows)
        own = self.classes[rows]
        return {int(c): numbers_of(values[own == c]) for c in of if (own == c).sum() >= MEASURED}


def growth_of(own: Scored, held: Scored, counts: npt.NDArray[np.int64], temperature: float | None) -> Floats | None:
    """What is added to the quantiles of novelty and doubt (2, 101) as the number of classes doubles.

    Parameters
    ----------
    own : Scored
        Samples that mixtures were fitted to; classes get their numbers from them.
    held : Scored
        Samples held out, whose quantiles they are.
    counts : ndarray of shape (classes,)
        Samples of each class.
    temperature : float, optional
        Of the scores.

    Returns
    -------
    ndarray or None
        None where there are too few classes or samples.
    """
    everything = np.arange(len(counts))
    taught = np.intersect1d(own.classes, held.classes)  # others came in earlier calls
    if len(taught) < FEWEST_CLASSES or len(held.classes) < FEWEST_SAMPLES:
        return None
    weight = density_weight(len(counts))  # with half as many classes it may count more, which is no growth

    def quantiles(columns: npt.NDArray[np.intp], numbers: dict[Label, Numbers]) -> Floats:
        rows = np.isin(held.classes, columns)
        scores, values = held.among(columns, rows)
        yardstick = Yardstick.of(numbers, {int(c): int(counts[c]) for c in columns})
        novelties = yardstick.novelty(values, scores.argmax(axis=1), weight)
        return np.stack([quantiles_of(novelties), quantiles_of(doubts(scores, temperature))])

    total = np.zeros((2, len(LEVELS)))
    halves = [np.setdiff1d(everything, taught[later::2]) for later in (0, 1)]
    for early in halves:
        late = np.setdiff1d(everything, early)
        numbers = own.numbers(early, early)
        if not numbers:
            return None
        before = quantiles(early, numbers)
        after = quantiles(everything, {**numbers, **own.numbers(everything, late)})  # early classes keep their numbers
        total += (after - before) / np.log2(len(everything) / len(early))
    return np.asarray(total / len(halves)).astype(np.float32).astype(np.float64)  # as in a file
