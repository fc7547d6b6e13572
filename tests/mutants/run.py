"""Draws mutants of the core, and says which of them no test notices: `make mutants`.

The tests of a package run once, to learn which of them reach which line. Then each mutant is a forked process, in which
nothing is left to import, and which runs the tests that reach the changed statement, the quickest first, until one
fails. A mutant in which they all pass has survived: a test is missing, or the code is more than is needed, or
`equivalent.txt` says why it computes the same.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Set
from functools import partial
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

import coverage
import pytest
from _pytest.runner import runtestprotocol

from tests.mutants import equivalents
from tests.mutants.making import File, Mutant, functions_of

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "bitreplay"

# What to mutate; the tests of the same name should notice. Some that start processes or take long are left out.
PACKAGES = ["bits", "mixture", "memory", "heads", "gbm", "device"]
SLOW = ["test_distributed.py", "test_sklearn_checks.py", "test_emulated.py"]


PASSED, FAILED, UNREACHED, BROKEN = range(4)  # how a process ends
MEMORY = 2**36  # addresses that a mutant may use; torch alone reserves some billions


class Runner:
    """Takes the place of pytest's own loop over the tests it has collected."""

    def __init__(self, chosen: list[Mutant], sources: Path, jobs: int, seconds: float) -> None:
        self.chosen, self.sources, self.jobs, self.seconds = chosen, sources, jobs, seconds
        self.fates = [""] * len(chosen)  # killed, survived, not reached
        self.tests: list[Any] = []
        self.reached: dict[tuple[str, int], set[str]] = defaultdict(set)  # the tests that reach a line
        self.taken: dict[str, float] = {}  # seconds of every test that passes

    def pytest_configure(self, config: pytest.Config) -> None:
        """Failing examples are neither made shorter nor kept."""
        from hypothesis import Phase, settings  # not above: pytest wants to import it first

        settings.register_profile("mutants", database=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests as they are, then those that reach each mutant."""
        self.tests = session.items
        files: Path = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # made before forking
        if any("library" in getattr(test, "fixturenames", ()) for test in self.tests):
            conftest = sys.modules["tests.device.conftest"]
            library = conftest.compile_library(files)  # once, not by every process
            conftest.compile_library = lambda folder: library  # type: ignore[attr-defined]
        parts = [files / f"watched {i}" for i in range(self.jobs)]
        watches = [partial(self._watch, part, self.tests[i :: self.jobs]) for i, part in enumerate(parts)]
        self._processes(watches, _must_pass)
        for part in parts:
            taken, reached = pickle.loads(part.read_bytes())
            self.taken |= taken
            for line, names in reached.items():
                self.reached[line] |= names
        print(f"{len(self.taken)} of {len(self.tests)} tests pass, {sum(self.taken.values()):.0f} s", flush=True)
        self._processes(
            [partial(self._notice, self.taken.keys(), float("inf"))], _must_pass
        )  # where nothing is changed
        functions = functions_of(self.sources)
        self._processes([partial(self._attack, mutant, functions) for mutant in self.chosen], self._note)
        return True

    def _watch(self, target: Path, tests: list[Any]) -> int:
        """Run tests as they are, and keep which lines each of them reaches and how long it takes."""
        watching = coverage.Coverage(data_file=None, include=[f"{self.sources}/*"], config_file=False)
        taken, reached = {}, defaultdict(set)
        watching.start()
        for test in tests:
            watching.switch_context(test.nodeid)
            begun = time.process_time()
            if all(report.passed for report in runtestprotocol(test, log=False)):
                taken[test.nodeid] = time.process_time() - begun
        watching.stop()
        data = watching.get_data()
        for path in data.measured_files():
            for line, names in data.contexts_by_lineno(path).items():
                reached[path, line].update(names)
        target.write_bytes(pickle.dumps((taken, dict(reached))))
        return PASSED

    def _attack(self, mutant: Mutant, functions: list[Any]) -> int:
        """Whether one of the tests that reach a mutant notices it."""
        names = set[str]().union(*(self.reached.get((str(mutant.path), line), ()) for line in mutant.lines))
        mutant.enter(functions)
        return self._notice(names & self.taken.keys(), self.seconds) if names & self.taken.keys() else UNREACHED

    def _notice(self, names: Set[str], seconds: float) -> int:
        """Whether one of these tests fails, the quickest first; none is begun after so many seconds."""
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        begun = time.process_time()
        for test in sorted((test for test in self.tests if test.nodeid in names), key=self._duration):
            now = time.process_time()
            if now - begun > seconds:
                break
            limit = int(now + 10 * self._duration(test)) + 10  # of processor time: a loop without end is noticed, too
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            if any(report.failed for report in runtestprotocol(test, log=False)):
                return FAILED
        return PASSED

    def _duration(self, test: Any) -> float:
        return self.taken[test.nodeid]

    def _note(self, number: int, status: int) -> None:
        name = self.chosen[number].name
        if status == BROKEN << 8:
            pytest.exit(f"this mutant cannot be made: {name}", BROKEN)
        self.fates[number] = {PASSED: "survived", UNREACHED << 8: "not reached"}.get(status, "killed")
        if self.fates[number] != "killed":
            print(f"{self.fates[number]}: {name}", flush=True)

    def _processes(self, works: list[Callable[[], int]], done: Callable[[int, int], Any]) -> None:
        """Do each work in a forked process, so many at once; `done` is told its number and how it ended."""
        waiting, running = list(enumerate(works)), dict[int, int]()
        while waiting or running:
            if waiting and len(running) < self.jobs:
                number, work = waiting.pop(0)
                process = os.fork()
                if process == 0:
                    _quietly(work)
                running[process] = number
            else:
                process, status = os.wait()
                done(running.pop(process), status)


def _must_pass(number: int, status: int) -> None:
    if status:
        pytest.exit("tests that pass in their order fail in another", BROKEN)


def _quietly(work: Callable[[], int]) -> NoReturn:
    """Do it in this process, which ends with its result."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    try:
        os._exit(work())
    finally:
        os._exit(BROKEN)


def draw(package: str, n: int, seed: int) -> tuple[list[Mutant], int]:
    """Some mutants of a package and how many there are: those whose texts have the smallest hashes.

    So a change of the sources exchanges few of them.
    """
    files = [File(path) for path in sorted((SOURCES / package).glob("*.py"))]
    every = [
        (sha256(f"{seed} {text}".encode()).digest(), file, i) for file in files for i, text in enumerate(file.texts())
    ]
    return [file[i] for _, file, i in sorted(every, key=itemgetter(0))[:n]], len(every)


def attack(chosen: list[Mutant], sources: Path, words: list[str], jobs: int, seconds: float) -> list[str]:
    """What became of each mutant, under the tests that these words make pytest collect."""
    runner = Runner(chosen, sources, jobs, seconds)
    with tempfile.TemporaryDirectory() as folder:
        if pytest.main(["-q", "-s", "-p", "no:cacheprovider", f"--basetemp={folder}/tests", *words], plugins=[runner]):
            sys.exit("the tests cannot be run")
    return runner.fates


def main() -> None:
    """Draw, run, count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("packages", nargs="*", default=PACKAGES, help=f"some of {', '.join(PACKAGES)}")
    parser.add_argument("--each", type=int, default=60, help="mutants of a package")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--seconds", type=float, default=5.0, help="of tests for each mutant")
    options = parser.parse_args()
    explained, left = equivalents(), 0
    for package in options.packages:
        chosen, n = draw(package, options.each, options.seed)
        others = [mutant for mutant in chosen if mutant.name not in explained]
        words = [*(f"--ignore-glob=*/{name}" for name in SLOW), f"tests/{package}", f"src/bitreplay/{package}"]
        fates = attack(others, SOURCES, words, options.jobs, options.seconds)
        lived = len(others) - fates.count("killed")
        counts = f"{fates.count('killed')} killed, {len(chosen) - len(others)} explained, {lived} left"
        print(f"{package}: {len(chosen)} of {n} mutants: {counts}", flush=True)
        left += lived
    sys.exit(left > 0)


if __name__ == "__main__":
    main()
