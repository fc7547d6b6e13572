"""How long trainings that are missing will take: which are missing, and that times are multiples of steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bitreplay.runs import Setting, untrained_seconds
from bitreplay.runs import _training_time as timing
from bitreplay.training import Phase, TrainingOptions
from tests.runs.problems import digits

SMALL = Setting("digits", encoder="small_cnn:width=4", sizes=[2, 1], classes=3, accelerator="cpu")


def test_what_is_trained_is_not_missing(network) -> None:
    assert len(untrained_seconds([SMALL])) == 2  # two phases
    assert len(untrained_seconds([SMALL, replace(SMALL, p=2)])) == 3  # which share the first
    assert len(untrained_seconds([SMALL, replace(SMALL, binarizer="calibrated")])) == 2  # the same network
    SMALL.trained(SMALL.scenario(), progress=False)
    assert untrained_seconds([SMALL]) == []
    assert len(untrained_seconds([replace(SMALL, p=2)])) == 1
    assert untrained_seconds([digits(network)]) == []  # given


def test_a_phase_takes_as_long_as_its_steps() -> None:
    options = TrainingOptions(epochs=6, ste_epochs=2, batch_size=10, image_sizes=(8, 8, 16))
    steps = {("plain", 8): 1.0, ("plain", 16): 3.0, ("straight_through", 16): 5.0}
    plain = Phase("plain", 0, 6, 0.1, "steps", "none")
    second = Phase("straight_through", 1, 2, 0.1, "steps", "thermometer")
    assert timing._phase_seconds(plain, options, 45, steps) == pytest.approx(4 * (4 * 1.0 + 2 * 3.0))
    assert timing._phase_seconds(second, options, 45, steps) == pytest.approx(4 * 2 * 5.0)
