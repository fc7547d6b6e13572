"""A binarizer from what a file says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from bitreplay.binarizers._binarizer import Binarizer
from bitreplay.binarizers._heaviside import Heaviside
from bitreplay.binarizers._natural import Identity, Native
from bitreplay.binarizers._thermometer import Thermometer

__all__ = ["rebuild"]

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
