"""Forged files with a right checksum: refused by our error, or loaded to an object that passes all its own checks.

Nothing is built from a size that a file only declares, so none of them takes more memory or time than its own size
allows.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay import BinaryMemory, GBMClassifier, Mixture, Replay
from bitreplay.backbones import Preprocessing, SmallCNN
from bitreplay.binarizers import Heaviside
from bitreplay.errors import BitreplayError, FileFormatError
from bitreplay.training import TrainedNetwork
from tests.attack.forging import forge, put_together, take_apart
from tests.attack.scale import times

KINDS = ("memory", "thermometer", "heaviside", "replay", "network")
ROOM = 50 * 10**6


def write(kind: str, path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)).astype(np.float32), np.repeat(["cup", "mug", "pot"], 20)
    X += np.repeat(np.eye(3, 6), 20, axis=0) * 3
    if kind == "network":
        options, head = {"width": 2, "in_channels": 1}, np.zeros((2, 8), np.float32)
        arguments = (SmallCNN(**options), Heaviside(8), head, head[:, 0], Preprocessing(), np.arange(2))
        TrainedNetwork(*arguments, {"plain": 0.5}, "key", "small_cnn", options).save(path)
        return
    if kind == "replay":
        clf = GBMClassifier(2, head=Replay(hidden=(4,), epochs=1, min_steps=2), random_state=0)
    else:
        clf = GBMClassifier(2, p=2, binarizer="heaviside" if kind == "heaviside" else "thermometer", random_state=0)
    clf.fit(X, y)
    if kind == "memory":
        clf.memory_.save(path)
    else:
        clf.save(path)


def load_and_check(kind: str, path: Path) -> None:
    """Load a file; whatever comes of it must work, and be the same after it was saved and loaded again."""
    if kind == "memory":
        memory = BinaryMemory.load(path)
        if len(memory):
            values = [memory.mixture(label) for label in memory.labels]
            assert all(np.isfinite(one.weights).all() and ((one.prototypes >= 0).all()) for one in values)
        memory.summary()
        return
    if kind == "network":
        trained = TrainedNetwork.load(path.parent)
        images = torch.zeros(2, 8, 8, trained.backbone_options.get("in_channels", 1), dtype=torch.uint8)
        with contextlib.suppress(BitreplayError):  # such as a preprocessing for other images
            features = trained.backbone(trained.preprocessing(images))
            assert bool(torch.isfinite(features).all()), "features are not finite"
        return
    clf = GBMClassifier.load(path)
    X = np.random.default_rng(1).normal(size=(5, clf.n_features_in_)).astype(np.float32)
    probabilities = clf.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    clf.save(path)
    np.testing.assert_array_equal(GBMClassifier.load(path).predict_proba(X), probabilities)


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    words = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(words["VmHWM"].split()[0]) * 1024


@contextlib.contextmanager
def measured_peak() -> Iterator[list[int]]:
    """Bytes that a block takes at most beyond what the process had before it."""
    Path("/proc/self/clear_refs").write_text("5")  # begins to count anew
    before, taken = peak(), [0]
    yield taken
    taken[0] = peak() - before


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's count of memory")
@pytest.mark.parametrize("kind", KINDS)
def test_forged_files_are_refused_or_whole(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    write(kind, path.parent if kind == "network" else path)
    load_and_check(kind, path)  # the true one; and what is imported on first use is there
    write(kind, path.parent if kind == "network" else path)
    original = take_apart(path)
    rng = np.random.default_rng(KINDS.index(kind))
    refused, loaded, slowest = 0, 0, 0.0
    for number in range(times(400, 20_000)):
        forged = forge(rng, original)
        path.write_bytes(forged)
        begin = time.monotonic()
        with measured_peak() as taken:
            try:
                load_and_check(kind, path)
                loaded += 1
            except BitreplayError:
                refused += 1
            except Exception as error:
                path.with_name("culprit").write_bytes(forged)
                raise AssertionError(f"{kind} {number}: {str(error)[:500]}") from error
        slowest = max(slowest, time.monotonic() - begin)
        assert taken[0] <= 3 * len(forged) + ROOM, f"{kind} {number}"
    assert slowest < 1.0
    assert refused > loaded > 0


def changed(path: Path, *keys: Any, to: Any) -> None:
    """Put another value into a file's description."""
    content, described, data = take_apart(path)
    holder = content
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = to
    text = json.dumps(content) if not isinstance(to, str) else json.dumps(content, ensure_ascii=False)
    path.write_bytes(put_together(text, described, data))


@pytest.mark.parametrize(
    ("kind", "keys", "value"),
    [
        ("thermometer", ("classifier", "binarizer", "p"), 2 * 10**8),
        ("thermometer", ("classifier", "binarizer", "p"), 10**30),
        ("thermometer", ("classifier", "binarizer"), []),
        ("thermometer", ("classifier", "temperature"), float("inf")),
        ("thermometer", ("classifier", "seed"), -5),
        ("thermometer", ("classifier", "options", "n_jobs"), "x"),
        ("thermometer", ("classifier", "options", "unknown"), []),
        ("thermometer", ("classifier", "options", "more"), 1),
        ("thermometer", ("classifier", "feature_names_in"), ["a", "b"]),
        ("thermometer", ("classifier", "n_features_in"), 10**30),
        ("thermometer", ("memory", "fingerprint", "n_features"), 2 * 10**9),
        ("thermometer", ("memory",), []),
        ("heaviside", ("classifier", "head", "ridge"), 5e-324),  # found by the long form
        ("heaviside", ("classifier", "binarizer", "f"), 2 * 10**8),
        ("heaviside", ("classifier", "binarizer", "in_features"), 2 * 10**8),
        ("replay", ("classifier", "head", "hidden"), [2 * 10**8]),
        ("replay", ("classifier", "head", "hidden"), [1] * 10**5),
        ("network", ("backbone", "options", "width"), 10**5),
        ("network", ("binarizer", "f"), 10**5),
    ],
)
def test_a_declared_size_reserves_nothing(kind: str, keys: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    path = tmp_path / "network.safetensors"
    write(kind, path.parent if kind == "network" else path)
    changed(path, *keys, to=value)
    with measured_peak() as taken, pytest.raises(FileFormatError):
        load_and_check(kind, path)
    assert taken[0] < ROOM


@pytest.mark.parametrize("tensor", ["head.0.weight", "binarizer.thresholds"])
def test_parameters_that_are_no_numbers_are_refused(tensor: str, tmp_path: Path) -> None:
    path = tmp_path / "classifier"
    write("replay", path)
    content, described, data = take_apart(path)
    data[tensor] = np.full(len(data[tensor]) // 4, np.nan, np.float32).tobytes()
    path.write_bytes(put_together(json.dumps(content), described, data))
    with pytest.raises(FileFormatError, match="finite"):
        GBMClassifier.load(path)


def test_few_crowded_classes_do_not_make_the_closed_form_enormous() -> None:
    memory = BinaryMemory(bits=1)
    rng = np.random.default_rng(0)
    for label, size in [("crowd", 20_000), *((str(i), 1) for i in range(200))]:
        memory.add(label, Mixture(rng.random((size, 8), dtype=np.float32), np.full(size, 1 / size), count=size))
    clf = GBMClassifier(1, bits=1, binarizer="identity", random_state=0).fit(np.eye(8)[:4], list("abcd"))
    with measured_peak() as taken, pytest.raises(BitreplayError, match="bayes"):
        clf.merge(memory)
    assert taken[0] < 20 * ROOM
    assert list(clf.classes_) == list("abcd")


def test_a_large_file_takes_at_most_three_times_its_size(tmp_path: Path) -> None:
    n = times(20, 400) * 1000
    rng = np.random.default_rng(0)
    memory = BinaryMemory(bits=8)
    prototypes = rng.random((50, n // 10), dtype=np.float32)
    for label in range(40):
        memory.add(label, Mixture(prototypes, np.full(50, 0.02), count=100))
    memory.save(tmp_path / "memory")
    size = (tmp_path / "memory").stat().st_size
    assert size > times(3, 60) * 10**6
    with measured_peak() as taken:
        again = BinaryMemory.load(tmp_path / "memory")
    assert taken[0] <= 3 * size + ROOM
    assert again.labels == memory.labels
    tracemalloc.start()
    memory.save(tmp_path / "memory")
    assert tracemalloc.get_traced_memory()[1] < 12 * size + ROOM  # unpacked bits are the most of it
    tracemalloc.stop()


@pytest.mark.parametrize("head", ["closed_form", "bayes"])
def test_a_large_classifier_takes_at_most_three_times_its_size(head: str, tmp_path: Path) -> None:
    """Its head, ten times as large as the file, is computed when it is first asked and not before."""
    rng = np.random.default_rng(0)
    clf = GBMClassifier(8, head=head, binarizer="identity", random_state=0)
    clf.fit(rng.integers(0, 2, (4, 512)), [0, 1] * 2)
    prototypes, weights = rng.random((8, 512), dtype=np.float32), np.full(8, 1 / 8)
    memory = clf.memory_.copy()
    for first in range(10, times(4_000, 40_000), 1_000):
        memory.add_all({label: Mixture(prototypes, weights, 500) for label in range(first, first + 1_000)})
    state = replace(clf._fitted.state, memory=memory)
    clf._fitted = clf._fitted.with_state(state)
    clf.save(tmp_path / "classifier")
    size = (tmp_path / "classifier").stat().st_size
    assert size > times(6, 60) * 10**6
    del clf, memory, state
    with measured_peak() as taken:
        again = GBMClassifier.load(tmp_path / "classifier")
    assert taken[0] <= 3 * size + ROOM
    assert len(again.classes_) > 3_000


def test_a_large_network_takes_at_most_three_times_its_size(tmp_path: Path) -> None:
    layer = nn.Linear(1000, times(5_000, 50_000))
    network = nn.Sequential(nn.Flatten(), layer)
    blank = np.zeros((0, 0), np.float32)
    TrainedNetwork(network, None, blank, blank[0:0, 0:0].reshape(0), Preprocessing(), np.arange(2), {}, "k").save(
        tmp_path
    )
    size = (tmp_path / "network.safetensors").stat().st_size
    with measured_peak() as taken:
        TrainedNetwork.load(tmp_path, backbone=network)
    assert taken[0] <= 3 * size + ROOM
