"""What every binarizer can do: features → **bits**, and back to what the head sees."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.threads import torch_threads
from bitreplay.bits import Fingerprint, PackedBits, concatenate, pack, to_numpy
from bitreplay.errors import InputError

BLOCK = 2**24  # feature values binarized at once, to bound the memory of large arrays


class Binarizer(nn.Module):
    """From features to bits, and back to what a classifier sees.

    `encode` returns bits, `decode` what G sees for given bits, and calling the module does both with a straight-through
    gradient. The `bits_per_feature` bits of a decoded feature are adjacent.

    Examples
    --------
    A kind of one's own says at least how it encodes; for a classifier, which checks that bits are of one kind, also its
    `fingerprint`:

    >>> class Positive(Binarizer):
    ...     def encode(self, features):
    ...         return (features > 0).to(features.dtype)
    >>> Positive().pack(np.array([[-1.0, 2.0, 0.5]])).unpack()
    array([[0, 1, 1]], dtype=uint8)
    """

    kind: str
    bits_per_feature: int = 1

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """Bits of features (..., d), as 0 and 1 in the features' type, without gradient."""
        raise TypeError(f"{type(self).__name__} does not implement encode")

    def decode(self, bits: torch.Tensor) -> torch.Tensor:
        """What G sees for given bits: the mean of the bits of each feature."""
        if self.bits_per_feature == 1:
            return bits
        return bits.reshape(*bits.shape[:-1], -1, self.bits_per_feature).mean(-1)

    def calibrate(self, features: npt.NDArray[Any]) -> Self:
        """Learn thresholds from features, if the binarizer has any; returns the binarizer."""
        return self

    def pack(self, features: npt.NDArray[Any]) -> PackedBits:
        """Packed bits of an array (rows, d)."""
        features = check_numbers(features)
        step = max(1, BLOCK // max(1, features.shape[1] * self.bits_per_feature))
        if len(features) <= step:
            return pack(self.encode_array(np.ascontiguousarray(features)))
        blocks = (np.ascontiguousarray(features[i : i + step]) for i in range(0, max(1, len(features)), step))
        return concatenate([pack(self.encode_array(block)) for block in blocks])

    def encode_array(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """As `encode`, from array to array; those that only compare do it without torch."""
        with torch.inference_mode(), torch_threads():
            return self.encode(torch.from_numpy(features)).numpy()

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits made from `n_features` features."""
        raise TypeError(f"{type(self).__name__} does not implement fingerprint")

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options and tensors from which :func:`rebuild` makes the same binarizer again."""
        tensors = {name: value.cpu().numpy() for name, value in self.state_dict().items()}
        return {"kind": self.kind}, tensors


def check_finite(features: Any) -> npt.NDArray[Any]:
    """Features that thresholds can be computed from: a matrix of finite numbers with at least one row."""
    array = check_numbers(features)
    if not len(array) or not np.isfinite(array).all():
        raise InputError(f"thresholds need a non-empty matrix of finite features; got shape {array.shape}")
    return array


def check_numbers(features: Any) -> npt.NDArray[Any]:
    """Features as a matrix of numbers."""
    array = to_numpy(features) if isinstance(features, torch.Tensor) else np.asarray(features)
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise InputError(
            f"features must be a matrix of numbers (rows x features); got {array.dtype} of shape {array.shape}"
        )
    return array
