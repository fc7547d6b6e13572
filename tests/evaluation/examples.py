"""Histories of learners that nobody ran: counts drawn at random, or by a rule that looks like learning."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from bitreplay.evaluation import History

# Fixed examples, and no deadline: a busy machine must not fail a test.
steady = settings(derandomize=True, deadline=None, max_examples=60)


@st.composite
def histories(draw, train=False, min_tasks=1, max_tasks=5):
    """Any history: unequal tasks, unequal classes, classes without a test sample."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=min_tasks, max_size=max_tasks))
    return random_history(sizes, seed=draw(st.integers(0, 2**32 - 1)), train=train)


def random_history(sizes, seed=0, *, train=False, learner="guessing", notes=None):
    """Answers without any rule; the number of test samples of a class changes from state to state."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(3 * sum(sizes)).tolist()
    history = History.empty(learner, notes)
    begin = 0
    for size in sizes:
        new = order[begin : begin + size]
        begin += size
        table = _random_table(rng, (*history.task_sizes, size))
        history = history.append(
            new,
            table,
            memory_bits=int(rng.integers(1000)),
            working_set_bits=int(rng.integers(1000)),
            seconds=float(rng.random()),
            train_confusion=_random_table(rng, (*history.task_sizes, size)) if train else None,
            answers=random_answers(table, rng),
        )
    return history


def random_answers(table, rng):
    """Answers that a confusion may have come from, class after class."""
    return np.concatenate([rng.permutation(np.arange(row.sum()) < row[c]) for c, row in enumerate(table)])


def _random_table(rng, sizes):
    n_classes = sum(sizes)
    table = rng.integers(0, 5, (n_classes, n_classes)) * rng.integers(0, 2, (n_classes, 1))
    table[np.cumsum((0, *sizes[:-1])), 0] += 1  # a sample of every task
    return table


def plausible_history(
    sizes, accuracy, *, seed=0, loss=0.0, samples=50, bits_per_class=1000, working_set=500, learner="GBM", notes=None
):
    """A learner that is right with probability `accuracy` on new classes and loses `loss` of it with every task."""
    rng = np.random.default_rng(seed)
    history = History.empty(learner, notes)
    order = np.random.default_rng(1993).permutation(sum(sizes)).tolist()
    known = 0
    for state, size in enumerate(sizes):
        new = order[known : known + size]
        known += size
        task = np.repeat(np.arange(state + 1), sizes[: state + 1])
        rate = np.clip((accuracy - 0.001 * known) * (1 - loss) ** (state - task), 0, 1)
        table = np.zeros((known, known), dtype=np.int64)
        for c in range(known):
            right = rng.binomial(samples, rate[c])
            # what is wrong goes to newer classes, as it does when a learner forgets
            share = np.where(np.arange(known) == c, 0.0, 1.0 + 20 * loss * (task == state))
            table[c] = rng.multinomial(samples - right, share / share.sum()) if known > 1 else 0
            table[c, c] = right if known > 1 else samples
        history = history.append(
            new,
            table,
            memory_bits=bits_per_class * known,
            working_set_bits=working_set * known,
            seconds=0.5 + float(rng.random()),
        )
    return history
