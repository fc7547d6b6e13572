"""Heaviside: the signs of learned projections (GBM^H in the paper)."""

from __future__ import annotations

import hashlib
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.arguments import integer
from bitreplay._floor.threads import torch_threads
from bitreplay.binarizers._binarizer import Binarizer, check_finite
from bitreplay.bits import Fingerprint
from bitreplay.errors import InputError
from bitreplay.nn import heaviside


class Heaviside(Binarizer):
    """f * d learned projections, each giving a bit that is set where the projection is at least 0 (sec. 3.3 of the
    paper).

    A point-wise linear map, or a 1x1 convolution if features are maps (N, d, height, width). G sees the bits
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
        self.in_features, self.f = integer("in_features", in_features, 1), integer("f", f, 1)
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

    def calibrate(self, features: npt.NDArray[Any]) -> Self:
        """Set the thresholds to the medians of the projections of `features`, for a projection that is not trained."""
        with torch.no_grad(), torch_threads():
            projected = self.project(torch.from_numpy(check_finite(features).astype(np.float32)))
            self.bias.sub_(torch.from_numpy(np.median(projected.numpy(), axis=0)))
        return self

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
