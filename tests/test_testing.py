"""Checks for everybody's methods: ours pass, each broken one fails with its sentence, a package of its own works."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch

from bitreplay.errors import InputError
from bitreplay.learners import LEARNERS, FrozenMethod
from bitreplay.testing import check_learner

EXAMPLE = Path(__file__).parent.parent / "examples" / "own_learner"
QUICK = {
    "GBM": {"prototypes": 2},
    "RandomRidge": {"width": 64},
    "LatentReplay": {"exemplars": 5, "epochs": 1, "min_steps": 20},
    "LatentReplayCWR": {"exemplars": 5, "epochs": 1, "min_steps": 20},
    "EWC": {"fisher_samples": 20},
    "TrainableGBM": {"prototypes": 2},
}


@pytest.mark.parametrize("name", LEARNERS)
def test_our_own_pass(name):
    check_learner(LEARNERS[name], **QUICK.get(name, {}))


# ---------------------------------------------------------------------- broken ones


@dataclass(kw_only=True, eq=False)
class Means(FrozenMethod):
    """A method with nothing wrong; the others differ from it in one thing."""

    seed: int = 0
    name: ClassVar[str] = "Means"
    memory_arrays: ClassVar[tuple[str, ...]] = ("means",)
    decision_arrays: ClassVar[tuple[str, ...]] = ("means",)
    random: ClassVar[bool] = False

    def __post_init__(self):
        if self.seed < 0:
            raise InputError("seed must be at least 0")

    def _learn(self, X, y, new):
        known = len(self.classes)
        rows = np.reshape([X[y == known + i].mean(axis=0) for i in range(len(new))], (len(new), X.shape[1]))
        old = self.learned["means"] if known else np.empty((0, X.shape[1]), dtype=np.float32)
        return {"means": np.concatenate([old, rows])}

    def _scores(self, X):
        return -((X[:, None] - self.learned["means"]) ** 2).sum(2)


class GlobalRandom(Means):
    def _learn(self, X, y, new):
        torch.rand(1)
        return super()._learn(X, y, new)


class SecretlyRandom(Means):
    def _learn(self, X, y, new):
        learned = super()._learn(X, y, new)
        return {"means": learned["means"] + np.float32(1e-3 * self.seed)}


class Unrepeatable(Means):
    def _learn(self, X, y, new):
        noise = np.random.default_rng().normal(size=X.shape[1]).astype(np.float32)
        return {"means": super()._learn(X, y, new)["means"] + noise}


class Stateful(Means):
    calls = 0

    def _learn(self, X, y, new):
        self.calls += 1  # no part of the state
        return {"means": super()._learn(X, y, new)["means"] + np.float32(self.calls)}


class Floats(Means):
    def predict(self, X):
        return super().predict(X).astype(float)


class Batchwise(Means):
    def _scores(self, X):
        return super()._scores(X - X.mean(axis=0) if len(X) > 1 else X)


class Greedy(Means):
    def memory_bits(self):
        return 0.5 if len(self.classes) else 0


class Lenient(Means):
    def _checked_labels(self, y, n_samples):
        return np.asarray(y, dtype=np.int64)


class Open(Means):
    def __post_init__(self):
        pass


def test_what_is_right_passes():
    check_learner(Means)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (GlobalRandom, "its own generators"),
        (SecretlyRandom, "another seed changed"),
        (Unrepeatable, "the same seed must"),
        (Stateful, "it must learn identically"),
        (Floats, "int64"),
        (Batchwise, "an image must get the same answer alone"),
        (Greedy, "memory_bits must be an integer"),
        (Lenient, "already learned must be refused"),
        (Open, "negative seed"),
        (dict, "must be a FrozenMethod or a Learner"),
    ],
)
def test_what_is_wrong_fails_with_a_sentence(kind, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_learner(kind)


# ---------------------------------------------------------------------- in a package of its own


# In one process: most of the time of several would be their imports.
WITH_PACKAGE = """
from bitreplay.cli import main
from bitreplay.learners import LEARNERS
from bitreplay.testing import check_learner
from majority_bits import MajorityBits

check_learner(MajorityBits)
digits = "--dataset digits --sizes 5 3 2 --training.epochs 1 --training.ste_epochs 0 --binarizer calibrated".split()
print(*LEARNERS, "----")
assert main(["run", *digits, "--learner", "MajorityBits", "--learner.p", "2"]) == 0
print("----")
assert main(["compare", *digits, "--learners", "NearestMean", "MajorityBits:p=2"]) == 0
"""


def test_a_package_of_anybodys_is_installed_listed_run_compared_and_checked(tmp_path):
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", "--no-index", "--target", site, EXAMPLE], check=True)
    environment = {**os.environ, "PYTHONPATH": str(site), "BITREPLAY_CACHE": str(tmp_path / "cache")}

    done = subprocess.run(
        [sys.executable, "-c", WITH_PACKAGE], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    listed, ran, compared = done.stdout.split("----")
    assert "MajorityBits" in listed.split()
    assert "MajorityBits" in ran
    assert "MajorityBits:p=2" in compared
