"""Experiments in miniature: eight classes of generated images, and networks that are trained within a second.

All tests share one cache, so that each of the networks is trained once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitreplay.experiments import Request, _retraining
from bitreplay.experiments._retraining import Spread
from bitreplay.learners import LEARNERS
from bitreplay.runs import RunFolder, Setting
from tests.data.examples import write_image

CLASSES, TRAIN, TEST = 8, 24, 12  # and images per class


class QuickRequest(Request):
    """A request whose replay takes few steps; runs keep the names that the experiment gave them."""

    def compare(
        self, setting: Setting, learners: Sequence[str], seeds: Sequence[int], *, train_accuracy: bool = False
    ) -> list[RunFolder]:
        runs = []
        for learner in learners:
            name, _, options = learner.partition(":")
            quick = ["min_steps=20"] if "min_steps" in inspect.signature(LEARNERS[name]).parameters else []
            text = f"{name}:{','.join(filter(None, [options, *quick]))}"
            made = Request.compare(replace(self, on_run=None), setting, [text], seeds, train_accuracy=train_accuracy)
            runs += [replace(run, config={**run.config, "learner": learner}) for run in made]
        for run in runs:
            if self.on_run is not None:
                self.on_run(run)
        return runs


@pytest.fixture(autouse=True)
def steady_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if networks came out alike: verdicts then follow from seeds and test samples. test_retraining.py undoes it."""
    monkeypatch.setattr(_retraining, "SPREADS", dict.fromkeys(_retraining.SPREADS, Spread(0.0, 0.0)))
    monkeypatch.setattr(_retraining, "RETRAINED", {})
    monkeypatch.setattr(_retraining, "UNSTEADY", {})


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images: every class has two patterns of its own, in noise."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("images")
    for label in range(CLASSES):
        patterns = rng.integers(60, 196, (2, 4, 4, 3)).repeat(2, 1).repeat(2, 2)
        for part, n in (("train", TRAIN), ("test", TEST)):
            for number in range(n):
                image = patterns[number % 2] + rng.normal(0, 40, (8, 8, 3))
                write_image(folder / part / str(label) / f"{number}.png", np.clip(image, 0, 255).astype(np.uint8))
    return folder


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def small_request(
    images: Path, shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Request]:
    """Makes requests at cpu scale for these images: 4 + 4 x 1 classes, unless options of the setting say otherwise."""
    monkeypatch.setenv("BITREPLAY_CACHE", str(shared_cache))

    def make(seeds: tuple[int, ...] = (0,), **options: object) -> Request:
        own = {
            "dataset": str(images), "image_size": None, "tasks": 4, "encoder": "small_cnn:width=4",
            "preset": "digits", "accelerator": "cpu",
        }  # fmt: skip
        return QuickRequest("cpu", tmp_path / "runs", seeds=seeds, setting={**own, **options})

    return make
