"""Flash that the C library takes on a Cortex-M4, file by file: code and tables, in bytes."""

import subprocess
import sys
import tempfile
from pathlib import Path

from bitreplay.device import library_folder

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.device.emulator import missing

DOES = {
    "memory": "scores, predict, forget",
    "enrol": "enrol",
    "block": "store, load",
    "binarize": "binarize, for three types of features",
    "head": "heads with weights",
    "network": "embed",
    "tables": "logarithms and exponentials",
}
LEVELS = ("-Os", "-O2")


def text_bytes(source: Path, level: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "part.o"
        flags = ["-mcpu=cortex-m4", "-mthumb", "-std=c99", level, "-c", str(source), "-o", str(target)]
        subprocess.run(["arm-none-eabi-gcc", *flags], check=True)
        out = subprocess.run(["arm-none-eabi-size", str(target)], check=True, capture_output=True, text=True).stdout
    text, data, bss = map(int, out.splitlines()[1].split()[:3])
    assert data == bss == 0  # the library has no state
    return text


def main() -> None:
    if lacking := missing("arm-none-eabi-gcc"):
        sys.exit(lacking)
    print("| file | what | " + " | ".join(LEVELS) + " |\n|---|---|" + "---:|" * len(LEVELS))
    totals = [0] * len(LEVELS)
    for name, does in DOES.items():
        sizes = [text_bytes(library_folder() / f"bitreplay_{name}.c", level) for level in LEVELS]
        totals = [total + size for total, size in zip(totals, sizes, strict=True)]
        print(f"| `bitreplay_{name}.c` | {does} | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    print("| all | | " + " | ".join(f"{total:,}" for total in totals) + " |")


if __name__ == "__main__":
    main()
