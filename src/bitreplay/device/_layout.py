"""What a device knows about its memory before it holds a class: the width of the bits, the code of the prototypes, and
how new ones are fitted. In C it is a `const bitreplay_layout`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.bits import Fingerprint
from bitreplay.device._fixed_point import scaled_logarithms
from bitreplay.errors import InputError

LEAST_CLAMP = 0.00034  # 4096 times its logarithm is -32,714: it must be above -32,768
MOST_SAMPLES = 65535  # of one class: their responsibilities then add up to less than 2^31
RANGES = {
    "features": (1, 65535),  # 65535 entries of -32768 and the mixing weight's logarithm fit into 32 bits
    "bits": (1, 8),  # q = 8 gains almost nothing over 3; more would need tables of kilobytes
    "prototypes": (1, 255),
    "starts": (1, 32),  # 32-bit arithmetic deals out their samples
    "warm_up": (0, 255),
    "steps": (1, 255),
    "min_count": (1, MOST_SAMPLES),
    "fingerprint": (0, 2**32 - 1),
}


@dataclass(frozen=True)
class Layout:
    """Width, code and fitting of a device's memory.

    Parameters
    ----------
    features : int
        D, bits of an embedding, up to 65,535.
    bits : int
        q, bits per stored value, 1 to 8.
    prototypes : int
        K, maximum number of prototypes of an enrolled class.
    fingerprint : int
        32 bits that identify how embeddings are made; see :func:`short_fingerprint`. Other blocks are refused.
    clamp : float
        Stored values are clamped to [clamp, 1 - clamp] for decisions.
    starts, warm_up, steps : int
        EM makes `starts` starts of `warm_up` steps, and at most `steps` from the best of them.
    min_count : int
        A prototype with fewer samples is re-seeded, and in the end merged away.

    Examples
    --------
    >>> layout = Layout(features=256, prototypes=8)
    >>> layout.words, layout.class_words(8)  # a class of 8 prototypes: 28 + 8 * 3 * 32 bytes
    (8, 199)
    >>> layout.log_probabilities.tolist()
    [-10345, -7970, -5131, -3471, -2292, -1378, -631, -342]
    """

    features: int
    bits: int = 3  # sec. 5.2, "for q >= 3, GBM outperforms LR"
    prototypes: int = 8  # table 1, "K=8"
    fingerprint: int = 0
    clamp: float = 0.08  # ours: that of heads.Bayes, measured in benchmarks/head_options.py
    starts: int = 3  # ours: benchmarks/device_em.py; three do as well as the five of sec. 4.1
    warm_up: int = 3  # sec. 4.1, "N_iter=3"
    steps: int = 10  # sec. 4.1, "a maximum of n_max=10 steps"
    min_count: int = 5  # ours: that of EMOptions

    def __post_init__(self) -> None:
        for name, (least, most) in RANGES.items():
            object.__setattr__(self, name, integer(name, getattr(self, name), least, most))
        if not isinstance(self.clamp, int | float) or not LEAST_CLAMP <= self.clamp < 0.5:
            raise InputError(
                f"clamp must lie between {LEAST_CLAMP} and 0.5: logarithms have 16 bits; got {self.clamp!r}"
            )

    @property
    def words(self) -> int:
        """32-bit words of an embedding."""
        return -(-self.features // 32)

    @property
    def top(self) -> int:
        """2^q - 1: the code of 1."""
        return (1 << self.bits) - 1

    @property
    def log_probabilities(self) -> npt.NDArray[np.int16]:
        """The table behind decisions: for each code, 4096 times the logarithm of its value."""
        return scaled_logarithms(self.top, self.clamp)

    def class_words(self, prototypes: int) -> int:
        """32-bit words of a class: label, count, number of prototypes; mixing weights; planes of codes."""
        return 3 + -(-prototypes // 2) + prototypes * self.bits * self.words

    def prototypes_for(self, n_samples: int) -> int:
        """How many prototypes a class of this many samples starts with."""
        return min(self.prototypes, max(1, n_samples // self.min_count))


def short_fingerprint(fingerprint: Fingerprint) -> int:
    """32 bits of a memory's fingerprint.

    Examples
    --------
    >>> f"{short_fingerprint(Fingerprint(256)):08x}"
    '0eb7f0dd'
    """
    described = json.dumps(fingerprint.to_json(), sort_keys=True, separators=(",", ":"))
    return int.from_bytes(hashlib.sha256(described.encode()).digest()[:4], "little")
