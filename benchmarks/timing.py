"""The shared harness: contenders in turns on one thread, peak memory of a call, and the rows of a table of ratios.

Times are wall-clock times, and the best of several rounds stands for a contender: whatever else the machine does can
only add to a time. Within a round every contender runs once, so that a busy minute hits all of them.
"""

import ctypes
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import threadpoolctl
import torch

HERE = Path(__file__).resolve().parent

SHORTEST = 2e-3  # seconds; shorter calls are repeated until they take so long together

# For processes started from here; this one is limited by use_one_thread.
os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "NUMBA")}


def use_one_thread() -> None:
    """Limit BLAS, OpenMP and torch to one thread; call it when everything is imported."""
    threadpoolctl.threadpool_limits(1)
    torch.set_num_threads(1)


# ---------------------------------------------------------------------- time


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one value per round."""

    rounds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least disturbed round."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """The typical round."""
        return statistics.median(self.rounds)


def alternate(
    contenders: Mapping[str, Callable[[], object]], *, rounds: int = 9, seconds: float = 3.0
) -> dict[str, Timing]:
    """Time contenders in turns.

    The first call of each compiles and fills caches and is not counted. A contender that has used up its `seconds`
    drops out of further rounds, but every one is timed at least once.
    """
    repeats = {name: _repeats(call) for name, call in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            if times[name] and sum(times[name]) * repeats[name] > seconds:
                continue
            gc.collect()  # the rubbish of one contender must not be collected in the time of another
            times[name].append(_seconds(call, repeats[name]) / repeats[name])
    return {name: Timing(tuple(values)) for name, values in times.items()}


def _repeats(call: Callable[[], object]) -> int:
    call()
    return max(1, int(SHORTEST / max(_seconds(call, 1), 1e-7)) if (first := _seconds(call, 1)) < SHORTEST else 1)


def _seconds(call: Callable[[], object], repeats: int) -> float:
    begun = time.perf_counter()
    for _ in range(repeats):
        call()
    return time.perf_counter() - begun
