"""Any number of readers beside one writer, and writers that queue: every answer is that of a state that existed."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay import GBMClassifier
from bitreplay._floor.threads import blas_threads
from bitreplay.errors import InputError
from tests.attack.scale import times

READERS = 4
RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(40, 12)) * 3
PROBE = RNG.normal(size=(6, 12)).astype(np.float32)


def samples(label: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(label)
    return (CENTRES[label % 40] + rng.normal(size=(n, 12))).astype(np.float32), np.full(n, label)


def make() -> GBMClassifier:
    clf = GBMClassifier(1, p=2, head="bayes", random_state=0)
    X, y = zip(*(samples(label) for label in (0, 1)), strict=True)
    return clf.fit(np.concatenate(X), np.concatenate(y))


@pytest.fixture
def hasty() -> Iterator[None]:
    """Python changes from thread to thread a thousand times as often as usual."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(5e-6)
    yield
    sys.setswitchinterval(before)


def together(*functions: Callable[[], Any]) -> list[Any]:
    """Run functions at once, from one moment on; whatever one raises is raised here."""
    start = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        start.wait()
        return function()

    with ThreadPoolExecutor(len(functions)) as threads:
        return list(threads.map(run, functions))


@pytest.mark.usefixtures("hasty")
def test_every_prediction_is_that_of_a_state_that_existed(tmp_path: Path) -> None:
    """The answers of all states are recorded; what readers see meanwhile must be among them, and in their order."""
    n_updates, n_predictions = times(40, 1000), times(1500, 100_000)
    clf = make()
    recorded = [clf.predict_log_proba(PROBE)]
    done = threading.Event()

    def write() -> int:
        refused = 0
        for update in range(n_updates):
            label = 2 + update % 20
            if update % 40 >= 20:
                clf.forget(label)
            else:
                clf.partial_fit(*samples(label))
            recorded.append(clf.predict_log_proba(PROBE))
            for bad in (np.full((3, 12), np.nan), np.ones((3, 5))):  # refused, and nothing changes
                with pytest.raises(InputError):
                    clf.partial_fit(bad, [50, 51, 52])
                refused += 1
            clf.save(tmp_path / "classifier")
        done.set()
        return refused

    def read() -> list[np.ndarray]:
        seen: list[np.ndarray] = []
        count = 0
        while count < n_predictions // READERS or not done.is_set():
            count += 1
            answer = clf.predict_log_proba(PROBE)
            if not seen or not np.array_equal(seen[-1], answer):
                seen.append(answer)
        return seen

    def load() -> int:
        loaded = 0
        while not done.is_set():
            if (tmp_path / "classifier").exists():
                GBMClassifier.load(tmp_path / "classifier").predict(PROBE)
                loaded += 1
        return loaded

    refused, loaded, *views = together(write, load, *[read] * READERS)
    assert refused == 2 * n_updates
    assert loaded > 0
    known: dict[bytes, list[int]] = {}
    for number, answer in enumerate(recorded):
        known.setdefault(answer.tobytes(), []).append(number)
    assert len(known) > 20
    for seen in views:
        at = 0
        for answer in seen:
            later = [
                number for number in known[answer.tobytes()] if number >= at
            ]  # a KeyError is a state that never was
            at = later[0]
    assert sum(map(len, views)) > READERS


@pytest.mark.usefixtures("hasty")
def test_parallel_writers_lose_nothing() -> None:
    for trial in range(times(15, 1000)):
        clf = make()
        labels = [10 + (trial + writer) % 29 for writer in range(4)]
        together(*(partial(clf.partial_fit, *samples(label)) for label in labels))
        assert set(clf.classes_) == {0, 1, *labels}
        assert [clf.memory_.count(label) for label in labels] == [12] * 4


@pytest.mark.usefixtures("hasty")
def test_writers_of_one_class_both_count() -> None:
    clf = make()
    together(*(lambda: [clf.partial_fit(*samples(5)) for _ in range(5)] for _ in range(3)))
    assert clf.memory_.count(5) == 3 * 5 * 12


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda clf: pickle.loads(pickle.dumps(clf))])
def test_copies_have_locks_of_their_own(twin: Callable[[GBMClassifier], GBMClassifier]) -> None:
    clf = make()
    other = twin(clf)
    with clf._writing():  # a writer that never ends
        assert together(lambda: list(other.partial_fit(*samples(7)).classes_)) == [[0, 1, 7]]
    assert list(clf.classes_) == [0, 1]
    together(*(partial(other.partial_fit, *samples(label)) for label in (8, 9)))
    assert list(other.classes_) == [0, 1, 7, 8, 9]


def test_threads_give_the_limit_of_linear_algebra_back() -> None:
    """The limit is the process's: the last one to leave restores what the first one found."""
    from threadpoolctl import threadpool_info

    def limits() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = limits()
    for n in (1, 2):
        one, other = blas_threads(1), blas_threads(n)
        one.__enter__()
        other.__enter__()
        assert set(limits()) <= {n}  # the latest decides
        one.__exit__(None, None, None)
        assert set(limits()) <= {n}
        other.__exit__(None, None, None)
        assert limits() == before
