"""For features that are already binary, as binary networks produce them: 0 and 1, or ±1."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.binarizers._binarizer import Binarizer
from bitreplay.bits import Fingerprint, PackedBits, pack
from bitreplay.nn import sign


class Identity(Binarizer):
    """For embeddings that are already bits, as binary networks produce them: refuses anything but 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> Identity().pack(np.array([[0, 1, 1], [1, 0, 1]]))
    PackedBits(2 x 3, 16 bytes)
    >>> Identity().pack(np.array([[0.0, 0.5]]))
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: bits must be 0 or 1; found 0.5 at row 0, column 1
    """

    kind = "identity"

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """The bits themselves."""
        return features

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The bits themselves."""
        return features

    def pack(self, features: npt.NDArray[Any]) -> PackedBits:
        """Packed bits of a matrix of zeros and ones."""
        return pack(features)

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits: only their number is known."""
        return Fingerprint(n_features, encoder=encoder)


class Native(Binarizer):
    """For features that are already ±1, as binary networks produce them: a bit is set where the feature is at least 0.

    G sees ±1, as every layer of such a network does.

    Examples
    --------
    >>> binarizer = Native()
    >>> bits = binarizer.encode(torch.tensor([[-1.0, 1.0, 1.0]]))
    >>> bits.tolist(), binarizer.decode(bits).tolist()
    ([[0.0, 1.0, 1.0]], [[-1.0, 1.0, 1.0]])
    """

    kind = "native"

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """Bits of features (..., d)."""
        return (features >= 0).to(features.dtype)

    def encode_array(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """As `encode`, without torch."""
        return np.asarray(features >= 0)

    def decode(self, bits: torch.Tensor) -> torch.Tensor:
        """±1 for given bits."""
        return 2 * bits - 1

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The signs, with a straight-through gradient."""
        return sign(features)

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits: their number and the rule."""
        return Fingerprint(n_features, thresholds=hashlib.sha256(b">= 0").hexdigest(), encoder=encoder)
