"""Binarizers by name, and from their description in a file.

One vocabulary for estimators, learners and trainings: "thermometer" and "heaviside" are made for features, "identity"
and "native" are for features that are already binary (0 and 1, or ±1).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch

from bitreplay._floor.arguments import one_of
from bitreplay.binarizers._binarizer import Binarizer
from bitreplay.binarizers._heaviside import Heaviside
from bitreplay.binarizers._natural import Identity, Native
from bitreplay.binarizers._thermometer import Thermometer

__all__ = ["BinarizerName", "calibrated_binarizer", "rebuild"]

BinarizerName = Literal["thermometer", "heaviside", "identity", "native"]
KINDS: dict[str, type[Binarizer]] = {c.kind: c for c in (Thermometer, Heaviside, Identity, Native)}


def calibrated_binarizer(
    binarizer: BinarizerName | Binarizer, features: npt.NDArray[Any], *, p: int = 1, f: int = 2, seed: int = 0
) -> Binarizer:
    """A binarizer whose thresholds are fixed quantiles of some features.

    Parameters
    ----------
    binarizer : {"thermometer", "heaviside", "identity", "native"} or Binarizer
        Which kind; one that already has its thresholds is copied unchanged.
    features : ndarray of shape (rows, d)
        Features of the first classes.
    p, f : int
        Bits per feature of a thermometer; width factor of Heaviside.
    seed : int
        Seed of Heaviside's random projection, whose thresholds are the medians of the projections.

    Examples
    --------
    >>> calibrated_binarizer("thermometer", np.array([[0.0, 5.0], [1.0, 6.0], [2.0, 9.0]])).thresholds.tolist()
    [[1.0], [6.0]]
    """
    made: Binarizer
    if isinstance(binarizer, Binarizer):
        made = copy.deepcopy(binarizer)
        if not (isinstance(made, Thermometer) and not len(made.thresholds)):
            return made  # shared thresholds are the point of giving it
    else:
        one_of("binarizer", binarizer, BinarizerName)
        if binarizer == "thermometer":
            made = Thermometer(p, calibrated=True)
        elif binarizer == "heaviside":
            made = Heaviside(features.shape[1], f, generator=torch.Generator().manual_seed(seed))
        else:
            made = Identity() if binarizer == "identity" else Native()
    made.calibrate(features)
    return made


def rebuild(content: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> Binarizer:
    """The binarizer that :meth:`Binarizer.describe` described; raises KeyError, TypeError or ValueError if it is
    invalid.
    """
    options = {name: value for name, value in content.items() if name != "kind"}
    binarizer = KINDS[content["kind"]](**options)
    if isinstance(binarizer, Thermometer):
        thresholds = tensors["thresholds"]
        if thresholds.dtype != np.float32 or thresholds.shape[-1:] != (binarizer.p,):
            raise ValueError("thresholds do not match p")
        binarizer.thresholds = torch.from_numpy(tensors["thresholds"].copy())
    elif isinstance(binarizer, Heaviside):
        binarizer.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
    return binarizer
