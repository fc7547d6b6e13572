"""How often an attack is repeated: a short form for every run of the suite, a long one for `make attack`."""

from __future__ import annotations

import os

LONG = os.environ.get("BITREPLAY_ATTACK") == "long"


def times(short: int, long: int) -> int:
    """The number of repetitions: the long form's is what docs/reliability.md claims."""
    return long if LONG else short
