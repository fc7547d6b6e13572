"""The wheel has everything that the package reads, and nothing else; `make test-wheel` installs it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_wheel_has_every_file_of_the_package(tmp_path):
    program = "import sys; from hatchling.build import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        ours = {Path(name).relative_to("src").as_posix() for name in listed.stdout.split("\n") if name}
    else:  # a clone without its history
        ours = {p.relative_to(source).as_posix() for p in source.rglob("*.py")}
    assert ours <= inside
    assert all(name.startswith("bitreplay" + "/") for name in inside)
    assert "bitreplay/py.typed" in inside


def test_lower_bounds_are_versions_that_were_tested():
    oldest = dict(re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "constraints-oldest.txt").read_text(), re.MULTILINE))
    for requirement in PROJECT["dependencies"]:
        name, bound = requirement.split(">=")
        assert oldest[name].startswith(bound), requirement


def test_the_version_has_one_source():
    version = {}
    exec((ROOT / "src" / "bitreplay" / "_version.py").read_text(), version)
    number = version["__version__"]
    if "dev" not in number:
        (date,) = re.findall(
            rf"^## {re.escape(number)} - (\d{{4}}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M
        )
        cited = (ROOT / "CITATION.cff").read_text()
        assert f"\nversion: {number}\n" in cited
        assert f"\ndate-released: {date}\n" in cited
    assert "version" in PROJECT["dynamic"]
