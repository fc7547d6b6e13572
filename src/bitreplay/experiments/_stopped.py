"""Stopping after task 0: what a network reaches that never learns again, the least that a method should be better than.

Fine-tuning forgets, and is easily beaten. Whoever only keeps what was learned first forgets nothing, and recognises no
new class: with half of the classes in task 0, that is hard to beat for methods that train the whole network.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bitreplay.evaluation import History

STOPPED = "stops after task 0"


def stopped(history: History) -> History:
    """The history of the same learner, had it kept its answers of task 0 and learned nothing more.

    Test samples of later classes are all answered with a class of task 0: wrongly. It stores nothing.

    Examples
    --------
    >>> history = History.empty("x").append((7, 3), [[8, 2], [1, 9]], memory_bits=128, working_set_bits=0, seconds=0.1)
    >>> table = [[6, 1, 3], [1, 8, 1], [0, 0, 5]]
    >>> history = history.append((5,), table, memory_bits=192, working_set_bits=0, seconds=0.1)
    >>> stopped(history).right
    array([[8, 9, 0],
           [8, 9, 0]])
    """
    right = np.repeat(history.right[:1], len(history.right), axis=0)
    last = history.count[-1]
    confusion = np.diag(right[-1])
    wrong = last - right[-1]
    n_first = len(history.classes[0])
    places = np.arange(len(last))
    others = np.where(places < n_first, (places + 1) % max(n_first, 2), 0)  # which class it was taken for is not known
    confusion[places, others] += wrong
    answers = tuple(
        np.concatenate([history.answers[0], np.zeros(len(given) - len(history.answers[0]), dtype=np.bool_)])
        for given in history.answers
    )
    return replace(
        history,
        right=right,
        confusion=confusion,
        memory_bits=(0,) * len(history.memory_bits),
        working_set_bits=history.working_set_bits[:1] * len(history.working_set_bits),
        seconds=(history.seconds[0], *[0.0] * (len(history.seconds) - 1)),
        train_right=None,
        train_count=None,
        answers=answers,
    )
