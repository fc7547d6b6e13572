"""Processes that a command starts: each inherits a mark by which it is found, wherever it went."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.attack.scale import times

ROOT = Path(__file__).parents[2]
MARK = "BITREPLAY_ATTACK_MARK"
# Within which all processes of a command that was ended must be gone; the short form also runs on cores that are very
# busy, where a process may not get to see its signal for long.
SECONDS = times(60, 10)


def started(words: Sequence[object], cache: Path, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """The command `bitreplay`, begun, and the mark of all its processes."""
    mark = os.urandom(8).hex()
    environment = {**os.environ, MARK: mark, "OMP_NUM_THREADS": "1", "BITREPLAY_CACHE": str(cache)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), environment.get("PYTHONPATH", "")])
    script = Path(sys.executable).with_name("bitreplay")
    program = [str(script)] if script.exists() else ["-m", "bitreplay.cli"]
    with log.open("ab") as file:
        command = [sys.executable, *program, *map(str, words)]
        return subprocess.Popen(command, env=environment, cwd=log.parent, stdout=file, stderr=file), mark


def processes(mark: str) -> list[int]:
    """All living processes that carry a mark."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes() and " Z " not in (folder / "stat").read_text():
                found.append(int(folder.name))
        except OSError:  # gone, or not ours
            continue
    return found


def alive(process: int) -> bool:
    """Whether a process is there, and not only waited for."""
    try:
        return " Z " not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether something has become true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
