"""History: what it refuses, how it grows, and that its file says the same again."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitreplay.errors import FileFormatError, InputError
from bitreplay.evaluation import History, Provenance, made_in_words
from tests.evaluation.examples import histories, random_history, steady

FIGURES = {"memory_bits": 8, "working_set_bits": 16, "seconds": 0.5}


@pytest.fixture
def history():
    return random_history([3, 1, 2], seed=4, train=True, notes={"pretrained": "ImageNet", "Kodierer": "ä|<"})


@pytest.mark.parametrize("train", [False, True])
def test_appending_counts_the_diagonal_and_the_rows(train):
    tables = [np.array([[3, 1], [0, 2]]), np.array([[2, 1, 1], [0, 2, 0], [5, 0, 6]])]
    history = History.empty("a learner")
    for classes, table in zip(((4, 2), (9,)), tables, strict=True):
        history = history.append(classes, table, **FIGURES, train_confusion=2 * table if train else None)
    assert history.right.tolist() == [[3, 2, 0], [2, 2, 6]]
    assert history.count.tolist() == [[4, 2, 0], [4, 2, 11]]
    assert history.confusion.tolist() == tables[1].tolist()
    assert (history.learning_order, history.task_sizes, history.classes_seen) == ((4, 2, 9), (2, 1), (2, 3))
    if train:
        assert (history.train_right == 2 * history.right).all()
        assert (history.train_count == 2 * history.count).all()
    else:
        assert history.train_right is None
        assert history.train_count is None


@steady
@given(histories() | histories(train=True))
def test_the_file_says_the_same_again(history):
    again = History.from_json(history.to_json())
    assert again == history
    assert again.seconds == history.seconds
    assert again.to_json() == history.to_json()


def test_an_empty_history_can_be_kept_and_gone_on_from():
    empty = History.empty("GBM", {"encoder": "none"})
    assert History.from_json(empty.to_json()) == empty
    assert empty.n_states == 0
    one = History.from_json(empty.to_json()).append((1,), [[5]], **FIGURES)
    assert one == empty.append((1,), [[5]], **FIGURES)


def test_equality_leaves_out_the_time_and_nothing_else(history):
    assert replace(history, seconds=(9.0, 9.0, 9.0)) == history
    other = random_history([3, 1, 2], seed=5, train=True, notes=history.notes)
    for name in ("memory_bits", "working_set_bits"):
        assert replace(history, **{name: getattr(other, name)}) != history
    assert replace(history, learner="another") != history
    assert replace(history, notes={}) != history
    assert replace(history, train_right=None, train_count=None) != history
    assert replace(history, train_right=other.train_right, train_count=other.train_count) != history
    counted = {name: getattr(other, name) for name in ("right", "count", "confusion", "answers")}
    assert replace(history, **counted) != history
    assert replace(history, answers=()) != history
    order = np.concatenate([np.arange(n) for n in history.count[-1]])  # another sample of a class was answered right
    shuffled = history.answers[-1][np.lexsort((-order, np.repeat(np.arange(6), history.count[-1])))]
    assert not np.array_equal(shuffled, history.answers[-1])
    assert replace(history, answers=(*history.answers[:-1], shuffled)) != history
    assert replace(history, classes=((90, 91, 92), *history.classes[1:])) != history
    assert history != "a history"


def test_nothing_in_it_can_be_changed(history):
    table = np.array([[5, 0], [0, 5]])
    grown = History.empty("GBM").append((0, 1), table, **FIGURES)
    table[0, 0] = 7
    assert grown.right.tolist() == [[5, 5]]
    with pytest.raises(ValueError, match="read-only"):
        history.right[0, 0] = 0
    with pytest.raises(AttributeError):
        history.learner = "another"


def test_processes_can_hand_it_over(history):
    assert pickle.loads(pickle.dumps(history)) == history


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ((1, 2, 3), (2,), (4, 5))}, "a class is new in one task only"),
        ({"classes": ((), (1, 2, 3), (6, 4, 5))}, "the first one has some"),
        ({"classes": ((1, 2, 3.0), (6,), (4, 5))}, "a class must be an integer; got 3.0"),
        ({"classes": ((1, 2, 3), (6, 7, 8))}, "one per state"),
        ({"memory_bits": (1, 2)}, "memory_bits needs 3 values"),
        ({"memory_bits": (1, 2, -3)}, "memory_bits must be an integer of at least 0; got -3"),
        ({"working_set_bits": (1, 2, True)}, "working_set_bits must be an integer"),
        ({"seconds": (1, 2, float("nan"))}, "seconds must be a number of at least 0; got nan"),
        ({"learner": ""}, "learner must be a name"),
        ({"notes": {"pretrained": True}}, "notes must map text to text"),
        ({"train_count": None}, "belong together"),
        ({"right": np.zeros((3, 6))}, "right must be a table of integers; got float64"),
        ({"right": np.zeros((3, 5), dtype=int)}, r"right must have shape \(states, classes\) = \(3, 6\)"),
        ({"right": np.full((3, 6), 99)}, "right must lie between 0 and count"),
        ({"count": np.full((3, 6), 99)}, "count must be 0 where a class is not yet known"),
        ({"confusion": np.zeros((6, 6), dtype=int)}, "confusion does not match"),
        ({"confusion": np.zeros((5, 5), dtype=int)}, "confusion must be 6 x 6"),
    ],
)
def test_what_cannot_have_been_counted_is_refused(history, changes, message):
    with pytest.raises(InputError, match=message):
        replace(history, **changes)


def test_a_task_without_a_sample_is_refused():
    with pytest.raises(InputError, match="task 1 needs at least one sample in every state from 1 on"):
        History.empty("GBM").append((0,), [[5]], **FIGURES).append((1,), [[5, 0], [0, 0]], **FIGURES)


def test_train_accuracy_in_some_states_only_is_refused(history):
    with pytest.raises(InputError, match="train_confusion must be given"):
        history.append((99,), np.eye(7, dtype=int), **FIGURES)
    without = replace(history, train_right=None, train_count=None)
    with pytest.raises(InputError, match="earlier states have no train accuracy"):
        without.append((99,), np.eye(7, dtype=int), **FIGURES, train_confusion=np.eye(7, dtype=int))


@pytest.mark.parametrize("n_classes", [2, 6, 8])
def test_a_confusion_of_other_classes_is_refused(history, n_classes):
    table = np.eye(n_classes, dtype=int)
    with pytest.raises(InputError, match="confusion must"):
        replace(history, train_right=None, train_count=None).append((99,), table, **FIGURES)


def test_a_newer_file_asks_for_an_upgrade(history):
    text = history.to_json().replace('"schema": 2', '"schema": 3')
    with pytest.raises(
        FileFormatError, match=r"h\.json has schema 3, but this bitreplay reads up to 2: please upgrade"
    ):
        History.from_json(text, "h.json")


def test_a_file_of_the_first_schema_is_read(history):
    first = replace(history, answers=(), made=None)
    text = first.to_json().replace('"schema": 2', '"schema": 1')
    assert "answers" not in text
    assert "made" not in text
    assert History.from_json(text) == first


def test_who_made_it_is_kept_and_not_compared(history):
    made = Provenance("0.2.0", "2026-11-16", "a machine", 1.25)
    again = History.from_json(replace(history, made=made).to_json())
    assert again.made == made
    assert again == history


def test_what_several_were_made_with():
    made = [Provenance("0.2.0", "2026-11-18", "b", 1.0), Provenance("0.2.0", "2026-11-16", "a", 2.0)]
    histories = [History.empty("GBM", made=each) for each in made]
    expected = {"version": "0.2.0", "date": "2026-11-16 to 2026-11-18", "machine": "a; b", "seconds": 3.0}
    assert made_in_words(histories) == expected
    assert made_in_words([*histories, histories[0]]) == expected  # the same history for another seed was made once
    unknown = {"version": "unknown", "date": "unknown", "machine": "unknown", "seconds": 0}
    assert made_in_words([History.empty("GBM")]) == unknown


def test_answers_must_be_those_that_were_counted(history):
    for wrong, message in (
        (history.answers[:2], "answers need 3 states; got 2"),
        ((*history.answers[:2], history.answers[2][:-1]), "one per test sample"),
        ((*history.answers[:2], ~history.answers[2]), "do not match the numbers of correct answers"),
        ((*history.answers[:2], history.answers[2].astype(int)), "vector of booleans"),
    ):
        with pytest.raises(InputError, match=message):
            replace(history, answers=wrong)
    table = np.eye(7, dtype=int)
    with pytest.raises(InputError, match="in all states or in none"):
        history.append((99,), table, **FIGURES, train_confusion=table)


@steady
@given(st.data())
def test_a_truncated_file_is_never_read(data):
    text = random_history([2, 1], train=True).to_json().rstrip()
    with pytest.raises(FileFormatError, match=r"h\.json"):
        History.from_json(text[: data.draw(st.integers(0, len(text) - 1))], "h.json")


def damaged(**changes):
    content = json.loads(random_history([2, 1], seed=3, train=True).to_json())
    content.update(changes)
    return json.dumps({key: value for key, value in content.items() if value != "missing"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 100_000,
        b"\xff\xfe",
        "{}",
        damaged(kind="bitreplay memory"),
        *(damaged(schema=schema) for schema in (True, "1", 0, None)),
        *(
            damaged(**{name: value})
            for name in ("classes", "right", "count", "confusion", "memory_bits", "seconds", "learner")
            for value in ("missing", None, 3, [["a"]], [[1, 2], [1]], [], {"a": 1})
        ),
        *(damaged(notes=value) for value in (None, "text", 3, [], ["ab"], {"a": 1})),
        *(damaged(**{name: "text"}) for name in ("classes", "right", "memory_bits", "seconds")),
        damaged(right=[[0.5, 0, 0], [0, 0, 0]]),
        damaged(right=[[2**64, 0, 0], [0, 0, 0]]),
        damaged(right=[[-1, 0, 0], [0, 0, 0]]),
        damaged(seconds=[1, None]),
        damaged(memory_bits=[1, 2.0]),
        damaged(train_right="missing"),
        damaged(another=1),
        *(damaged(made=value) for value in (None, "text", {"version": "0.2.0"}, {"seconds": -1})),
        *(damaged(answers=value) for value in (None, "text", ["AA=="], ["????", "AA=="], [3, 4])),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(text):
    with pytest.raises(FileFormatError, match=r"h\.json"):
        History.from_json(text, "h.json")


def test_the_file_has_one_line_per_row(history):
    lines = history.to_json().splitlines()
    assert json.dumps(history.right[0].tolist()) + "," in [line.strip() for line in lines]
    assert len(lines) < 60
