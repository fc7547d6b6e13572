"""Mutation testing of the core: `make mutants`."""

from __future__ import annotations

from pathlib import Path

EQUIVALENT = Path(__file__).parent / "equivalent.txt"


def equivalents() -> dict[str, str]:
    """The mutants that `equivalent.txt` explains, and why nobody needs to notice them.

    Each reason begins with a #; the mutants that it holds for follow, as `run.py` prints them.
    """
    reasons, reason = {}, ""
    for line in EQUIVALENT.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            reasons[line] = reason
    return reasons
