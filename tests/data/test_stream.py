"""Streams: which samples come when, and that none is lost, invented or shown twice."""

import numpy as np
import pytest

from bitreplay.data import as_stream, load_dataset, make_scenario
from bitreplay.data._stream import BLUR, IMBALANCE, MOMENTS
from bitreplay.errors import InputError
from bitreplay.runs import Setting


@pytest.fixture(scope="module")
def tasks():
    return make_scenario(load_dataset("digits"), sizes=[4, 3, 2, 1])


def coming(stream):
    return np.concatenate([task.train.indices for task in list(stream)[1:]])


@pytest.mark.parametrize("kind", ["online", "blurry"])
def test_every_sample_comes_once(tasks, kind):
    stream = as_stream(tasks, kind, batch=7)
    everything = np.concatenate([stream[0].train.indices, coming(stream)])
    assert np.array_equal(np.sort(everything), np.sort(np.concatenate([task.train.indices for task in tasks])))
    assert MOMENTS / 2 <= len(stream) <= 2 * MOMENTS
    assert [task.id for task in stream] == list(range(len(stream)))
    whole = [len(task.train) % 7 == 0 for task in list(stream)[1:]]
    assert sum(not one for one in whole) <= len(tasks) - 1  # only the end of a task may be an incomplete batch


@pytest.mark.parametrize("kind", ["online", "blurry", "longtail"])
def test_a_class_is_new_where_its_first_sample_comes_and_is_tested_from_then_on(tasks, kind):
    stream, seen = as_stream(tasks, kind), set()
    for task in stream:
        there = set(task.train.labels.tolist())
        assert set(task.classes.tolist()) == there - seen
        assert set(task.test.labels.tolist()) == there - seen
        seen |= there
        assert set(stream.test_seen(task.id).labels.tolist()) == seen
    assert seen == set(range(10))


def test_online_streams_keep_the_order_of_tasks_but_not_of_samples(tasks):
    stream, begin = as_stream(tasks, "online"), 0
    order = coming(stream)
    for task in list(tasks)[1:]:
        own = order[begin : begin + len(task.train)]
        begin += len(task.train)
        assert set(own) == set(task.train.indices)
        assert not np.array_equal(own, task.train.indices)
    assert stream[0].train.indices.tolist() == tasks[0].train.indices.tolist()


def test_blurry_streams_bring_classes_back_and_early(tasks):
    stream = as_stream(tasks, "blurry")
    labels = np.concatenate([task.train.labels for task in list(stream)[1:]])
    for c in tasks[0].classes:
        total = int((tasks[0].train.labels == c).sum())
        assert (labels == c).sum() == int(BLUR * total)
    last = np.flatnonzero(labels == tasks[0].classes[0])
    assert last.min() < len(labels) / 3
    assert last.max() > 2 * len(labels) / 3
    early = np.flatnonzero(labels == tasks[3].classes[0])
    assert early.min() < len(labels) / 3


def test_long_tails_follow_the_law(tasks):
    stream = as_stream(tasks, "longtail")
    labels = np.concatenate([task.train.labels for task in list(stream)[1:]])
    sizes = np.sort(np.bincount(labels)[np.bincount(labels) > 0])[::-1]
    later = np.concatenate([task.train.labels for task in list(tasks)[1:]])
    largest = np.bincount(later)[np.unique(later)].min()
    expected = [max(1, round(largest * IMBALANCE ** (-i / 5))) for i in range(6)]
    assert sizes.tolist() == expected
    assert len(set(coming(stream))) == len(labels)


def test_the_seed_decides_and_mistakes_are_refused(tasks):
    one, two, other = (coming(as_stream(tasks, "blurry", seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    for wrong in ({"stream": "fast"}, {"stream": "online", "batch": 0}, {"stream": "online", "seed": -1}):
        with pytest.raises(InputError):
            as_stream(tasks, **wrong)


def test_a_stream_needs_tasks_to_come_from_and_its_order_has_a_seed(tasks):
    with pytest.raises(InputError, match="at least one more task"):
        as_stream(make_scenario(load_dataset("digits"), tasks=0), "longtail")
    orders = [coming(Setting("digits", sizes=[4, 6], stream="online", draw=draw).scenario()) for draw in (0, 1)]
    assert not np.array_equal(*orders)
    assert np.array_equal(*map(np.sort, orders))
