"""Runs the property tests of the suite with other examples, until the time is over: `python fuzz/properties.py`.

Every round is the tests that hypothesis drives, with a seed of its own; what the suite derandomises is random here. The
first failure ends it, and hypothesis prints the example.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent
SETTINGS = "_hypothesis_internal_use_settings"  # where hypothesis keeps those of a test; there is no public way


class Random:
    """Makes tests of hypothesis random again, with ten times the examples."""

    def pytest_itemcollected(self, item: Any) -> None:
        """Change the settings of a test that was found."""
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)  # of a class
        if item.get_closest_marker("hypothesis") is not None:
            held = getattr(test, SETTINGS, None) or settings.default
            setattr(test, SETTINGS, settings(held, derandomize=False, max_examples=10 * held.max_examples))


def main() -> None:
    """Rounds, a process each, until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0, help="no round begins after these")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    parser.add_argument("--round", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.round:
        files = [str(path) for path in sorted(ROOT.glob("tests/**/test_*.py")) if "@given" in path.read_text()]
        words = ["-q", "-x", "-m", "hypothesis", "-p", "no:cacheprovider", f"--hypothesis-seed={options.seed}", *files]
        sys.exit(pytest.main(["--rootdir", str(ROOT), *words], plugins=[Random()]))
    begun, seed = time.monotonic(), options.seed
    while time.monotonic() - begun < 60 * options.minutes:
        subprocess.run([sys.executable, __file__, "--round", "--seed", str(seed)], check=True, cwd=ROOT)
        seed += 1
        print(f"{seed - options.seed} rounds in {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
