"""Histories without a part of their test samples: the counts as they would have been without these.

Samples are left out class by class, in every state and every history alike, so that differences between methods stay
differences on the same samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from bitreplay.evaluation import History

PARTS = 20  # ours: the usual number of groups of a jackknife; more would change the error by some percent of itself

View = Callable[[History], History]


def n_parts(histories: Sequence[History]) -> int:
    """Parts that the test samples can be divided into, some of every class in each; 0 if no answers were stored."""
    if not all(history.answers for history in histories):
        return 0
    return min(PARTS, *(int(history.count[history.count > 0].min()) for history in histories))


def thinned(part: int, parts: int) -> View:
    """A function that drops every n-th sample of each class from a history, starting with sample `part`."""

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
