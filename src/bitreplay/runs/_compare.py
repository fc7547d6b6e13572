"""A comparison: several learners with several seeds on one setting, on this machine or on a cluster.

The encoder is trained and its features are computed once, before the learners start; then every (learner, seed) is a
separate run, and an interrupted comparison resumes with those that are missing.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs, parallel_config

from bitreplay._floor.children import end_with_parent
from bitreplay.errors import InputError
from bitreplay.runs._folder import RunFolder
from bitreplay.runs._prepared import Prepared
from bitreplay.runs._run import find_run, run_learner
from bitreplay.runs._setting import Setting
from bitreplay.runs._specification import Specification


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
    refused: dict[str, str] | None = None,
) -> list[RunFolder]:
    """Run every learner with every seed.

    Parameters
    ----------
    setting : Setting
        What all runs share.
    specifications : sequence of Specification
        The learners.
    seeds : sequence of int
        Seeds of the learners.
    output : Path
        Folder for the runs.
    train_accuracy : bool
        Also measure accuracy on the training samples of all classes seen.
    n_jobs : int
        Processes on this machine, -1 for one per core.
    dask : str, optional
        Address of a Dask scheduler that runs them instead. Its workers need the same folders: cache, data and output.
    on_run : callable, optional
        Called with every run as it ends.
    refused : dict, optional
        If given, a learner that refuses this setting is left out and noted here with its reason; otherwise, its error
        ends the comparison.

    Returns
    -------
    list of RunFolder
        Learner by learner, seed by seed.

    Examples
    --------
    With a small setting that needs no training; others begin with ``Setting("digits")``:

    >>> from bitreplay.runs._example import small_example
    >>> learners = [Specification.parse(text) for text in ("NearestMean", "StreamingLDA")]
    >>> with small_example() as (setting, output):
    ...     runs = compare_learners(setting, learners, seeds=[0], output=output)
    >>> [(run.name, run.finished) for run in runs]
    [('NearestMean', True), ('StreamingLDA', True)]
    """
    grid = [(specification, seed) for specification in specifications for seed in seeds]
    if len({(str(specification), seed) for specification, seed in grid}) < len(grid):
        raise InputError("a learner or a seed is named twice; every run of a comparison must differ from the others")
    if n_jobs == 0:
        raise InputError("n_jobs must be a number of processes, or -1 for one per core; got 0")
    prepared = Prepared(setting)
    missing = [cell for cell in grid if find_run(prepared, *cell, output, train_accuracy=train_accuracy) is None]
    if not missing or (dask is None and effective_n_jobs(n_jobs) == 1):
        run = partial(_attempt, run_learner, refused is not None)
        runs = (run(setting, *cell, output, train_accuracy=train_accuracy, prepared=prepared) for cell in grid)
        return _collect(runs, on_run, refused)
    for uses in {specification.about.uses for specification, _ in missing}:
        if uses is not None:  # trained, and features computed, now and once: not by every worker
            prepared.encoder_for(uses)
    output = Path(output).absolute()  # workers may have another working directory
    with _workers(dask, n_jobs):
        # Workers load data and encoder from the cache by themselves: sending them would copy all images.
        here = run_learner if dask is not None else partial(_run_in_worker, os.getpid())
        run = partial(_attempt, here, refused is not None)
        jobs = (delayed(run)(setting, *cell, output, train_accuracy=train_accuracy) for cell in grid)
        return _collect(Parallel(return_as="generator")(jobs), on_run, refused)


class _Refusal(NamedTuple):
    """A learner that does not go with the setting, and why."""

    name: str
    why: str


def _attempt(
    run: Callable[..., RunFolder],
    may_refuse: bool,
    setting: Setting,
    specification: Specification,
    *cell: Any,
    **how: Any,
) -> RunFolder | _Refusal:
    """A run, or what speaks against it if that is asked for."""
    try:
        return run(setting, specification, *cell, **how)
    except InputError as error:
        if not may_refuse:
            raise
        return _Refusal(str(specification), str(error))


def _run_in_worker(
    parent: int, setting: Setting, specification: Specification, seed: int, output: Path, *, train_accuracy: bool
) -> RunFolder:
    """A run in a process of this machine, which ends with the one that asked for it."""
    end_with_parent(parent)
    return run_learner(setting, specification, seed, output, train_accuracy=train_accuracy)


def _collect(
    runs: Iterable[RunFolder | _Refusal],
    on_run: Callable[[RunFolder], None] | None,
    refused: dict[str, str] | None,
) -> list[RunFolder]:
    collected = []
    for run in runs:
        if isinstance(run, _Refusal):
            assert refused is not None
            refused[run.name] = run.why
            continue
        collected.append(run)
        if on_run is not None:
            on_run(run)
    if refused and not collected:
        raise InputError(next(iter(refused.values())))
    return collected


@contextlib.contextmanager
def _workers(dask: str | None, n_jobs: int) -> Iterator[None]:
    """The backend that runs joblib's jobs."""
    if dask is None:
        with parallel_config(backend="loky", n_jobs=n_jobs), warnings.catch_warnings():
            # Workers whose memory has grown are replaced between two runs, and joblib warns of it: nothing is lost.
            warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
            yield
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise InputError(f"a Dask cluster needs {error.name}: pip install 'bitreplay[cluster]'") from None
    with Client(dask), parallel_config(backend="dask"):  # type: ignore[no-untyped-call]
        yield
