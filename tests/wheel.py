"""The package as a user gets it: sdist and wheel, built, checked and installed: `make test-wheel`.

First the core alone runs the README; then every extra is added to it in an environment of its own, and what it is for
is imported. Last, the tests of the core pass without any extra (`--core` runs only those, where bitreplay is installed
already).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = [f"tests/{name}" for name in ("bits", "kernels", "mixture", "memory", "heads", "gbm", "classifier")]
IMPORTS = {  # of each extra: what must be importable with it
    "cli": "from bitreplay.cli import main; assert main(['--version']) == 0",
    "data": "from bitreplay.data import load_dataset; load_dataset('digits'); import datasets",
    "training": "from bitreplay.training import train_base; import kornia",
    "pretrained": "from bitreplay import Encoder; Encoder.from_pretrained('efficientnet_lite0')",
    "quicknet": "import h5py",
    "cluster": "import distributed",
    "onnx": "import onnx, onnxscript; from bitreplay.exports import export_onnx",
    "hub": "from bitreplay.exports import HubClassifier",
    "hf": "import transformers; from bitreplay import ImageClassifier",
    "serve": "from bitreplay.service import make_app",
}


def main() -> None:
    if sys.argv[1:] == ["--core"]:
        run(sys.executable, "-m", "pytest", *core_tests(), cwd=ROOT)
        return
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", str(ROOT))
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir()))
    (wheel,) = dist.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        python = environment(base / "core", str(wheel))
        # From elsewhere, so that nothing is found that the wheel lacks.
        run(python, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", str(ROOT / "README.md"), cwd=base)
        print("core alone: the README runs", flush=True)
        for extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]:
            if extra in ("all", "dev", "docs", "release", "fuzz", "mutants"):
                continue
            own = environment(base / extra, f"{wheel}[{extra}]", core=base / "core")
            run(own, "-c", IMPORTS[extra], cwd=base)
            print(f"{extra}: installs, and imports what it is for", flush=True)
            shutil.rmtree(base / extra)
        run(python, "-m", "pip", "install", *QUIET, "pytest", "hypothesis")
        run(python, "-m", "pytest", "-p", "no:cacheprovider", *core_tests(), cwd=ROOT)
        print("core alone: its tests pass", flush=True)


QUIET = ("--quiet", "--disable-pip-version-check", "--constraint", str(ROOT / "constraints.txt"))


def environment(folder: Path, package: str, core: Path | None = None) -> str:
    """A new environment with a package; with `core`, on top of what is installed there: torch need not be copied."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    if core is not None:
        (packages,) = folder.rglob("site-packages")
        (packages / "core.pth").write_text(f"{core / packages.relative_to(folder)}\n")
    run(python, "-m", "pip", "install", *QUIET, package)
    return python


def core_tests() -> list[str]:
    return [test for test in CORE if (ROOT / test).exists()] + ["tests/test_binarizers.py", "tests/test_caches.py"]


def run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd)


if __name__ == "__main__":
    main()
