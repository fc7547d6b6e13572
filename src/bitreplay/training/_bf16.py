"""Whether this CPU can multiply bfloat16 numbers: tested once per machine, in a process that may crash.

Some hypervisors pass AMX through but hide its description. There the first bfloat16 product of torch ends the process
with "Illegal instruction", which no `try` can catch; so a child process tries it before any long computation starts.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from bitreplay import caches
from bitreplay.errors import BitreplayError, InputError

# What training and encoding do with bfloat16: a product, a convolution, and the gradients of both.
PROGRAM = """
import torch
with torch.autocast("cpu", torch.bfloat16):
    images = torch.ones(8, 16, 8, 8, requires_grad=True)
    layers = torch.nn.Sequential(torch.nn.Conv2d(16, 32, 3), torch.nn.Flatten(), torch.nn.Linear(32 * 36, 64))
    layers(images).float().sum().backward()
"""
SECONDS = 600.0  # ours: far more than an import of torch takes on busy cores; a process that hangs does not work either
CURE = "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16"
CPU = ("model name", "flags", "Features")  # lines of /proc/cpuinfo, on x86 and on Arm
DECISIVE = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "LD_PRELOAD")  # what in the environment may change the answer


def bf16_works(command: Sequence[str] | None = None) -> bool:
    """Whether a process that uses bfloat16 survives on this CPU; the answer is remembered in the cache.

    Parameters
    ----------
    command : sequence of str, optional
        The command to test with; exit code 0 means that it works. By default, a few products in Python.

    Examples
    --------
    >>> bf16_works([sys.executable, "-c", "pass"])
    True
    """
    asked = (sys.executable, "-c", PROGRAM) if command is None else tuple(command)
    return _ask(asked, tuple(os.environ.get(name, "") for name in DECISIVE), str(caches.cache_root()))


def require_bf16(device: str, command: Sequence[str] | None = None) -> None:
    """Refuse bfloat16 on a CPU where it would kill the process.

    Examples
    --------
    >>> require_bf16("cpu", [sys.executable, "-c", "import os; os.abort()"])
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: bfloat16 kills processes on this CPU (torch stops with "Illegal instruction"): set ...
    """
    if device == "cpu" and not bf16_works(command):
        raise InputError(
            'bfloat16 kills processes on this CPU (torch stops with "Illegal instruction"): '
            f"set {CURE} in the environment, or use the precision 32-true"
        )


@cache
def _ask(command: tuple[str, ...], environment: tuple[str, ...], root: str) -> bool:
    key = caches.key(command=command, environment=environment, cpu=_cpu(), torch=torch.__version__)
    if (found := caches.find("probes", key)) is not None:
        return bool(json.loads((found / "answer.json").read_text()))
    try:
        ended = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        answer = ended.returncode == 0
    except subprocess.TimeoutExpired:
        answer = False
    with contextlib.suppress(BitreplayError, OSError):  # a cache that cannot be written: ask again next time
        words = f"bfloat16 {'works' if answer else 'does not work'} on this CPU"
        with caches.building("probes", key, words) as part:
            (part / "answer.json").write_text(json.dumps(answer))
    return answer


def _cpu() -> str:
    """Everything the system reports about the CPU: its name and features."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return "\n".join(sorted({line for line in lines if line.startswith(CPU)}))
    return f"{platform.machine()} {platform.processor()} {platform.node()}"
