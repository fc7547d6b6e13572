"""A new process with the kernels and nothing else of bitreplay: other imports take most of a process's start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bitreplay

PACKAGE = f"""
import sys, types
package = sys.modules["bitreplay"] = types.ModuleType("bitreplay")
package.__path__ = {list(bitreplay.__path__)!r}
"""


def run_alone(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program that may import modules from a folder; what is compiled is kept there too."""
    environment = {**os.environ, "PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(path / "cache")}
    command = [sys.executable, "-c", PACKAGE + program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
