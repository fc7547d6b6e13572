"""What threads of linear algebra cost an update and a prediction: on idle cores, and beside cores that are busy.

``python benchmarks/blas_threads.py`` prints a table. `n_jobs=None` limits NumPy's and SciPy's libraries to one thread
(`bitreplay._floor.threads.blas_threads`); here it is compared with what they do by themselves.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np

from bitreplay import GBMClassifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 512)).astype(np.float32) + np.repeat(rng.normal(size=(100, 512)), 40, axis=0)
    y = np.repeat(np.arange(100), 40)
    clf = GBMClassifier(8, random_state=0).fit(X[:3800], y[:3800])

    state = clf._fitted.state  # the estimator's own checks are not what is measured

    def update() -> None:
        state.with_memory(state.memory)  # the head of 95 classes anew: its matrices are those of every update

    def predict() -> None:
        clf.predict(X[:400])

    print(f"{os.cpu_count()} cores; median of {repeats}, in milliseconds\n")
    print(f"{'':32}{'one thread':>12}{'as they like':>14}")
    for cores, around in (("idle", contextlib.nullcontext), ("busy", busy_cores)):
        for name, call in (("update", update), ("prediction of 400", predict)):
            with around():
                limited, free = seconds(call, repeats), seconds_unlimited(call, repeats)
            print(f"{f'{name}, {cores} cores':32}{1000 * limited:12.1f}{1000 * free:14.1f}")


def seconds(call: Callable[[], None], repeats: int) -> float:
    call()
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def seconds_unlimited(call: Callable[[], None], repeats: int) -> float:
    def no_limit(n: int) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    with patch("bitreplay.gbm._state.blas_threads", no_limit):
        return seconds(call, repeats)


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """As many processes as there are cores, each of which computes all the time."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_burn, daemon=True) for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    time.sleep(5)  # they import first
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _burn() -> None:
    while True:
        pass


if __name__ == "__main__":
    main()
