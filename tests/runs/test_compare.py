"""Comparisons: the same runs in one process, in several, and on a cluster; and they go on where they stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bitreplay.binarizers import Thermometer
from bitreplay.errors import InputError
from bitreplay.evaluation import History
from bitreplay.runs import RunFolder, Specification, compare_learners
from bitreplay.training import TrainedNetwork
from tests.runs.problems import digits

LEARNERS = [Specification.parse(text) for text in ("NearestMean", "GBM:prototypes=2", "FeTrIL")]
SEEDS = [0, 3]


def results(runs: list[RunFolder]) -> list[tuple[str, int, History | None]]:
    """What must not depend on where it was computed; histories are equal if their answers are."""
    return [(run.name, run.config["seed"], run.history) for run in runs]


@pytest.fixture
def alone(network: Path, tmp_path: Path) -> list[RunFolder]:
    return compare_learners(digits(network), LEARNERS, SEEDS, tmp_path / "alone")


def test_learner_by_learner_and_seed_by_seed(alone: list[RunFolder], tmp_path: Path) -> None:
    grid = [(str(learner), seed) for learner in LEARNERS for seed in SEEDS]
    assert [(run.name, run.config["seed"]) for run in alone] == grid
    assert all(run.finished for run in alone)
    assert {run.path for run in alone} == set((tmp_path / "alone").iterdir())
    histories = {run.name: [other.history for other in alone if other.name == run.name] for run in alone}
    assert histories["NearestMean"][0] == histories["NearestMean"][1]  # nothing in it is random
    assert histories["GBM:prototypes=2"][0] != histories["GBM:prototypes=2"][1]


def test_several_processes_give_the_same(network: Path, tmp_path: Path, alone: list[RunFolder]) -> None:
    seen: list[str] = []
    output = tmp_path / "processes"
    runs = compare_learners(
        digits(network), LEARNERS, SEEDS, output, n_jobs=2, on_run=lambda run: seen.append(run.path.name)
    )
    assert results(runs) == results(alone)
    assert seen == [run.path.name for run in alone]
    again = compare_learners(digits(network), LEARNERS, SEEDS, output, n_jobs=2)  # all are finished: no process starts
    assert results(again) == results(alone)


def test_a_dask_cluster_gives_the_same(network: Path, tmp_path: Path, alone: list[RunFolder]) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        runs = compare_learners(digits(network), LEARNERS, SEEDS, tmp_path / "dask", dask=cluster.scheduler_address)
    assert results(runs) == results(alone)


def test_an_interrupted_comparison_goes_on(network: Path, tmp_path: Path, alone: list[RunFolder]) -> None:
    def stop(run: RunFolder) -> None:
        if run.name == "GBM:prototypes=2":
            raise KeyboardInterrupt

    output = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        compare_learners(digits(network), LEARNERS, SEEDS, output, on_run=stop)
    written = {path: path.stat().st_mtime_ns for path in output.glob("*/history.json")}
    assert len(written) == 3
    runs = compare_learners(digits(network), LEARNERS, SEEDS, output)
    assert results(runs) == results(alone)
    assert {path: path.stat().st_mtime_ns for path in written} == written


def test_nothing_is_run_twice_and_nobody_runs_nowhere(network: Path, tmp_path: Path) -> None:
    for learners, seeds in (([LEARNERS[0]] * 2, [0]), (LEARNERS, [1, 1])):
        with pytest.raises(InputError, match="named twice"):
            compare_learners(digits(network), learners, seeds, tmp_path)
    with pytest.raises(InputError, match="n_jobs must be a number of processes"):
        compare_learners(digits(network), LEARNERS, [0], tmp_path, n_jobs=0)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_learners_that_nobody_asked_for_by_name_may_refuse(network: Path, tmp_path: Path, n_jobs: int) -> None:
    learners = [Specification.parse(text) for text in ("NearestMean", "GBM:p=3", "FeTrIL")]
    bits = replace(TrainedNetwork.load(network), binarizer=Thermometer(2))
    bits.save(tmp_path / "bits")
    setting, refused = digits(tmp_path / "bits"), {}
    runs = compare_learners(setting, learners, [0], tmp_path / "runs", n_jobs=n_jobs, refused=refused)
    assert [run.name for run in runs] == ["NearestMean", "FeTrIL"]
    assert list(refused) == ["GBM:p=3"]
    assert refused["GBM:p=3"].startswith("p=3 has no effect: the encoder was trained with a binarizer of its own")
    with pytest.raises(InputError, match="p=3 has no effect"):
        compare_learners(setting, learners, [0], tmp_path / "runs", n_jobs=n_jobs)
    with pytest.raises(InputError, match="p=3 has no effect"):
        compare_learners(setting, learners[1:2], [0], tmp_path / "runs", n_jobs=n_jobs, refused={})
