"""Choices made on held-out samples of the first call: the head's open options, and the temperature of its scores.

A fifth of every class is held out, the mixtures are fitted to the rest once, and every choice maximises the likelihood
of the held-out samples. Test data is never used, and no choice is revised later.

What a head does about classes of few samples is decided by pretending: a quarter of the classes is fitted again, to a
few of their samples, and the samples set aside of all classes judge; then it is the next quarter's turn. Large classes
pay for the help that small ones get, so the least help is taken that is as good as the best, within the error of the
accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitreplay._floor.seeds import seed_for
from bitreplay.bits import PackedBits
from bitreplay.heads import Head, fit_temperature, held_out_loss
from bitreplay.memory import Label

__all__ = [
    "ENOUGH",
    "FEW",
    "HELD_OUT",
    "HeldOut",
    "can_pretend",
    "choose_options",
    "choose_sparingly",
    "open_few_options",
    "pretend",
    "split",
]

HELD_OUT = 0.2  # RanPAC (McDonnell et al., NeurIPS 2023): a fifth of a task's samples decides its ridge
ENOUGH = 50  # ours: held-out samples that options are chosen by; benchmarks/choice.py: fewer gain nothing
FEW = 10  # ours: held-out samples that a temperature is fitted to; without one, scores are far too sure
PRETENDED = 5  # the field's few-shot protocols: so many samples of a new class
TURNS = 4  # ours: a quarter is small at a time, as on average over the sessions of those protocols (23 %)
ALL_TURNS = 1000  # ours: classes up to which every quarter has its turn; of more, one quarter says enough
PRETENDERS, MANY = 10, 100  # ours: classes that it takes to pretend, and samples of each at least
JUDGES = 1000  # ours: held-out samples that it takes: an error of 1.6 points at most

Targets = npt.NDArray[np.intp]
Scores = npt.NDArray[np.float64]


class HeldOut(NamedTuple):
    """Samples by class: those to fit mixtures to, and those held out."""

    kept: dict[Label, PackedBits]
    held: dict[Label, PackedBits]

    @property
    def n_held(self) -> int:
        """Number of held-out samples."""
        return sum(map(len, self.held.values()))


def split(samples: Mapping[Label, PackedBits], seed: int) -> HeldOut:
    """Hold out a fifth of every class, rounded down.

    Examples
    --------
    >>> from bitreplay.bits import pack
    >>> parts = split({"cup": pack(np.eye(10)), "mug": pack(np.eye(10)[:4])}, seed=0)
    >>> [len(bits) for bits in parts.held.values()]
    [2, 0]
    """
    rng = np.random.default_rng(seed_for(seed, "held out"))
    kept, held = {}, {}
    for label, bits in samples.items():
        order = rng.permutation(len(bits))
        n_held = int(HELD_OUT * len(bits))
        kept[label], held[label] = bits[order[n_held:]], bits[order[:n_held]]
    return HeldOut(kept, held)


def _large(samples: Mapping[Label, PackedBits]) -> list[Label]:
    return [label for label, bits in samples.items() if len(bits) >= MANY]


def can_pretend(samples: Mapping[Label, PackedBits]) -> bool:
    """Whether there are enough large classes to pretend that half of them are small."""
    n_held = sum(int(HELD_OUT * len(bits)) for bits in samples.values())
    return len(_large(samples)) >= PRETENDERS and n_held >= JUDGES


def pretend(kept: Mapping[Label, PackedBits], seed: int) -> list[dict[Label, PackedBits]]:
    """A few samples of a quarter of the classes, for every turn; whose turn it is does not depend on their order."""
    drawn = sorted(kept, key=lambda label: seed_for(seed, "pretend", label))
    turns = TURNS if len(kept) <= ALL_TURNS else 1
    return [{label: kept[label][:PRETENDED] for label in drawn[turn::TURNS]} for turn in range(turns)]


def open_few_options(head: Head) -> dict[str, tuple[Any, ...]]:
    """Options for classes of few samples that a head leaves open; other people's heads may not know of such."""
    return head.open_few_options() if hasattr(head, "open_few_options") else {}


def choose_options(
    head: Head, score: Callable[[Head], Scores], targets: Targets, options: Mapping[str, tuple[Any, ...]]
) -> tuple[Head, Scores]:
    """Choose a head's open options one after another, each by the likelihood of held-out targets.

    Returns the head with its options set, and its scores of the held-out samples.

    Parameters
    ----------
    head : Head
        With open options.
    score : callable
        Fits a head and scores the held-out samples.
    targets : ndarray
        Their classes, as columns of the scores.
    options : mapping
        The options to be decided, in this order, and the values to choose from.
    """

    def judged(values: dict[str, Any]) -> tuple[float, dict[str, Any], Scores]:
        scores = score(head.decided(**values))
        return held_out_loss(scores, targets, fit_temperature(scores, targets)), values, scores

    # The value in the middle is the default, with which the others are tried.
    best = judged({name: values[len(values) // 2] for name, values in options.items()})
    for name, values in options.items():
        _, chosen, _ = best
        others = [judged({**chosen, name: value}) for value in values if value != chosen[name]]
        best = min([best, *others], key=lambda one: one[0])
    return head.decided(**best[1]), best[2]


def choose_sparingly(
    head: Head, right: Callable[[Head], float], n_judges: int, options: Mapping[str, tuple[Any, ...]]
) -> Head:
    """Decide open options one after the other: the first value whose accuracy is within one error of the best.

    The one-standard-error rule (Breiman et al., "Classification and Regression Trees", 1984).

    Parameters
    ----------
    head : Head
        With open options.
    right : callable
        Fits a head and gives its accuracy on the held-out samples.
    n_judges : int
        Their number.
    options : mapping
        The options to be decided, in this order, and the values to choose from, from the least to the greatest.
    """
    for name, values in options.items():
        rates = [right(head.decided(**{name: value})) for value in values]
        error = (max(rates) * (1 - max(rates)) / n_judges) ** 0.5
        head = head.decided(**{name: next(v for v, r in zip(values, rates, strict=True) if r >= max(rates) - error)})
    return head
