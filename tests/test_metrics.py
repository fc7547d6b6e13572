"""Metrics against loops over states, tasks and classes, on unequal tasks and classes."""

import json
import math

import numpy as np
import pytest
from hypothesis import given

from bitreplay import metrics
from bitreplay.errors import InputError
from bitreplay.evaluation import History
from tests.evaluation.examples import histories, random_history, steady


def share(history, state, tasks, right=None, count=None):
    """Right answers per sample on the classes of some tasks, counted one by one."""
    right, count = (history.right, history.count) if right is None else (right, count)
    n_right = n_count = column = 0
    for task, classes in enumerate(history.classes):
        for _ in classes:
            if task in tasks:
                n_right += int(right[state, column])
                n_count += int(count[state, column])
            column += 1
    return n_right / n_count if n_count else math.nan


@steady
@given(histories(train=True))
def test_accuracy_per_state_weighs_samples(history):
    n = history.n_states
    expected = [share(history, t, range(t + 1)) for t in range(n)]
    assert metrics.per_state(history) == pytest.approx(expected)
    assert metrics.average(history) == pytest.approx(sum(expected) / n)
    assert metrics.final(history) == pytest.approx(expected[-1])
    train = [share(history, t, range(t + 1), history.train_right, history.train_count) for t in range(n)]
    assert metrics.per_state(history, "train") == pytest.approx(train)


@steady
@given(histories())
def test_the_matrix_and_what_is_forgotten(history):
    n = history.n_states
    matrix = [[share(history, t, [j]) if j <= t else math.nan for j in range(n)] for t in range(n)]
    assert metrics.accuracy_matrix(history) == pytest.approx(np.array(matrix), nan_ok=True)
    forgotten = [max(matrix[t][j] for t in range(j, n - 1)) - matrix[-1][j] for j in range(n - 1)]
    transfer = [matrix[-1][j] - matrix[j][j] for j in range(n - 1)]
    mean = (lambda values: sum(values) / len(values)) if n > 1 else (lambda _: math.nan)
    assert metrics.forgetting(history) == pytest.approx(mean(forgotten), nan_ok=True)
    assert metrics.backward_transfer(history) == pytest.approx(mean(transfer), nan_ok=True)


@steady
@given(histories())
def test_init_past_and_new_are_disjoint_and_make_up_all(history):
    groups = metrics.init_past_new(history)
    for t in range(history.n_states):
        expected = [share(history, t, [0]), share(history, t, range(1, t)), share(history, t, [t] if t else [])]
        got = [groups.init[t], groups.past[t], groups.new[t]]
        assert got == pytest.approx(expected, nan_ok=True)
        assert groups.all[t] == pytest.approx(share(history, t, range(t + 1)))


@steady
@given(histories())
def test_the_harmonic_mean_of_first_and_later_classes(history):
    base, new = share(history, -1, [0]), share(history, -1, range(1, history.n_states))
    assert metrics.later(history) == pytest.approx(new, nan_ok=True)
    expected = 0.0 if base == 0 or new == 0 else 1 / ((1 / base + 1 / new) / 2)
    if math.isnan(base) or math.isnan(new):
        expected = math.nan
    assert metrics.harmonic_mean(history) == pytest.approx(expected, nan_ok=True)


@steady
@given(histories())
def test_classes_and_confusion(history):
    per_class = metrics.per_class(history)
    confusion = metrics.confusion(history)
    for row, count in enumerate(history.count[-1]):
        if count:
            assert per_class[row] == history.right[-1, row] / count == confusion[row, row]
            assert confusion[row].sum() == pytest.approx(1)
            assert confusion[row] == pytest.approx(history.confusion[row] / count)
        else:
            assert np.isnan(per_class[row])
            assert np.isnan(confusion[row]).all()
    for state in range(history.n_states):
        unseen = metrics.per_class(history, state)[history.classes_seen[state] :]
        assert np.isnan(unseen).all()


@steady
@given(histories(min_tasks=2))
def test_forgetting_bounds_the_loss(history):
    """The best earlier accuracy is at least the first one; they agree where a task has only one earlier state."""
    assert metrics.forgetting(history) >= -metrics.backward_transfer(history) - 1e-12
    if history.n_states == 2:
        assert metrics.forgetting(history) == pytest.approx(-metrics.backward_transfer(history))


def test_unequal_tasks_by_hand():
    """A task of 50 classes and one of 1 class: states weigh samples, forgetting weighs tasks."""
    figures = {"memory_bits": 0, "working_set_bits": 0, "seconds": 0}
    first = 10 * np.eye(50, dtype=int)
    second = np.zeros((51, 51), dtype=int)
    second[np.arange(50), np.arange(50)] = 8
    second[:50, 50] = 2
    second[50, 0] = 100
    history = History.empty("by hand").append(range(50), first, **figures).append([50], second, **figures)
    third = np.zeros((52, 52), dtype=int)
    third[:51, :51], third[51, 51] = second, 10
    history = history.append([51], third, **figures)
    assert metrics.per_state(history) == pytest.approx([1, 400 / 600, 410 / 610])
    assert metrics.average(history) == pytest.approx((1 + 400 / 600 + 410 / 610) / 3)
    assert metrics.forgetting(history) == pytest.approx((0.2 + 0.0) / 2)
    assert metrics.backward_transfer(history) == pytest.approx((-0.2 + 0.0) / 2)
    groups = metrics.init_past_new(history)
    assert (groups.init[-1], groups.past[-1], groups.new[-1]) == (0.8, 0.0, 1.0)
    assert metrics.later(history) == pytest.approx(10 / 110)
    assert metrics.harmonic_mean(history) == pytest.approx(2 / (1 / 0.8 + 110 / 10))


def test_standard_error_is_that_of_a_drawn_test_set():
    """The spread of accuracies over many drawn test sets is what the formula says."""
    drawn = np.random.default_rng(0).binomial(400, 0.7, 4000)
    history = History.empty("x").append([0, 1], [[280, 120], [0, 0]], memory_bits=0, working_set_bits=0, seconds=0)
    assert metrics.standard_error(history)[0] == pytest.approx((drawn / 400).std(), rel=0.05)


@pytest.mark.parametrize("answers", [[10, 0], [0, 10]])
def test_a_few_samples_that_are_all_right_or_all_wrong_prove_little(answers):
    history = History.empty("x").append([0, 1], [answers, [0, 0]], memory_bits=0, working_set_bits=0, seconds=0)
    assert metrics.standard_error(history)[0] == pytest.approx(np.sqrt(0.05 * 0.95 / 10))


@steady
@given(histories())
def test_the_summary_is_strict_json_and_repeats_the_metrics(history):
    summary = json.loads(json.dumps(metrics.summary(history), allow_nan=False))
    assert summary["average"] == metrics.average(history)
    assert summary["per_state"][-1] == summary["final"] == metrics.final(history)
    assert summary["initial"] == metrics.per_state(history)[0]
    assert (summary["forgetting"] is None) == (history.n_states == 1)
    assert (summary["past"] is None) == np.isnan(metrics.init_past_new(history).past[-1])
    assert summary["memory_bits"] == history.memory_bits[-1]
    assert summary["seconds"] == pytest.approx(sum(history.seconds))


def test_refusals():
    with pytest.raises(InputError, match="history is empty"):
        metrics.average(History.empty("x"))
    with pytest.raises(InputError, match="evaluate with train_accuracy=True"):
        metrics.per_state(random_history([2]), "train")
    with pytest.raises(InputError, match="'test' or 'train'"):
        metrics.per_state(random_history([2]), "valid")
    for state in (2, -3):
        with pytest.raises(InputError, match=f"one of the 2 states; got {state}"):
            metrics.per_class(random_history([2, 1]), state)


def test_states_without_new_classes_are_states_but_not_tasks():
    """A stream: 2 classes, none, one, none; by hand from the answers."""
    history = History.empty("stream")
    numbers = {"memory_bits": 1, "working_set_bits": 1, "seconds": 0.1}
    history = history.append((5, 7), [[9, 1], [2, 8]], **numbers)
    history = history.append((), [[10, 0], [1, 9]], **numbers)
    history = history.append((3,), [[8, 1, 1], [1, 8, 1], [0, 0, 5]], **numbers)
    history = history.append((), [[7, 1, 2], [1, 9, 0], [1, 0, 4]], **numbers)
    assert history.task_sizes == (2, 0, 1, 0)
    assert metrics.per_state(history) == pytest.approx([0.85, 0.95, 21 / 25, 20 / 25])
    assert metrics.accuracy_matrix(history)[:, 0] == pytest.approx([0.85, 0.95, 0.8, 0.8])
    assert metrics.accuracy_matrix(history)[2:, 1] == pytest.approx([1.0, 0.8])
    assert metrics.forgetting(history) == pytest.approx(np.mean([0.95 - 0.8, 1.0 - 0.8]))
    assert metrics.backward_transfer(history) == pytest.approx(np.mean([0.8 - 0.85, 0.8 - 1.0]))
    assert np.isnan(metrics.init_past_new(history).new[[1, 3]]).all()
    assert History.from_json(history.to_json()) == history
