"""The order of packages holds, nobody reaches into another's private modules, and the documents say the same."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import bitreplay

ROOT = Path(__file__).parents[1]
PACKAGE = Path(bitreplay.__file__).parent
LONGEST = 300
MOST_NAMES = 120  # 200 in 0.1.0; a new one should replace one that nobody needs
SOURCES = sorted(PACKAGE.rglob("*.py"))


def package_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name.startswith("_"))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_private_elsewhere(module, path):
    """Whether a module of another package of ours is private to it; `_floor` and the like are rooms, not private."""
    parts = module.split(".")
    if parts[0] != "bitreplay" or len(parts) < 3 or parts[1] == package_of(path):
        return False
    return any(part.startswith("_") and not part.endswith("__") for part in parts[2:])


def test_no_module_imports_anothers_private_module():
    found = [(package_of(p), m) for p in SOURCES for m in imported_modules(p) if is_private_elsewhere(m, p)]
    assert found == []


def test_the_search_finds_what_it_looks_for(tmp_path):
    assert is_private_elsewhere("bitreplay.report._tables", PACKAGE / "runs" / "_run.py")
    assert not is_private_elsewhere("bitreplay.report._tables", PACKAGE / "report" / "_page.py")
    assert not is_private_elsewhere("bitreplay._floor.files", PACKAGE / "report" / "_page.py")


def test_no_file_is_too_long():
    lengths = {str(path.relative_to(PACKAGE)): len(path.read_text().splitlines()) for path in SOURCES}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def layers():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [name.strip() for layer in contract["layers"] for name in reversed(layer.split(":"))]


def test_the_list_in_contributing_is_the_contract():
    if not (ROOT / "CONTRIBUTING.md").exists():
        pytest.skip("CONTRIBUTING.md is not part of what is installed")
    listed = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert listed == layers()[::-1]


def lint(root):
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=root, env={"PYTHONPATH": "src"}, capture_output=True, text=True, check=False)


def test_the_contract_holds_and_an_arrow_turned_around_breaks_it(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "src" / "bitreplay", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    kept = lint(tmp_path)
    assert kept.returncode == 0, kept.stdout
    file = tmp_path / "src" / "bitreplay" / "memory" / "_table.py"
    file.write_text(file.read_text() + "\nfrom bitreplay import heads\n")
    broken = lint(tmp_path)
    assert broken.returncode == 1
    assert "bitreplay.memory is not allowed to import bitreplay.heads" in broken.stdout


def public_names():
    """Names in `__all__` of all modules that are not private, each counted once however often it is offered."""
    names = set()
    for path in SOURCES:
        if any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(PACKAGE).parts):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names.update(ast.literal_eval(node.value))
    return names


def test_public_names_are_few():
    names = public_names()
    assert {"GBMClassifier", "evaluate", "check_learner"} <= names
    assert len(names) <= MOST_NAMES
