"""What is kept of a class, to be looked at: its prototypes as small images of bits. There is no photograph to show."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from bitreplay.memory import BinaryMemory, Label

GREYS = 255  # memories of more than 8 bits per value are shown with as many shades as a screen has


def kept_of(memory: BinaryMemory, label: Label) -> dict[str, Any]:
    """Prototypes of a class, the heaviest first: how often each bit is set, as bytes in base64, and their weights.

    Examples
    --------
    >>> from bitreplay import Mixture
    >>> memory = BinaryMemory(bits=1)
    >>> memory.add("mug", Mixture(np.array([[0.0, 1.0, 1.0]], np.float32), np.ones(1), count=9))
    >>> kept_of(memory, "mug")
    {'label': 'mug', 'samples': 9, 'bits_per_value': 1, 'width': 3, 'prototypes': [{'weight': 1.0, 'shades': 'AP//'}]}
    """
    mixture = memory.mixture(label)
    shades = np.rint(mixture.prototypes * GREYS).astype(np.uint8)
    heaviest = np.argsort(-mixture.weights, kind="stable")
    return {
        "label": str(label),
        "samples": mixture.count,
        "bits_per_value": memory.bits,
        "width": memory.n_features,
        "prototypes": [
            {
                "weight": round(float(mixture.weights[row]), 4),
                "shades": base64.b64encode(shades[row].tobytes()).decode(),
            }
            for row in heaviest
        ],
    }
