"""The walk of `bitreplay run --dataset digits --learner GBM` from the command line to the core.

Prints the stack of our own functions at the first call of `GBMState.learned`, and the files of ours that learning one
more task passes through.

Usage: python benchmarks/walk.py
"""

import contextlib
import io
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import bitreplay
from bitreplay.cli import main

ROOT = str(Path(bitreplay.__file__).parent)
WATCHED_TASK = 2  # the first has more to decide


class Walk:
    """What a profiler sees of our own functions."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.files: set[str] = set()
        self.task = 0
        self.learning: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:  # noqa: D102
        if not frame.f_code.co_filename.startswith(ROOT):
            return
        name = _name(frame)
        if event == "return" and frame is self.learning:
            self.learning = None
        if event != "call":
            return
        if name == "learners/frozen/_adapter.py learn":
            self.task += 1
            if self.task == WATCHED_TASK:
                self.learning = frame
        if name == "gbm/_state.py learned" and not self.stack:
            self.stack = _stack(frame)
        if self.learning is not None:
            self.files.add(name.split()[0])


def _name(frame: FrameType) -> str:
    return f"{frame.f_code.co_filename.removeprefix(ROOT + '/')} {frame.f_code.co_name}"


def _stack(frame: FrameType | None) -> list[str]:
    names = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(ROOT):
            names.append(_name(frame))
        frame = frame.f_back
    return names[::-1]


def walk() -> Walk:
    """Run once to train the network, and once more to watch."""
    seen = Walk()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        for name in ("first", "watched"):
            if name == "watched":
                threading.setprofile(seen)
                sys.setprofile(seen)
            code = main(["run", "--dataset", "digits", "--learner", "GBM", "--output", f"{folder}/{name}"])
            assert code == 0
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return seen


if __name__ == "__main__":
    found = walk()
    print(f"from main to the core, {len(found.stack)} of our functions:", *found.stack, sep="\n  ")
    print(f"learning a task passes through {len(found.files)} of our files:", *sorted(found.files), sep="\n  ")
