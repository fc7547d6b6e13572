"""Where the user's own data is."""

from __future__ import annotations

import os
from pathlib import Path

DATA = "BITREPLAY_DATA"


def data_root() -> Path | None:
    """`$BITREPLAY_DATA`, the folder of the user's data sets, if that is set."""
    value = os.environ.get(DATA)
    return Path(value).expanduser().absolute() if value else None
