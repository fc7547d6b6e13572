"""What is known about this machine: for keys of machine-specific results, and for readers of its numbers."""

from __future__ import annotations

import contextlib
import os
import platform
from pathlib import Path

NAMES = ("model name", "flags", "Features")  # of /proc/cpuinfo, on x86 and on Arm


def machine_in_words() -> str:
    """Where numbers were measured: kind of processor, cores and system."""
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def cpu_in_words() -> str:
    """Everything the system reports about the CPU: its name and features."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return "\n".join(sorted({line for line in lines if line.startswith(NAMES)}))
    return f"{platform.machine()} {platform.processor()} {platform.node()}"
