"""JSON content as an array of bytes, so that the state of a learner is arrays only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


def to_text(content: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """JSON content as an array of bytes, so that a state is arrays only.

    Examples
    --------
    >>> from_text(to_text({"p": 1}))
    {'p': 1}
    """
    return np.frombuffer(json.dumps(content).encode(), dtype=np.uint8).copy()


def from_text(array: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """The inverse of :func:`to_text`; raises ValueError if it is not JSON."""
    content = json.loads(np.asarray(array, dtype=np.uint8).tobytes())
    if not isinstance(content, dict):
        raise ValueError("not a JSON object")
    return content
