"""Streams as settings: accuracy along the way, resumed as if uninterrupted, and a report that shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bitreplay import metrics
from bitreplay.errors import InputError
from bitreplay.report import write_report
from bitreplay.runs import Prepared, Setting, Specification, compare_learners, run_learner
from tests.runs.problems import digits

LEARNERS = [
    "GBM:prototypes=2",
    "NearestMean",
    "StreamingLDA",
    "LatentReplay:epochs=1,min_steps=3,exemplars=5,learning_rate=0.1",
]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    from tests.runs.problems import save_network

    return digits(save_network(tmp_path_factory.mktemp("network")), stream="blurry", batch=30, samples_per_class=15)


def test_learners_are_compared_along_a_stream(setting: Setting, tmp_path: Path) -> None:
    runs = compare_learners(setting, [Specification.parse(text) for text in LEARNERS], [0], tmp_path)
    histories = [run.result().history for run in runs]
    for history in histories:
        assert history.n_states == len(setting.scenario())
        assert 0 in history.task_sizes
        assert sum(history.task_sizes) == 10
        assert metrics.average(history) == pytest.approx(metrics.per_state(history).mean())
        assert np.isfinite([metrics.forgetting(history), metrics.backward_transfer(history)]).all()
    ends = dict(zip(LEARNERS, map(metrics.final, histories), strict=True))
    assert min(ends.values()) > 0.25
    assert ends["GBM:prototypes=2"] > 0.6
    page = write_report([run.result() for run in runs[:2]], tmp_path / "report", "streams", {})
    assert "5 + a stream of 5" in page.read_text()


def test_a_stream_is_learned_on_after_a_checkpoint(setting: Setting, tmp_path: Path) -> None:
    class KilledError(Exception):
        pass

    def kill(state: int, history: object) -> None:
        if state == 4:
            raise KilledError

    gbm = Specification.parse("GBM:prototypes=2")
    with pytest.raises(KilledError):
        run_learner(setting, gbm, 0, tmp_path / "killed", on_state=kill, checkpoint_seconds=0)
    resumed = run_learner(setting, gbm, 0, tmp_path / "killed")
    whole = run_learner(setting, gbm, 0, tmp_path / "whole")
    assert resumed.history == whole.history


def test_what_cannot_stream_says_so(setting: Setting, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="FeTrIL needs all samples of a class at once"):
        run_learner(setting, Specification.parse("FeTrIL"), 0, tmp_path)


def test_runs_without_a_stream_are_found_where_they_were(setting: Setting) -> None:
    without = Setting("digits", encoder=setting.encoder, sizes=[5, 3, 2])
    assert {"stream", "batch"}.isdisjoint(without.determinants())
    assert setting.determinants()["stream"] == "blurry"
    assert len(Prepared(setting).scenario) == len(setting.scenario())
    with pytest.raises(InputError, match="batch must be"):
        Setting("digits", batch=0)
