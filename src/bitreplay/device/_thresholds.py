"""Integer thresholds: the binarizer for integer features, as quantised networks and sensors produce them.

A float threshold becomes the integer that gives the same bits. A feature x of a quantised network represents
``scale * (x - zero_point)``.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import integer, number, one_of
from bitreplay.binarizers import Binarizer, Native, Thermometer
from bitreplay.bits import PackedBits, pack
from bitreplay.errors import InputError

FeatureType = Literal["uint8", "int8", "int16", "float32"]
MANY, SHARE = 32, 4  # ours: of so many thresholds a quarter should stay apart, or the scale was forgotten


@dataclass(frozen=True, eq=False)
class IntegerThresholds:
    """Bit ``p * i + j`` is set where feature i is greater than threshold j; :meth:`of_binarizer` makes it.

    Examples
    --------
    >>> thermometer = Thermometer(p=2)  # thresholds 1/2 and 1, reached when equal
    >>> thresholds = IntegerThresholds.of_binarizer(thermometer, 3, "uint8", scale=1 / 16)
    >>> thresholds.values.tolist()
    [[7, 15]]
    >>> thresholds.pack(np.array([[7, 8, 16]], dtype=np.uint8)).unpack().tolist()
    [[0, 0, 1, 0, 1, 1]]
    """

    feature_type: FeatureType
    inputs: int  # d, features
    values: npt.NDArray[Any]  # (d, p), or (1, p) if shared; integers may lie one below the range: always set

    @classmethod
    def of_binarizer(
        cls,
        binarizer: Binarizer,
        n_features: int,
        feature_type: FeatureType,
        *,
        scale: float = 1.0,
        zero_point: int = 0,
    ) -> IntegerThresholds:
        """The thresholds that set the same bits for features of another type.

        An integer x represents ``scale * (x - zero_point)``.
        """
        one_of("feature_type", feature_type, FeatureType)
        scale = number("scale", scale, above=0)
        zero_point = integer("zero_point", zero_point)
        n_features = integer("n_features", n_features, 1)
        floats, strictly = _float_thresholds(binarizer, n_features)
        if n_features * floats.shape[1] > 65535:
            raise InputError(f"a device takes up to 65535 bits; these features make {n_features * floats.shape[1]}")
        if feature_type == "float32":
            if scale != 1 or zero_point != 0:
                raise InputError("scale and zero_point are for features that are integers")
            # The largest float below t is exceeded exactly where t is reached.
            return cls(feature_type, n_features, floats if strictly else np.nextafter(floats, np.float32(-np.inf)))
        exact = [[_integer_threshold(t, strictly, scale, zero_point) for t in row] for row in floats.tolist()]
        limits = np.iinfo(feature_type)
        left, were = len({t for row in exact for t in row}), len(np.unique(floats))
        if scale == 1 and were >= MANY and SHARE * left < were:
            warnings.warn(
                f"only {left} of {were} thresholds stay apart as integers: without a scale, the integer i stands for "
                "the feature i. Give the scale (and zero_point) of your quantised features",
                stacklevel=4,
            )
        return cls(feature_type, n_features, np.clip(exact, limits.min - 1, limits.max).astype(np.int32))

    @property
    def per_input(self) -> int:
        """Thresholds of a feature: p."""
        return int(self.values.shape[1])

    @property
    def n_features(self) -> int:
        """D."""
        return self.inputs * self.per_input

    @property
    def shared(self) -> bool:
        """Whether all features have the same thresholds."""
        return len(self.values) == 1 < self.inputs

    @property
    def size_bits(self) -> int:
        """16 bits each for 8-bit features, otherwise 32."""
        return int(self.values.size) * (16 if self.feature_type in ("uint8", "int8") else 32)

    def pack(self, features: npt.NDArray[Any]) -> PackedBits:
        """Packed bits of features (rows, d) of exactly the device's type."""
        if features.dtype != self.feature_type or features.ndim != 2 or features.shape[1] != self.inputs:
            raise InputError(
                f"features must be {self.feature_type} of shape (rows, {self.inputs}); "
                f"got {features.dtype} of shape {features.shape}"
            )
        wide = features if self.feature_type == "float32" else features.astype(np.int32)
        return pack((wide[:, :, None] > self.values).reshape(len(features), -1))


def _float_thresholds(binarizer: Binarizer, n_features: int) -> tuple[npt.NDArray[np.float32], bool]:
    """Thresholds (d or 1, p), and whether features must exceed rather than reach them."""
    if isinstance(binarizer, Native):
        return np.zeros((1, 1), dtype=np.float32), False
    if not isinstance(binarizer, Thermometer):
        raise InputError(
            f"thresholds exist for Thermometer and Native; {type(binarizer).__name__} must run before the device's part"
        )
    values = binarizer.thresholds.cpu().numpy().reshape(-1, binarizer.p)
    if binarizer.calibrated and len(values) != n_features:
        raise InputError(f"the thermometer has thresholds for {len(values)} features, not for {n_features}")
    return values, binarizer.calibrated


def _integer_threshold(threshold: float, strictly: bool, scale: float, zero_point: int) -> int:
    """The largest integer x that does not set the bit."""
    exact = Fraction(threshold) / Fraction(scale) + zero_point
    return math.floor(exact) if strictly else math.ceil(exact) - 1
