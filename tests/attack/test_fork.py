"""Forked children: torch's threads stay with the parent, and waiting for them would take for ever."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from bitreplay import GBMClassifier, Replay
from bitreplay.binarizers import Heaviside, Native, Thermometer
from tests.attack.problems import small_encoder

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

SECONDS = 60  # far more than any of it takes; without a limit the suite would hang where it fails
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 200)).astype(np.float32)
Y = RNG.integers(0, 4, 3000)
OPTIONS: dict[str, dict[str, Any]] = {
    "thermometer": {"p": 2},
    "heaviside": {"binarizer": "heaviside"},
    "native": {"binarizer": "native"},
    "replay": {"head": Replay(epochs=1, min_steps=5)},
}


@pytest.fixture(autouse=True)
def busy_parent() -> Iterator[None]:
    """A parent that has used torch's threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    torch.sigmoid(torch.randn(4_000_000)).sum()
    yield
    torch.set_num_threads(before)


def in_child(function: Callable[[], bool]) -> bool:
    """What a function says in a forked child; a child that hangs is ended, and says False."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's word on forks beside threads
        child = os.fork()
    if not child:
        signal.alarm(SECONDS)
        code = 1
        try:
            code = 0 if function() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("kind", OPTIONS)
def test_a_classifier_works_in_a_forked_child_as_in_its_parent(kind: str) -> None:
    def fitted() -> GBMClassifier:
        return GBMClassifier(2, random_state=0, **OPTIONS[kind]).fit(X, Y)

    clf = fitted()
    expected = clf.predict(X)
    assert in_child(lambda: np.array_equal(clf.predict(X), expected))
    assert in_child(lambda: np.array_equal(fitted().predict(X), expected))


def test_an_encoder_works_in_a_forked_child() -> None:
    encoder = small_encoder(300)
    images = RNG.integers(0, 256, (600, 4, 4, 1), dtype=np.uint8)
    expected = encoder.features(images)
    assert in_child(lambda: np.allclose(encoder.features(images), expected, rtol=1e-5))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("p", [1, 2, 3, 7, 10])
def test_bits_without_torch_are_those_with_it(dtype: Any, p: int) -> None:
    """Among them values that lie on the thresholds, in every precision."""
    grid = np.arange(-3, 24) / p if np.dtype(dtype).kind == "f" else np.arange(27) - 3 * (dtype == np.int64)
    features = np.concatenate([grid, grid]).astype(dtype).reshape(2, -1)
    calibrated = Thermometer(p, calibrated=True)
    calibrated.calibrate(RNG.normal(size=(50, features.shape[1])).astype(np.float32))
    kinds = [Thermometer(p), Thermometer(p, rounding="nearest"), calibrated, Native(), Heaviside(features.shape[1])]
    for binarizer in kinds if dtype != np.bool_ else kinds[2:]:
        with torch.inference_mode():
            bits = binarizer.encode(torch.from_numpy(features)).numpy()
        np.testing.assert_array_equal(binarizer.pack(features).unpack(), bits.astype(np.uint8))
