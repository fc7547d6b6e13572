"""Thermometer: every feature against a scale of thresholds (GBM^T in the paper)."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.arguments import integer, one_of, truth
from bitreplay.binarizers._binarizer import BLOCK, Binarizer, check_finite
from bitreplay.bits import Fingerprint
from bitreplay.errors import InputError
from bitreplay.nn import straight_through

Rounding = Literal["floor", "nearest"]


class Thermometer(Binarizer):
    """p bits per feature: bit j says whether the feature reaches threshold j (sec. 3.3 of the paper).

    Parameters
    ----------
    p : int
        Bits per feature.
    rounding : {"floor", "nearest"}
        Thresholds at (j+1)/p, as in the paper, or at (j+1/2)/p. Features are expected in [0, 1].
    calibrated : bool
        Take thresholds from data instead: for each feature the (j+1)/(p+1) quantiles of the data given to `calibrate`.
        For encoders that will not be retrained, with features of any sign and scale. A bit is then set where the
        feature is *greater* than its threshold: after a ReLU many quantiles are exactly 0.
    mask_gradient : bool
        Pass no gradient to features outside [0, 1].

    Examples
    --------
    >>> thermometer = Thermometer(p=4)
    >>> bits = thermometer.encode(torch.tensor([[0.0, 0.3, 0.5, 1.2]]))
    >>> bits.int().tolist()
    [[0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1]]
    >>> thermometer.decode(bits).tolist()
    [[0.0, 0.25, 0.5, 1.0]]
    """

    kind = "thermometer"
    thresholds: torch.Tensor

    def __init__(
        self,
        p: int = 1,  # table 1: GBM^T_1 is the best configuration
        *,
        rounding: Rounding = "floor",
        calibrated: bool = False,
        mask_gradient: bool = False,
    ) -> None:
        super().__init__()
        self.p = self.bits_per_feature = integer("p (bits per feature)", p, 1)
        one_of("rounding", rounding, Rounding)
        self.rounding: Rounding = rounding
        self.calibrated = truth("calibrated", calibrated)
        self.mask_gradient = truth("mask_gradient", mask_gradient)
        offset = 1.0 if rounding == "floor" else 0.5
        fixed = (torch.arange(self.p, dtype=torch.float64) + offset) / self.p
        self.register_buffer("thresholds", torch.empty(0, self.p) if calibrated else fixed.float())

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"p={self.p}, rounding={self.rounding!r}, calibrated={self.calibrated}"

    def calibrate(self, features: npt.NDArray[Any]) -> Self:
        """Set the thresholds to quantiles of `features` (rows, d); does nothing unless `calibrated`."""
        if not self.calibrated:
            return self
        features = check_finite(features)
        at = (np.arange(self.p) + 1) / (self.p + 1)
        columns = max(1, BLOCK // max(1, len(features)))
        quantiles = [
            np.quantile(features[:, i : i + columns], at, axis=0) for i in range(0, features.shape[1], columns)
        ]
        thresholds = torch.from_numpy(np.concatenate(quantiles, axis=1).T.astype(np.float32, order="C"))
        self.thresholds = thresholds.to(self.thresholds.device)
        return self

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """Bits of features (..., d): bit ``p * i + j`` is threshold j of feature i."""
        if not self.calibrated:  # in the features' own precision: 0.7 must reach the threshold 7/10
            steps = torch.arange(self.p, dtype=features.dtype, device=features.device)
            thresholds = (steps + (1.0 if self.rounding == "floor" else 0.5)) / self.p
            return (features[..., None] >= thresholds).to(features.dtype).flatten(-2)
        self._check_width(features.shape[-1])  # in the thresholds' precision, so that bits do not depend on the type
        return (features[..., None].float() > self.thresholds).to(features.dtype).flatten(-2)

    def encode_array(self, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """As `encode`, without torch: the same comparisons in the same precision."""
        if features.dtype.kind != "f":  # numbers that torch and NumPy do not compare in the same precision
            return super().encode_array(features)
        if not self.calibrated:
            steps, number = np.arange(self.p, dtype=features.dtype), features.dtype.type
            thresholds = (steps + number(1.0 if self.rounding == "floor" else 0.5)) / number(self.p)
            return np.asarray(features[:, :, None] >= thresholds).reshape(len(features), -1)
        thresholds = self.thresholds.cpu().numpy()
        if features.shape[1] != len(thresholds):
            self._check_width(features.shape[1])
        with np.errstate(over="ignore"):  # infinity is above all thresholds, too
            features = features.astype(np.float32, copy=False)
        return np.asarray(features[:, :, None] > thresholds).reshape(len(features), -1)

    def _check_width(self, n_features: int) -> None:
        if n_features != len(self.thresholds):
            expected = f"{len(self.thresholds)} features" if len(self.thresholds) else "a call of calibrate first"
            raise InputError(f"a calibrated thermometer got {n_features} features, expected {expected}")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        saved = state_dict.get(prefix + "thresholds")
        if self.calibrated and saved is not None:  # the number of features is not known before calibration
            self.thresholds = torch.empty_like(saved, device=self.thresholds.device)
        super()._load_from_state_dict(state_dict, prefix, *arguments)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Clip, encode and decode, with the gradient of the identity (sec. 3.3, the second training phase)."""
        mask = (features >= 0) & (features <= 1) if self.mask_gradient else None
        return straight_through(features, self.decode(self.encode(features)), mask)

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits: width, order, thresholds and how they are compared."""
        rule = b">" if self.calibrated else b">="
        digest = hashlib.sha256(rule + self.thresholds.cpu().numpy().astype("<f4").tobytes()).hexdigest()
        return Fingerprint(n_features * self.p, thresholds=digest, encoder=encoder)

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options and tensors."""
        content, tensors = super().describe()
        options = {
            "p": self.p,
            "rounding": self.rounding,
            "calibrated": self.calibrated,
            "mask_gradient": self.mask_gradient,
        }
        return {**content, **options}, tensors
