"""The shared harness: contenders in turns on one thread, peak memory of a call, and the rows of a table of ratios.

Times are wall-clock times, and the best of several rounds stands for a contender: whatever else the machine does can
only add to a time. Within a round every contender runs once, so that a busy minute hits all of them.
"""

import argparse
import ctypes
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import threadpoolctl
import torch

HERE = Path(__file__).resolve().parent

SHORTEST = 1e-2  # seconds; shorter calls are repeated until they take so long together: a loop, after its first turns
MEGABYTE = 1e6

# For processes started from here; this one is limited by use_one_thread.
os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS")}


def use_one_thread() -> None:
    """Limit BLAS, OpenMP and torch to one thread; call it when everything is imported."""
    threadpoolctl.threadpool_limits(1)
    torch.set_num_threads(1)


# ---------------------------------------------------------------------- time


@dataclass(frozen=True)
class Timing:
    """Seconds per call, one value per round, and what the last call returned."""

    rounds: tuple[float, ...]
    result: Any

    @property
    def best(self) -> float:
        """The least disturbed round."""
        return min(self.rounds)

    @property
    def median(self) -> float:
        """The typical round."""
        return statistics.median(self.rounds)


def alternate(
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 9,
    seconds: float = 3.0,
    once: Collection[str] = (),
    long: bool = False,
) -> dict[str, Timing]:
    """Time contenders in turns.

    The first call of each compiles and fills caches and is not counted. A contender that has used up its `seconds`
    drops out of further rounds, but every one is timed at least once. Those named in `once` take so long that a first
    call makes no difference: they are called a single time. `long` says that all calls are: new processes.
    """
    repeats = {name: 1 if long or name in once else _repeats(call) for name, call in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    results: dict[str, Any] = {}
    use_one_thread()  # again, because what a first call imported may have started threads of its own
    gc.collect()
    gc.freeze()  # makes the collections below quick
    for _ in range(rounds):
        for name, call in contenders.items():
            if not times[name] or (name not in once and sum(times[name]) * repeats[name] < seconds):
                gc.collect()  # the rubbish of one contender must not be collected in the time of another
                taken, results[name] = _timed(call, repeats[name])
                times[name].append(taken / repeats[name])
    gc.unfreeze()
    return {name: Timing(tuple(values), results[name]) for name, values in times.items()}


def _repeats(call: Callable[[], object]) -> int:
    """How many calls to time together; the first call compiles and warms up."""
    call()
    return max(1, round(SHORTEST / _timed(call, 1)[0]))


def _timed(call: Callable[[], object], repeats: int) -> tuple[float, Any]:
    begun = time.perf_counter()
    for _ in range(repeats):
        result = call()
    return time.perf_counter() - begun, result


# ---------------------------------------------------------------------- memory


def extra_memory(call: Callable[[], object]) -> int:
    """Bytes by which the resident memory peaks during a call above what it was before.

    Use it in a process of its own (:func:`in_new_process`), after a small call that imports and compiles what is
    needed. Where the system cannot reset its high-water mark, calls must grow from one to the next.
    """
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # freed memory that was kept would be used again without being seen
        Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark to the present size
    before = _high_water()
    result = call()
    peak = _high_water()
    del result
    return peak - before


def _high_water() -> int:
    if sys.platform == "linux":  # getrusage would begin with the mark of the process that started this one
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(status["VmHWM"].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_new_process(module: str, function: str, *arguments: object, **environment: str) -> Any:
    """What ``function(*arguments)`` of a script in this folder returns in a new interpreter, by way of JSON."""
    code = (
        "import importlib, json, sys; module, function, arguments = json.loads(sys.argv[1]); "
        "print(json.dumps(getattr(importlib.import_module(module), function)(*arguments)))"
    )
    command = [sys.executable, "-c", code, json.dumps([module, function, arguments])]
    finished = subprocess.run(
        command, cwd=HERE, env=os.environ | environment, check=True, text=True, stdout=subprocess.PIPE
    )
    return json.loads(finished.stdout.splitlines()[-1])


# ---------------------------------------------------------------------- rows of the table


@dataclass(frozen=True)
class Row:
    """One comparison, with what is required of it.

    `sense` says how to read it: "faster" (peer / ours must reach `required`), "within" (ours / peer must not exceed it)
    or "limit" (ours itself must not exceed it; there is no peer). A `required` of None is for information.
    """

    what: str
    ours: float
    unit: Literal["s", "B", "nats", "sigma", "values"]
    sense: Literal["faster", "within", "limit"]
    required: float | None = None
    peer_name: str = ""
    peer: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times faster, or which multiple of the peer."""
        if self.peer is None:
            return None
        return self.peer / self.ours if self.sense == "faster" else self.ours / self.peer

    @property
    def met(self) -> bool | None:
        """Whether it is as required; None if nothing is."""
        if self.required is None:
            return None
        if self.sense == "faster":
            return self.ratio is not None and self.ratio >= self.required
        return (self.ours if self.ratio is None else self.ratio) <= self.required

    def cells(self) -> tuple[str, ...]:
        """What, ours, peer, ratio, required ratio, verdict; as text."""
        sign = ">=" if self.sense == "faster" else "<="
        required = "" if self.required is None else f"{sign} {self._text(self.required)}"
        if self.peer is None:
            return (self.what, amount(self.ours, self.unit), "", "", required, self._verdict())
        peer = f"{self.peer_name} {amount(self.peer, self.unit)}"
        return (self.what, amount(self.ours, self.unit), peer, f"{self.ratio:.3g}x", required, self._verdict())

    def _text(self, required: float) -> str:
        return f"{required:g}x" if self.peer is not None else amount(required, self.unit)

    def _verdict(self) -> str:
        return {True: "met", False: "MISSED", None: ""}[self.met]


HEADINGS = ("what", "ours", "peer", "ratio", "required", "verdict")


def amount(value: float, unit: str) -> str:
    """A number with a unit that suits its size."""
    if unit == "s":
        for factor, name in ((1e6, "us"), (1e3, "ms")):
            if value * factor < 1000:
                return f"{value * factor:.3g} {name}"
        return f"{value:.3g} s"
    if unit == "B":
        return f"{value / MEGABYTE:.1f} MB"
    return f"{value:.2g} {unit}"


def show(rows: Iterable[Row]) -> None:
    """Print rows as an aligned table."""
    table = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(HEADINGS))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(), flush=True)


def main(description: str | None, rows: Callable[[bool], list[Row]]) -> None:
    """Command line of a script: measure, print; ``--short`` as in `make bench`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="the short form that `make bench` runs")
    arguments = parser.parse_args()
    use_one_thread()
    show(rows(arguments.short))
