"""Compiling is said once, where it happens, and not where kernels are loaded."""

from __future__ import annotations

from pathlib import Path

from bitreplay._kernels.warm_up import COMPILING
from tests.kernels.alone import run_alone

KERNEL = """
from bitreplay._kernels.compiling import kernel

@kernel("int64(int64)")
def one_more(n):
    return n + 1
"""
PROGRAM = "from bitreplay._kernels import warm_up; warm_up.KERNELS = ('some_kernels',); warm_up.warm_up()"


def test_a_line_is_said_when_kernels_are_compiled_and_only_then(tmp_path: Path) -> None:
    (tmp_path / "some_kernels.py").write_text(KERNEL)
    said = [run_alone(PROGRAM, tmp_path) for _ in range(2)]
    assert [process.stderr for process in said] == [f"{COMPILING}\n", ""]
    assert not any(process.stdout for process in said)
