"""The short form of `make mutants`: it finds what no test notices in a toy, and what is explained is still there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import equivalents

ROOT = Path(__file__).parents[2]

TOY = """
def clipped(x, low, high):
    if x < low:
        return low
    return min(x, high)


class Square:
    def __init__(self, side):
        self.side = side

    @property
    def area(self):
        return self.side * self.side

    def grown(self):
        return Square(self.side + 1)
"""

TESTS = """
from toy import Square, clipped

def test_clipped():
    assert [clipped(x, 0, 9) for x in (-1, 5, 10)] == [0, 5, 9]

def test_square():
    assert Square(3).area == 9
"""

RUN = """
from pathlib import Path
from tests.mutants.making import File
from tests.mutants.run import attack

file = File(Path("toy.py").resolve())
chosen = [file[i] for i in range(len(file.texts()))]
for mutant, fate in zip(chosen, attack(chosen, file.path.parent, ["test_toy.py"], 2, 5.0)):
    print(fate, mutant.name.split(": ", 1)[1], sep=": ")
"""


def test_it_finds_what_no_test_notices_in_a_toy(tmp_path: Path) -> None:
    pytest.importorskip("mutmut", reason="make mutants installs it")
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "test_toy.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    command = [sys.executable, "-c", f"import sys; sys.path.append({str(ROOT)!r})\n{RUN}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    fates = done.stdout.splitlines()[-4:]
    assert fates == [
        "survived: if x < low: -> if x <= low:",
        "killed: return self.side * self.side -> return self.side / self.side",
        "not reached: return Square(self.side + 1) -> return Square(self.side - 1)",
        "not reached: return Square(self.side + 1) -> return Square(self.side + 2)",
    ]


def test_lines_of_explained_mutants_are_still_in_the_sources() -> None:
    for name in equivalents():
        path, change = name.split(": ", 1)
        source = " ".join(line.strip() for line in (ROOT / "src" / "bitreplay" / path).read_text().splitlines())
        assert change.split(" -> ")[0] in source, name
