"""Builds firmware and runs it: on an emulated Cortex-M, on a big-endian machine, on this one.

Nothing is installed; what is missing is named.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bitreplay.device import library_folder
from tests.device.library import COMPILER, STRICT

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "device"
FIRMWARE = Path(__file__).parent / "firmware"
RUN_SECONDS = 3600  # an emulated machine that hangs is ended

ARM = ["-mthumb", "-ffunction-sections", "-fdata-sections", "-nostartfiles", "--specs=nano.specs", "-Wl,--gc-sections"]
MACHINES = {"cortex-m4": "mps2-an386", "cortex-m7": "mps2-an500"}
NEEDED = {
    "arm-none-eabi-gcc": "gcc-arm-none-eabi and libnewlib-arm-none-eabi",
    "qemu-system-arm": "qemu-system-arm",
    "powerpc-linux-gnu-gcc": "gcc-powerpc-linux-gnu and libc6-dev-powerpc-cross",
    "qemu-ppc": "qemu-user",
}


@dataclass(frozen=True)
class Outcome:
    """What a run printed, and what it counted."""

    text: str

    @property
    def passed(self) -> bool:
        return "all answers are those of Python" in self.text

    def calls(self, name: str) -> int:
        return int(self._found(name)[1])

    def instructions(self, name: str) -> int:
        """Per call."""
        return int(self._found(name)[2])

    @property
    def stack_bytes(self) -> int:
        found = re.search(r"stack (\d+)", self.text)
        assert found is not None
        return int(found[1])

    def _found(self, name: str) -> re.Match[str]:
        found = re.search(rf"^{name} calls (\d+) instructions (\d+)$", self.text, re.MULTILINE)
        assert found is not None, self.text
        return found


def missing(*tools: str) -> str:
    """What to install, as a sentence; empty where all is there."""
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    packages = " and ".join(NEEDED[tool] for tool in lacking)
    return f"{', '.join(lacking)} not found: on Debian, apt-get install {packages}" if lacking else ""


def run_on_arm(script: bytes, folder: Path, cpu: str = "cortex-m4", optimize: str = "-O2") -> Outcome:
    """The runner on an emulated Cortex-M, counting instructions."""
    elf, listing = folder / f"{cpu}{optimize}.elf", folder / "board.ld"
    size = ["-DFLASH_KB=4096", "-DRAM_KB=4096"]  # what the emulated board has
    link = ["arm-none-eabi-cpp", "-P", *size, str(EXAMPLE / "board" / "board.ld.S"), "-o", str(listing)]
    subprocess.run(link, check=True)
    sources = [FIRMWARE / "runner.c", EXAMPLE / "board" / "board.c", *sorted(library_folder().glob("*.c"))]
    include = [f"-I{EXAMPLE}", f"-I{library_folder()}", f"-T{listing}"]
    compile_ = ["arm-none-eabi-gcc", *STRICT, f"-mcpu={cpu}", *ARM, optimize, *include, "-o", str(elf)]
    subprocess.run([*compile_, *map(str, sources)], check=True)
    (folder / "script.bin").write_bytes(script)
    return emulate(elf, cpu, folder / "script.bin")


def emulate(elf: Path, cpu: str = "cortex-m4", argument: Path | None = None) -> Outcome:
    """Run an image; instructions take 64 ns each, which its timer counts."""
    given = "" if argument is None else f",arg=firmware,arg={argument}"
    command = ["qemu-system-arm", "-machine", MACHINES[cpu], "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-icount", "shift=6", "-semihosting-config", f"enable=on,target=native{given}", "-kernel", str(elf)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS)
    return Outcome(done.stdout + done.stderr)


def run_on_big_endian(script: bytes, folder: Path) -> Outcome:
    """The runner on an emulated 32-bit PowerPC."""
    return _run_hosted(script, folder / "ppc", ["powerpc-linux-gnu-gcc", "-static"], ["qemu-ppc"])


def run_here(script: bytes, folder: Path, *options: str) -> Outcome:
    """The runner on this machine."""
    assert COMPILER is not None
    return _run_hosted(script, folder / "here", [COMPILER, *options], [])


def _run_hosted(script: bytes, program: Path, compiler: list[str], through: list[str]) -> Outcome:
    sources = [FIRMWARE / "runner.c", FIRMWARE / "host.c", *sorted(library_folder().glob("*.c"))]
    include = [f"-I{EXAMPLE}", f"-I{library_folder()}"]
    subprocess.run([*compiler, *STRICT, "-O2", *include, "-o", str(program), *map(str, sources)], check=True)
    done = subprocess.run([*through, str(program)], input=script, capture_output=True, timeout=RUN_SECONDS)
    return Outcome((done.stdout + done.stderr).decode())
