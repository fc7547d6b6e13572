"""A learner's answers after every task, as numbers of correct answers: images → features → bits → class → *history*.

A history holds no rates, only counts per (state, class). State t is the time after task t was learned; classes are
in the order in which they were learned. Everything in tables and plots is computed from these counts
(:mod:`bitreplay.metrics`), also for unequal tasks. An unfinished run is a history with fewer states.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, number
from bitreplay.errors import FileFormatError, InputError
from bitreplay.evaluation._checks import (
    PER_STATE,
    TRAIN_TABLES,
    Answers,
    Counts,
    answers_of,
    check,
    table_of,
)
from bitreplay.evaluation._provenance import Provenance

SCHEMA = 2  # 2 has `answers` and `made`
KIND = "bitreplay history"
TABLES = ("right", "count", "confusion")


@dataclass(frozen=True, eq=False)
class History:
    """Correct answers of one learner on one scenario, after each of its tasks.

    Parameters
    ----------
    classes : tuple of tuples of int
        The classes of every task learned so far, in learning order. There is one state per task. In a stream, tasks may
        have no new classes.
    right : int64 array (states, classes)
        Correct answers on the test samples of each class after each state; 0 where the class is not yet known. Columns
        are all classes in learning order.
    count : int64 array (states, classes)
        Test samples of each class; 0 where it is not yet known.
    confusion : int64 array (classes, classes)
        Test samples by true (row) and predicted class (column) in the last state, in learning order.
    memory_bits, working_set_bits : tuple of int
        What the learner stores for old classes, as the paper counts it, and what it reads to decide; per state.
    seconds : tuple of float
        Time taken to learn each task. Not compared: two runs with the same answers are equal.
    learner : str
        The learner's name.
    train_right, train_count : int64 array (states, classes), optional
        The same as `right` and `count` on training samples, if requested.
    notes : mapping of str to str
        What a reader must know besides the numbers, such as ``{"pretrained": "ImageNet"}``.
    answers : tuple of bool arrays, optional
        For every state, which test samples were classified correctly: class by class in learning order, each class's
        samples always in the same order. Two learners can then be compared sample by sample.
    made : Provenance, optional
        Which version made it, when, where, and how long it took. Not compared.

    Examples
    --------
    >>> history = History.empty("guessing", {"encoder": "none"})
    >>> history = history.append((7, 3), [[8, 2], [1, 9]], memory_bits=128, working_set_bits=0, seconds=0.1)
    >>> table = [[6, 1, 3], [1, 8, 1], [0, 0, 5]]
    >>> history = history.append((5,), table, memory_bits=192, working_set_bits=0, seconds=0.1)
    >>> history.right
    array([[8, 9, 0],
           [6, 8, 5]])
    >>> history.count
    array([[10, 10,  0],
           [10, 10,  5]])
    >>> History.from_json(history.to_json()) == history
    True
    """

    classes: tuple[tuple[int, ...], ...]
    right: Counts
    count: Counts
    confusion: Counts
    memory_bits: tuple[int, ...]
    working_set_bits: tuple[int, ...]
    seconds: tuple[float, ...]
    learner: str
    train_right: Counts | None = None
    train_count: Counts | None = None
    notes: Mapping[str, str] = field(default_factory=dict)
    answers: tuple[Answers, ...] = ()
    made: Provenance | None = None

    def __post_init__(self) -> None:
        freeze = object.__setattr__
        freeze(self, "classes", tuple(tuple(integer("a class", c) for c in task) for task in self.classes))
        for name in (*TABLES, *TRAIN_TABLES):
            if getattr(self, name) is not None:
                freeze(self, name, table_of(name, getattr(self, name)))
        for name in ("memory_bits", "working_set_bits"):
            freeze(self, name, tuple(integer(name, value, least=0) for value in getattr(self, name)))
        freeze(self, "seconds", tuple(number("seconds", value, 0) for value in self.seconds))
        if not isinstance(self.notes, Mapping):
            raise InputError(f"notes must be a mapping of text to text; got {self.notes!r}")
        freeze(self, "notes", dict(self.notes))
        freeze(self, "answers", tuple(answers_of(answers) for answers in self.answers))
        if not isinstance(self.made, Provenance | None):
            raise InputError(f"made must be a Provenance or None; got {self.made!r}")
        check(self)

    @classmethod
    def empty(cls, learner: str, notes: Mapping[str, str] | None = None, made: Provenance | None = None) -> History:
        """A history without tasks, to append to."""
        nothing = np.zeros((0, 0), dtype=np.int64)
        return cls((), nothing, nothing, nothing, (), (), (), learner, notes=notes or {}, made=made)

    def append(
        self,
        classes: Iterable[int],
        confusion: npt.ArrayLike,
        *,
        memory_bits: int,
        working_set_bits: int,
        seconds: float,
        train_confusion: npt.ArrayLike | None = None,
        answers: npt.ArrayLike | None = None,
    ) -> History:
        """A history with one more state.

        Parameters
        ----------
        classes : iterable of int
            The new task's classes.
        confusion : array (classes, classes)
            Test samples of all classes seen so far, including these, by true and predicted class in learning order.
        memory_bits, working_set_bits, seconds
            The learner's figures in this state.
        train_confusion : array (classes, classes), optional
            The same as `confusion` on training samples: in all states or in none.
        answers : array of bool, optional
            Which test samples were classified correctly, class by class: in all states or in none.
        """
        new = tuple(classes)
        n_classes = len(self.learning_order) + len(new)
        table = table_of("confusion", confusion, n_classes)
        added: dict[str, Any] = {}
        if train_confusion is not None:
            train = table_of("train_confusion", train_confusion, n_classes)
            if self.n_states and self.train_right is None:
                raise InputError("train_confusion was given, but the earlier states have no train accuracy")
            added["train_right"] = _stacked(self.train_right, np.diagonal(train))
            added["train_count"] = _stacked(self.train_count, train.sum(axis=1))
        elif self.train_right is not None:
            raise InputError("the earlier states have a train accuracy: train_confusion must be given")
        if self.n_states and bool(self.answers) != (answers is not None):
            raise InputError("answers must be given in all states or in none")
        return replace(
            self,
            classes=(*self.classes, new),
            right=_stacked(self.right, np.diagonal(table)),
            count=_stacked(self.count, table.sum(axis=1)),
            confusion=table,
            memory_bits=(*self.memory_bits, memory_bits),
            working_set_bits=(*self.working_set_bits, working_set_bits),
            seconds=(*self.seconds, seconds),
            answers=() if answers is None else (*self.answers, answers_of(answers)),
            **added,
        )

    @property
    def n_states(self) -> int:
        """Tasks learned so far."""
        return len(self.classes)

    @property
    def learning_order(self) -> tuple[int, ...]:
        """All classes in the order in which they were learned: the columns."""
        return tuple(c for task in self.classes for c in task)

    @property
    def task_sizes(self) -> tuple[int, ...]:
        """Classes per task."""
        return tuple(map(len, self.classes))

    @property
    def classes_seen(self) -> tuple[int, ...]:
        """Number of classes known in every state."""
        return tuple(int(n) for n in np.cumsum(self.task_sizes, dtype=np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, History):
            return NotImplemented
        names = (f.name for f in fields(self) if f.name not in ("seconds", "made"))
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def to_json(self) -> str:
        """As text: one line per row of a table."""
        content: dict[str, Any] = {
            "kind": KIND,
            "schema": SCHEMA,
            "learner": self.learner,
            "notes": dict(self.notes),
            "classes": self.classes,
            **{name: getattr(self, name) for name in PER_STATE},
        }
        if self.made is not None:
            content["made"] = asdict(self.made)
        lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
        for name in (*TABLES, *TRAIN_TABLES):
            table = getattr(self, name)
            if table is not None:
                rows = ",\n".join(f"    {json.dumps(row)}" for row in table.tolist())
                lines.append(f"  {json.dumps(name)}: [\n{rows}\n  ]")
        if self.answers:
            packed = (base64.b64encode(np.packbits(answers).tobytes()).decode() for answers in self.answers)
            lines.append('  "answers": [\n' + ",\n".join(f'    "{text}"' for text in packed) + "\n  ]")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str | bytes, name: str = "the text") -> History:
        """Read the history back; `name` is the file's, for messages."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError):
            raise FileFormatError(f"{name} is truncated or damaged: it is not valid JSON") from None
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise FileFormatError(f"{name} does not hold a history: its entry 'kind' should be {KIND!r}")
        schema = content.get("schema")
        if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
            raise FileFormatError(f"{name} is damaged: its schema is {schema!r}, not a positive integer")
        if schema > SCHEMA:
            raise FileFormatError(
                f"{name} has schema {schema}, but this bitreplay reads up to {SCHEMA}: please upgrade it"
            )
        values = {key: value for key, value in content.items() if key not in ("kind", "schema")}
        try:
            for key in (*TABLES, *TRAIN_TABLES):
                if not values.get(key, True):  # no rows: the width is lost
                    values[key] = np.zeros((0, 0), dtype=np.int64)
            if "made" in values:
                values["made"] = Provenance(**values["made"])
            n_samples = np.asarray(values["count"]).sum(axis=1)
            values["answers"] = tuple(
                _unpacked(text, int(n)) for text, n in zip(values.get("answers", ()), n_samples, strict=False)
            )
            return cls(**values)
        except (TypeError, ValueError, AttributeError, OverflowError, KeyError) as error:
            raise FileFormatError(f"{name} is damaged; it does not hold a history: {error}") from None


def _stacked(table: Counts | None, row: Counts) -> Counts:
    """A table with one more row, and zeros where older rows are too short."""
    if table is None:
        return row[None, :]
    return np.vstack([np.pad(table, ((0, 0), (0, len(row) - table.shape[1]))), row])


def _unpacked(text: str, n_samples: int) -> Answers:
    """Answers as :meth:`History.to_json` writes them."""
    packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8)
    if len(packed) != -(-n_samples // 8):
        raise ValueError(f"answers of {n_samples} samples are {-(-n_samples // 8)} bytes; got {len(packed)}")
    return np.unpackbits(packed, count=n_samples).astype(np.bool_)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)
