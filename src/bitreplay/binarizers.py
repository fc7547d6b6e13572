"""Binarizers: from the features of any encoder to bits, and from bits to what the classifier sees.

In the flow images → features → **bits** → memory/head → class they stand right behind the encoder. They are torch
modules: called in a network, they return what G sees with a straight-through gradient, so that the encoder can learn to
live with them; and they turn arrays into packed bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay.bits import PackedBits, concatenate, pack
from bitreplay.errors import InputError
from bitreplay.memory import Fingerprint
from bitreplay.nn import heaviside, sign, straight_through

__all__ = ["Binarizer", "Heaviside", "Identity", "Native", "Thermometer", "rebuild"]

Rounding = Literal["floor", "nearest"]

BLOCK = 2**24  # feature values binarized at once, to bound the memory of large arrays


class Binarizer(nn.Module):
    """What every binarizer can do.

    `encode` gives bits, `decode` what G sees for given bits, and calling the module does both with a straight-through
    gradient. `bits_per_feature` values of a decoded feature lie side by side in the bits.
    """

    kind: str
    bits_per_feature: int = 1

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """Bits of features (..., d), as 0 and 1 in the features' type, without gradient."""
        raise TypeError(f"{type(self).__name__} does not say how it encodes")

    def decode(self, bits: torch.Tensor) -> torch.Tensor:
        """What G sees for given bits: the mean of the bits of each feature."""
        if self.bits_per_feature == 1:
            return bits
        return bits.reshape(*bits.shape[:-1], -1, self.bits_per_feature).mean(-1)

    def calibrate(self, features: npt.NDArray[Any]) -> None:
        """Learn thresholds from features, if there are any to learn."""

    def pack(self, features: npt.NDArray[Any]) -> PackedBits:
        """Packed bits of an array (rows, d)."""
        features = np.asarray(features)
        if features.ndim != 2:
            raise InputError(f"features must be a matrix (rows x features); got shape {features.shape}")
        step = max(1, BLOCK // max(1, features.shape[1] * self.bits_per_feature))
        blocks = (np.ascontiguousarray(features[i : i + step]) for i in range(0, max(1, len(features)), step))
        with torch.inference_mode():
            return concatenate([pack(self.encode(torch.from_numpy(block))) for block in blocks])

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits made from `n_features` features."""
        raise TypeError(f"{type(self).__name__} does not say what its bits are")

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options and tensors that :func:`rebuild` needs to make the same binarizer again."""
        tensors = {name: value.cpu().numpy() for name, value in self.state_dict().items()}
        return {"kind": self.kind}, tensors


class Thermometer(Binarizer):
    """p bits per feature: bit j says whether the feature reaches threshold j (sec. 3.3 of the paper).

    Parameters
    ----------
    p : int
        Bits per feature.
    rounding : {"floor", "nearest"}
        Thresholds at (j+1)/p, as in the paper, or at (j+1/2)/p. Features are expected in [0, 1].
    calibrated : bool
        Take thresholds from data instead: feature by feature at the (j+1)/(p+1) quantiles of what `calibrate` is given.
        For encoders that nobody will retrain, with features of any sign and scale. A bit is then set where the feature
        is *greater* than its threshold: after a ReLU many quantiles are exactly 0.
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
        if isinstance(p, bool) or not isinstance(p, int | np.integer) or p < 1:
            raise InputError(f"p (bits per feature) must be a positive integer; got {p!r}")
        if rounding not in get_args(Rounding):
            raise InputError(f"rounding must be one of {', '.join(get_args(Rounding))}; got {rounding!r}")
        self.p = self.bits_per_feature = int(p)
        self.rounding: Rounding = rounding
        self.calibrated = calibrated
        self.mask_gradient = mask_gradient
        offset = 1.0 if rounding == "floor" else 0.5
        fixed = (torch.arange(self.p, dtype=torch.float64) + offset) / self.p
        self.register_buffer("thresholds", torch.empty(0, self.p) if calibrated else fixed.float())

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"p={self.p}, rounding={self.rounding!r}, calibrated={self.calibrated}"

    def calibrate(self, features: npt.NDArray[Any]) -> None:
        """Set the thresholds to quantiles of `features` (rows, d); does nothing unless `calibrated`."""
        if not self.calibrated:
            return
        features = np.asarray(features)
        if features.ndim != 2 or not len(features) or not np.isfinite(features).all():
            raise InputError(f"thresholds need a non-empty matrix of finite features; got shape {features.shape}")
        at = (np.arange(self.p) + 1) / (self.p + 1)
        columns = max(1, BLOCK // max(1, len(features)))
        quantiles = [
            np.quantile(features[:, i : i + columns], at, axis=0) for i in range(0, features.shape[1], columns)
        ]
        thresholds = torch.from_numpy(np.concatenate(quantiles, axis=1).T.astype(np.float32, order="C"))
        self.thresholds = thresholds.to(self.thresholds.device)

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """Bits of features (..., d): bit ``p * i + j`` is threshold j of feature i."""
        if not self.calibrated:  # in the features' own precision: 0.7 must reach the threshold 7/10
            steps = torch.arange(self.p, dtype=features.dtype, device=features.device)
            thresholds = (steps + (1.0 if self.rounding == "floor" else 0.5)) / self.p
            return (features[..., None] >= thresholds).to(features.dtype).flatten(-2)
        if features.shape[-1] != len(self.thresholds):
            expected = f"{len(self.thresholds)} features" if len(self.thresholds) else "a call of calibrate first"
            raise InputError(f"a calibrated thermometer got {features.shape[-1]} features, expected {expected}")
        return (features[..., None] > self.thresholds).to(features.dtype).flatten(-2)

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


class Heaviside(Binarizer):
    """f * d learned projections, each a bit that is set where the projection is at least 0 (sec. 3.3 of the paper).

    A point-wise linear map, or 1x1 convolution where features come as maps (N, d, height, width). G sees the bits
    themselves. Untrained, it is a random projection.

    Parameters
    ----------
    in_features : int
        d.
    f : int
        Width factor: bits per feature.
    generator : torch.Generator, optional
        Source of the initial weights.

    Examples
    --------
    >>> binarizer = Heaviside(3, f=2, generator=torch.Generator().manual_seed(0))
    >>> binarizer(torch.randn(5, 3)).shape
    torch.Size([5, 6])
    """

    kind = "heaviside"

    def __init__(
        self, in_features: int, f: int = 2, *, generator: torch.Generator | None = None
    ) -> None:  # table 1: GBM^H_2
        super().__init__()
        for name, value in (("in_features", in_features), ("f", f)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} must be a positive integer; got {value!r}")
        self.in_features, self.f = int(in_features), int(f)
        self.weight = nn.Parameter(torch.empty(self.f * self.in_features, self.in_features))
        self.bias = nn.Parameter(torch.zeros(self.f * self.in_features))
        bound = self.in_features**-0.5
        with torch.no_grad():
            self.weight.uniform_(-bound, bound, generator=generator)

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"in_features={self.in_features}, f={self.f}"

    def project(self, features: torch.Tensor) -> torch.Tensor:
        """The values whose sign becomes the bit."""
        channel = 1 if features.ndim == 4 else -1
        if features.shape[channel] != self.in_features:
            raise InputError(f"Heaviside got {features.shape[channel]} features, expected {self.in_features}")
        if features.ndim == 4:
            return nn.functional.conv2d(features.to(self.weight.dtype), self.weight[:, :, None, None], self.bias)
        return nn.functional.linear(features.to(self.weight.dtype), self.weight, self.bias)

    def encode(self, features: torch.Tensor) -> torch.Tensor:
        """Bits of features (..., d)."""
        with torch.no_grad():
            return (self.project(features) >= 0).to(self.weight.dtype)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The bits, with a straight-through gradient."""
        return heaviside(self.project(features))

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits: width and projection."""
        parameters = b"".join(t.detach().cpu().numpy().astype("<f4").tobytes() for t in (self.weight, self.bias))
        return Fingerprint(self.f * n_features, thresholds=hashlib.sha256(parameters).hexdigest(), encoder=encoder)

    def describe(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Options and tensors."""
        content, tensors = super().describe()
        return {**content, "in_features": self.in_features, "f": self.f}, tensors


class Identity(Binarizer):
    """For embeddings that are bits already, as binary networks give them: refuses anything but 0 and 1."""

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
    """For features that are ±1 already, as binary networks give them: a bit is set where the feature is at least 0.

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

    def decode(self, bits: torch.Tensor) -> torch.Tensor:
        """±1 for given bits."""
        return 2 * bits - 1

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """The signs, with a straight-through gradient."""
        return sign(features)

    def fingerprint(self, n_features: int, encoder: str = "") -> Fingerprint:
        """Identity of the bits: their number and the rule."""
        return Fingerprint(n_features, thresholds=hashlib.sha256(b">= 0").hexdigest(), encoder=encoder)


KINDS: dict[str, type[Binarizer]] = {c.kind: c for c in (Thermometer, Heaviside, Identity, Native)}


def rebuild(content: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> Binarizer:
    """The binarizer that :meth:`Binarizer.describe` described; raises KeyError, TypeError or ValueError where it does
    not fit.
    """
    options = {name: value for name, value in content.items() if name != "kind"}
    binarizer = KINDS[content["kind"]](**options)
    if isinstance(binarizer, Thermometer):
        thresholds = tensors["thresholds"]
        if thresholds.dtype != np.float32 or thresholds.shape[-1:] != (binarizer.p,):
            raise ValueError("thresholds do not fit p")
        binarizer.thresholds = torch.from_numpy(tensors["thresholds"].copy())
    elif isinstance(binarizer, Heaviside):
        binarizer.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
    return binarizer
