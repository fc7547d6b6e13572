"""Scenarios: properties that hold for every division into tasks, the paper's splits, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitreplay.data import Scenario, from_arrays, load_dataset, make_scenario
from bitreplay.errors import InputError
from tests.data.examples import tiny_dataset


@st.composite
def divisions(draw: st.DrawFn) -> dict[str, Any]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    n_classes = sum(sizes)
    order = draw(st.one_of(st.none(), st.integers(0, 2**32 - 1), st.permutations(range(n_classes))))
    shots = draw(st.one_of(st.none(), st.integers(1, 3)))
    return {"sizes": sizes, "order": order, "samples_per_class": shots, "seed": draw(st.integers(0, 5))}


@settings(max_examples=60, deadline=None)
@given(divisions())
def test_properties_of_every_scenario(division: dict[str, Any]) -> None:
    sizes, order = division["sizes"], division["order"]
    n_classes = sum(sizes)
    dataset = tiny_dataset(n_classes)
    scenario = make_scenario(dataset, **division)

    assert [len(task.classes) for task in scenario] == sizes
    assert [task.id for task in scenario] == list(range(len(sizes)))
    learned = scenario.classes_seen(len(scenario) - 1)
    assert sorted(learned.tolist()) == list(range(n_classes))  # every class in exactly one task
    if order is None:
        assert learned.tolist() == list(range(n_classes))
    elif isinstance(order, int):
        assert learned.tolist() == np.random.RandomState(order).permutation(n_classes).tolist()
    else:
        assert learned.tolist() == list(order)

    seen: set[int] = set()
    for task in scenario:
        shots = division["samples_per_class"] if task.id else None
        assert set(task.train.labels) == set(task.test.labels) == set(task.classes.tolist())
        assert (np.bincount(task.train.labels)[task.classes] == (shots or 3)).all()
        assert (np.bincount(task.test.labels)[task.classes] == 2).all()
        now = scenario.test_seen(task.id)
        assert len(now) == 2 * len(scenario.classes_seen(task.id))
        assert seen < set(now.indices.tolist())  # it grows
        seen = set(now.indices.tolist())
    assert seen == set(range(len(dataset.test)))

    again = make_scenario(tiny_dataset(n_classes), **division)
    for task, other in zip(scenario, again, strict=True):
        np.testing.assert_array_equal(task.train.indices, other.train.indices)
        np.testing.assert_array_equal(task.classes, other.classes)


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 60), st.data())
def test_any_number_of_tasks_finds_a_base(n_classes: int, data: st.DataObject) -> None:
    tasks = data.draw(st.integers(1, n_classes - 1))
    sizes = [len(task.classes) for task in make_scenario(tiny_dataset(n_classes, 1, 1), tasks)]
    assert len(sizes) == tasks + 1
    assert sum(sizes) == n_classes
    assert len(set(sizes[1:])) == 1
    assert sizes[0] <= max(1, n_classes // 2)
    if (n_classes - n_classes // 2) % tasks == 0:
        assert sizes[0] == n_classes // 2


@pytest.mark.parametrize(
    ("n_classes", "tasks", "base", "increment"),
    [(100, 5, 50, 10), (100, 10, 50, 5), (100, 20, 40, 3), (200, 5, 100, 20), (200, 20, 100, 5), (10, 8, 2, 1)],
)
def test_the_splits_of_the_paper(n_classes: int, tasks: int, base: int, increment: int) -> None:
    dataset = tiny_dataset(n_classes, 1, 1)
    expected = [base] + [increment] * tasks
    options: list[dict[str, Any]] = [
        {"tasks": tasks},
        {"tasks": tasks, "base": base},
        {"tasks": tasks, "increment": increment},
        {"base": base, "increment": increment},
        {"tasks": tasks, "base": base, "increment": increment},
        {"sizes": expected},
        {"sizes": np.array(expected)},
    ]
    for some in options:
        assert [len(task.classes) for task in make_scenario(dataset, **some)] == expected


def test_the_order_of_the_field() -> None:
    scenario = make_scenario(tiny_dataset(100, 1, 1), 5)
    assert scenario[0].classes[:5].tolist() == [68, 56, 78, 8, 23]


def test_one_task_and_equal_tasks() -> None:
    dataset = tiny_dataset(6)
    for options in ({"tasks": 0}, {"base": 6}, {"sizes": [6]}):
        scenario = make_scenario(dataset, **options)  # type: ignore[arg-type]
        assert len(scenario) == 1
        assert len(scenario[0].train) == len(dataset.train)
    assert [len(task.classes) for task in make_scenario(dataset, increment=2)] == [2, 2, 2]


def test_few_shots_depend_on_seed_and_class_only() -> None:
    dataset = tiny_dataset(6, per_class=20)

    def chosen(scenario: Scenario) -> dict[int, list[int]]:
        return {
            label: task.train.indices[task.train.labels == label].tolist()
            for task in scenario
            if task.id
            for label in task.classes.tolist()
        }

    one = chosen(make_scenario(dataset, sizes=[2, 4], order=None, samples_per_class=5, seed=3))
    two = chosen(make_scenario(dataset, sizes=[1, 1, 1, 3], order=[1, 5, 4, 3, 2, 0], samples_per_class=5, seed=3))
    assert all(one[label] == two[label] for label in (2, 3, 4, 5))
    other = chosen(make_scenario(dataset, sizes=[2, 4], order=None, samples_per_class=5, seed=4))
    assert one != other
    assert len(make_scenario(dataset, sizes=[2, 4], samples_per_class=5)[0].train) == 40


def test_global_random_state_is_left_alone() -> None:
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1]  # noqa: NPY002
    make_scenario(tiny_dataset(6), 2, samples_per_class=2)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "say how the 10 classes are divided"),
        ({"base": 5}, "say how the 10 classes are divided"),
        ({"sizes": [5, 4]}, "sum to the 10 classes.*sum to 9"),
        ({"sizes": [5, 5, 0]}, r"sizes\[2\]"),
        ({"sizes": []}, "sizes must be a list"),
        ({"sizes": 10}, "sizes must be a list"),
        ({"sizes": [5, 5], "tasks": 1}, "omit tasks, base and increment"),
        ({"tasks": 10}, "10 tasks after task 0 need at least 11 classes"),
        ({"tasks": -1}, "tasks must be an integer"),
        ({"tasks": 2.0}, "tasks must be an integer"),
        ({"tasks": True}, "tasks must be an integer"),
        ({"tasks": 3, "base": 5}, r"sizes=\[5, 2, 2, 1\]"),
        ({"tasks": 6, "base": 5}, "base=5 leaves 5 classes, too few for 6 tasks"),
        ({"tasks": 2, "base": 10}, "base=10 leaves 0 classes"),
        ({"tasks": 0, "base": 5}, "5 classes unused"),
        ({"base": 11, "increment": 1}, "base must be an integer from 1 to 10"),
        ({"base": 4, "increment": 4}, r"sizes=\[4, 4, 2\]"),
        ({"tasks": 3, "increment": 4}, "is not 10"),
        ({"tasks": 3, "base": 5, "increment": 2}, r"5 \+ 3 x 2 is not 10"),
        ({"tasks": 5, "order": [0, 1, 2]}, "missing are 3, 4"),
        ({"tasks": 5, "order": list(range(1, 11))}, "unknown are 10; missing are 0"),
        ({"tasks": 5, "order": [*range(10), 3]}, "11 values, some of them repeated"),
        ({"tasks": 5, "order": "1993"}, "order must be"),
        ({"tasks": 5, "order": -1}, "order must be"),
        ({"tasks": 5, "samples_per_class": 0}, "samples_per_class must be"),
        ({"tasks": 5, "samples_per_class": 4}, "samples_per_class=4 is more than arrays has: class '.' has 3"),
        ({"tasks": 5, "seed": -1}, "seed must be"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_scenario(tiny_dataset(10), **options)


def test_every_class_needs_samples_of_both_kinds() -> None:
    images = np.zeros((4, 2, 2), dtype=np.uint8)
    dataset = from_arrays(images, [0, 0, 1, 1], images, [0, 0, 2, 2], class_names=["mug", "cup", "jug"])
    with pytest.raises(InputError, match="training samples; arrays has none of jug"):
        make_scenario(dataset, sizes=[2, 1])
    dataset = from_arrays(images, [0, 0, 1, 2], images, [0, 0, 2, 2], class_names=["mug", "cup", "jug"])
    with pytest.raises(InputError, match="test samples; arrays has none of cup"):
        make_scenario(dataset, sizes=[2, 1])


def test_tasks_that_do_not_exist() -> None:
    scenario = make_scenario(tiny_dataset(6), 2)
    for task in (-1, 3):
        with pytest.raises(InputError, match="task must lie in"):
            scenario.test_seen(task)


def test_the_summary_shows_every_task() -> None:
    lines = make_scenario(load_dataset("digits"), sizes=[6, 1, 3], order=None).summary().splitlines()
    assert lines[0] == "digits: 10 classes in 3 tasks, 6 + 1 + 3"
    assert lines[1].split() == ["task", "classes", "training", "test", "names"]
    assert lines[2].endswith("0, 1, 2, 3, 4, ...")
    assert lines[3].split()[:2] == ["1", "1"]
    assert len(lines) == 5


def test_the_first_classes_of_an_order() -> None:
    dataset = tiny_dataset(6)
    whole, part = make_scenario(dataset, sizes=[6]), make_scenario(dataset, tasks=2, base=2, classes=4)
    assert part.classes_seen(2).tolist() == whole[0].classes[:4].tolist()
    assert [len(task.classes) for task in part] == [2, 1, 1]
    assert set(part.test_seen(2).labels) == set(whole[0].classes[:4].tolist())
    for classes in (0, 7, 2.5):
        with pytest.raises(InputError, match="classes must be an integer from 1 to 6"):
            make_scenario(dataset, increment=1, classes=classes)  # type: ignore[arg-type]
