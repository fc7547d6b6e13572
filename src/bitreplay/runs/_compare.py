"""A comparison: several learners with several seeds on one setting, on this machine or on a cluster.

The encoder is trained and its features are computed once, before the learners start; then every (learner, seed) is a
run of its own, and an interrupted comparison goes on with those that are missing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from bitreplay.data import Samples
from bitreplay.errors import InputError
from bitreplay.runs._run import RunFolder, prepare, run_learner
from bitreplay.runs._setting import Setting
from bitreplay.runs._specification import Specification

__all__ = ["compare_learners"]


def compare_learners(
    setting: Setting,
    specifications: Sequence[Specification],
    seeds: Sequence[int],
    output: Path,
    *,
    train_accuracy: bool = False,
    n_jobs: int = 1,
    dask: str | None = None,
    on_run: Callable[[RunFolder], None] | None = None,
) -> list[RunFolder]:
    """Run every learner with every seed.

    Parameters
    ----------
    setting : Setting
        What all share.
    specifications : sequence of Specification
        The learners.
    seeds : sequence of int
        Seeds of the learners.
    output : Path
        The runs' folders go there.
    train_accuracy : bool
        Also measure accuracy on the training samples of all classes seen.
    n_jobs : int
        Processes on this machine, -1 for one per core.
    dask : str, optional
        Address of a Dask scheduler that runs them instead; its workers need the same cache directory.
    on_run : callable, optional
        Called with every run as it ends.

    Returns
    -------
    list of RunFolder
        Learner by learner, seed by seed.
    """
    grid = [(specification, seed) for specification in specifications for seed in seeds]
    if len({(str(specification), seed) for specification, seed in grid}) < len(grid):
        raise InputError("a learner or a seed is named twice; every run of a comparison must differ from the others")
    scenario, encoder = prepare(setting)
    for part in ("train", "test"):  # computed now and once, not by every worker
        encoder.features(Samples(scenario.dataset, part, scenario[0].train.indices[:0]))

    runs: list[RunFolder] = []
    if dask is None and effective_n_jobs(n_jobs) == 1:
        for specification, seed in grid:
            prepared = (scenario, encoder)
            run = run_learner(setting, specification, seed, output, train_accuracy=train_accuracy, prepared=prepared)
            runs.append(run)
            if on_run is not None:
                on_run(run)
        return runs
    with _workers(dask, n_jobs):
        # Workers load data and encoder from the cache by themselves: sending them would copy all images.
        jobs = (
            delayed(run_learner)(setting, specification, seed, output, train_accuracy=train_accuracy)
            for specification, seed in grid
        )
        for run in Parallel(return_as="generator")(jobs):
            runs.append(run)
            if on_run is not None:
                on_run(run)
    return runs


@contextlib.contextmanager
def _workers(dask: str | None, n_jobs: int) -> Iterator[None]:
    """Where joblib's jobs run."""
    if dask is None:
        with parallel_config(backend="loky", n_jobs=n_jobs):
            yield
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise InputError(f"a Dask cluster needs {error.name}: pip install 'bitreplay[cluster]'") from None
    with Client(dask), parallel_config(backend="dask"):  # type: ignore[no-untyped-call]
        yield
