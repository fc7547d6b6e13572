"""Single samples through the estimator: files, copies, forgetting, merging, exporting, readers beside a writer."""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from bitreplay import GBMClassifier
from bitreplay.device import DeviceModel
from bitreplay.errors import InputError

X, Y = load_digits(return_X_y=True)
X = X.astype(np.float32)
ORDER = np.random.default_rng(0).permutation(len(Y))
TEST, FIRST, MORE = ORDER[:500], ORDER[500:1300], ORDER[1300:]


def streamed(n: int = 120, n_first: int = 800, **options: Any) -> GBMClassifier:
    """Nine digits at once; then single samples of all ten."""
    old = FIRST[:n_first][Y[FIRST[:n_first]] != 9]
    clf = GBMClassifier(4, p=2, random_state=0, **options).fit(X[old], Y[old])
    return further(clf, MORE[:n])


def further(clf: GBMClassifier, rows: np.ndarray) -> GBMClassifier:
    for row in rows:
        clf.partial_fit(X[row : row + 1], Y[row : row + 1])
    return clf


def test_a_digit_that_came_sample_by_sample_is_recognised() -> None:
    clf = streamed(300)
    nine = TEST[Y[TEST] == 9]
    assert clf.score(X[TEST], Y[TEST]) > 0.9
    assert clf.score(X[nine], Y[nine]) > 0.75
    assert 9 in clf.memory_.in_motion
    before = clf.memory_.nbytes
    assert clf.settle().score(X[TEST], Y[TEST]) > 0.9
    assert clf.memory_.in_motion == ()
    assert clf.memory_.nbytes < before / 3


@pytest.mark.parametrize("n_first", [800, 150])  # classes of 80 samples keep none, those of 15 do
def test_a_saved_classifier_goes_on_as_if_uninterrupted(n_first: int, tmp_path: Path) -> None:
    clf = streamed(n_first=n_first)
    moving = clf.memory_.motion(0)
    assert moving is not None
    assert (moving.past is not None) == (n_first == 150)
    clf.save(tmp_path / "file")
    loaded = GBMClassifier.load(tmp_path / "file")
    assert loaded.update == "online"
    assert loaded.memory_.in_motion == clf.memory_.in_motion
    for each in (clf, loaded):
        further(each, MORE[120:200])
    assert np.array_equal(loaded.decision_function(X[TEST]), clf.decision_function(X[TEST]))
    clf.save(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("n_first", [800, 150])
def test_forgetting_and_merging_take_motion_along(n_first: int) -> None:
    clf = streamed(n_first=n_first)
    rest = copy.deepcopy(clf).forget(9)
    assert 9 not in rest.memory_.in_motion
    assert rest.memory_.in_motion == tuple(c for c in clf.memory_.in_motion if c != 9)
    rest.merge(clf.memory_)
    assert rest.memory_.in_motion == (9,)
    merged = rest.score(X[TEST], Y[TEST])
    assert merged > (0.85 if n_first == 800 else 0.8)
    assert further(rest, MORE[120:140]).score(X[TEST], Y[TEST]) > merged - 0.02


def test_a_device_gets_settled_codes() -> None:
    clf = streamed()
    device = DeviceModel.of(clf, features="uint8")
    settled = DeviceModel.of(copy.deepcopy(clf).settle(), features="uint8")
    for one, other in zip(device.memory.records, settled.memory.records, strict=True):
        assert np.array_equal(one.codes, other.codes)
        assert np.array_equal(one.weights, other.weights)


def test_refits_are_still_to_be_had_and_nothing_else() -> None:
    assert streamed(30, update="refit").memory_.in_motion == ()
    with pytest.raises(InputError, match="update must be one of online, refit"):
        GBMClassifier(update="never").fit(X[:20], Y[:20])


def test_readers_beside_a_stream_see_states_that_existed() -> None:
    """A head that waits is computed by whoever asks first; every answer must still be that of one state."""
    clf, probe = streamed(20), X[TEST[:3]]
    recorded, seen, done = [clf.predict_log_proba(probe)], [], threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(clf.predict_log_proba(probe))

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for row in MORE[120:180]:
        clf.partial_fit(X[row : row + 1], Y[row : row + 1])
        recorded.append(clf.predict_log_proba(probe))
    done.set()
    for reader in readers:
        reader.join()
    known = {answer.tobytes() for answer in recorded}
    assert seen
    assert all(answer.tobytes() in known for answer in seen)
