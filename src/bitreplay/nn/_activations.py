"""What comes between two binary layers: a sign, and before it the layer that determines where the sign changes.

In training that is batch normalisation or a fixed gain. Afterwards either reduces to one integer per channel, with
which the integer sums of a binary layer are compared: a network of binary layers needs no other arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from bitreplay.errors import InputError
from bitreplay.nn._layers import LearnableThreshold
from bitreplay.nn._straight_through import sign

FARTHEST = 2.0**30  # beyond every sum; exact in float32


@dataclass(frozen=True)
class Comparison:
    """An integer comparison per channel: a bit is set where the sum is ``>=`` its threshold, or ``<=`` it.

    Parameters
    ----------
    thresholds : ndarray of int64
        What sums are compared with.
    directions : ndarray of int64
        1 if bits are set at or above the threshold, -1 if at or below it.

    Examples
    --------
    >>> Comparison(np.array([3, 3]), np.array([1, -1]))(np.array([[2, 2], [3, 3], [4, 4]])).tolist()
    [[False, True], [True, True], [True, False]]
    """

    thresholds: npt.NDArray[np.int64]
    directions: npt.NDArray[np.int64]

    def __call__(self, sums: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Bits of sums (..., channels)."""
        return np.asarray(self.directions * (sums - self.thresholds) >= 0)


class Sign(nn.Module):
    """:func:`sign` as a layer.

    Examples
    --------
    >>> Sign()(torch.tensor([-0.1, 0.0])).tolist()
    [-1.0, 1.0]
    """

    def __init__(self, clip: float = 1.0) -> None:
        super().__init__()
        self.clip = clip

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"clip={self.clip}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """±1."""
        return sign(x, self.clip)


class Gain(nn.Module):
    """Multiplies by a constant, so that sums of `fan_in` products have a suitable scale for the next layer.

    Instead of batch normalisation, in networks that never have any (Basso-Bert et al., ISCAS 2024). It does
    not affect a sign: it costs nothing once the network is trained.

    Parameters
    ----------
    gain : float
        1 / sqrt(fan_in) before a sign.

    Examples
    --------
    >>> Gain(0.5)(torch.tensor([4.0])).item()
    2.0
    """

    def __init__(self, gain: float) -> None:
        super().__init__()
        if not gain > 0:
            raise InputError(f"gain must be positive; got {gain!r}")
        self.gain = gain

    def extra_repr(self) -> str:
        """Options for `repr`."""
        return f"{self.gain:.4g}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The product."""
        return self.gain * x


class SignBatchNorm(_BatchNorm):
    """Batch normalisation between sums of a binary layer and a sign, for vectors or maps.

    In evaluation it is already the integer comparison that it becomes in a packed network: its output has the sign that
    normalisation would give, but not its magnitude. Floating-point normalisation could round a sum that lies next to
    the threshold to either side, and two implementations to different ones.

    Examples
    --------
    >>> layer = SignBatchNorm(2).eval()
    >>> layer.running_mean = torch.tensor([0.4, -3.0])
    >>> layer(torch.tensor([[0.0, 0.0], [1.0, -3.0]])).tolist()
    [[-1.0, 3.0], [0.0, 0.0]]
    """

    def _check_input_dim(self, input: torch.Tensor) -> None:
        if input.ndim < 2:
            raise InputError(f"batch normalisation needs samples and channels; got shape {tuple(input.shape)}")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Normalised sums in training; in evaluation, how far sums are on the +1 side of the threshold."""
        if self.training:
            return super().forward(input)
        comparison = fold_batch_norm(self)
        shape = (-1, *[1] * (input.ndim - 2))
        thresholds, directions = (
            torch.from_numpy(values).to(input).view(shape) for values in (comparison.thresholds, comparison.directions)
        )
        return directions * (input - thresholds)


def fold_batch_norm(batch_norm: _BatchNorm) -> Comparison:
    """The integer comparison equivalent to batch normalisation and a sign on integer sums.

    With mean m, standard deviation s, scale g and shift b, ``g (x - m) / s + b >= 0`` says ``x >= m - b s / g`` where g
    is positive and ``x <= m - b s / g`` where it is negative; where g is 0, b alone decides.

    Parameters
    ----------
    batch_norm : torch.nn.BatchNorm1d, BatchNorm2d or SignBatchNorm
        In evaluation mode: its running statistics are used.

    Examples
    --------
    >>> layer = SignBatchNorm(2)
    >>> with torch.no_grad():
    ...     _ = layer.bias.copy_(torch.tensor([-2.5, -2.5])), layer.weight.copy_(torch.tensor([1.0, -1.0]))
    >>> fold_batch_norm(layer)
    Comparison(thresholds=array([ 3, -3]), directions=array([ 1, -1]))
    """
    if batch_norm.running_mean is None or batch_norm.running_var is None:
        raise InputError("only batch normalisation with running statistics can be folded")
    mean, deviation = _float64(batch_norm.running_mean), np.sqrt(_float64(batch_norm.running_var) + batch_norm.eps)
    scale = np.ones_like(mean) if batch_norm.weight is None else _float64(batch_norm.weight)
    shift = np.zeros_like(mean) if batch_norm.bias is None else _float64(batch_norm.bias)
    if not all(np.isfinite(values).all() for values in (mean, deviation, scale, shift)):
        raise InputError("batch normalisation with infinite or missing values cannot be folded")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        threshold = mean - shift * deviation / scale
    threshold = np.where(scale == 0, np.where(shift >= 0, -FARTHEST, FARTHEST), threshold)
    threshold = threshold.clip(-FARTHEST, FARTHEST)
    rounded = np.where(scale < 0, np.floor(threshold), np.ceil(threshold)).astype(np.int64)
    return Comparison(rounded, np.where(scale < 0, -1, 1).astype(np.int64))


def fold(before_sign: nn.Module | None, channels: int) -> Comparison:
    """The integer comparison equivalent to a layer and a following sign on integer sums.

    Parameters
    ----------
    before_sign : torch.nn.Module or None
        Batch normalisation, a :class:`Gain`, a :class:`LearnableThreshold`, or nothing.
    channels : int
        Number of comparisons; batch normalisation has its own.

    Examples
    --------
    >>> fold(Gain(0.1), 2)  # which a sign does not see
    Comparison(thresholds=array([0, 0]), directions=array([1, 1]))
    """
    if isinstance(before_sign, _BatchNorm):
        return fold_batch_norm(before_sign)
    thresholds = np.zeros(channels, dtype=np.int64)
    if isinstance(before_sign, LearnableThreshold):
        thresholds = np.ceil(_float64(before_sign.threshold)).clip(-FARTHEST, FARTHEST).astype(np.int64)
    elif before_sign is not None and not isinstance(before_sign, Gain):
        raise InputError(f"there is no integer comparison for {type(before_sign).__name__} and a sign")
    return Comparison(thresholds, np.ones(channels, dtype=np.int64))


def _float64(values: torch.Tensor) -> npt.NDArray[np.float64]:
    return values.detach().cpu().double().numpy()
