"""Runs the tests that wait for processes or for time again and again beside busy loops: `make test-load`.

A test that waits for a moment instead of an event passes on an idle machine and fails on a busy one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

BUSY = "while True: pass"
WAITING = (
    "tests/test_cli.py::test_ctrl_c_ends_with_a_line_that_says_how_to_go_on",
    "tests/runs/test_kill.py",
    "tests/training/test_resume.py",
    "tests/training/test_distributed.py",
    "tests/mixture/test_distributed.py",
    "tests/test_bf16.py",
    "tests/test_caches.py",
    "tests/experiments/test_update_cost.py",
    "tests/attack/test_signals.py",
    "tests/attack/test_commands_signals.py",
    "tests/attack/test_damaged_cache.py",
    "tests/attack/test_full_disk_run.py",
    "tests/attack/test_service.py",
    "tests/commands/test_serve.py",
    "tests/service",
    "tests/attack/test_threads.py",
    "tests/attack/test_files.py",
    "tests/attack/test_fork.py",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--busy", type=int, default=6, help="busy processes beside the tests")
    parser.add_argument(
        "--workers", type=int, default=4, help="of pytest; more of them have a larger share of the cores"
    )
    parser.add_argument("tests", nargs="*", default=WAITING)
    options = parser.parse_args()
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
    failed = 0
    try:
        for number in range(1, options.runs + 1):
            begin = time.perf_counter()
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-n",
                str(options.workers),
                "--dist",
                "worksteal",
                *options.tests,
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            failed += done.returncode != 0
            last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
            print(f"run {number}: {last} ({time.perf_counter() - begin:.0f} s)", flush=True)
            if done.returncode:
                print(done.stdout, done.stderr, flush=True)
    finally:
        for loop in loops:
            loop.kill()
    print(f"{options.runs - failed} of {options.runs} runs passed beside {options.busy} busy processes")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
