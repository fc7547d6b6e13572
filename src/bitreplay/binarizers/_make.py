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

from bitreplay._floor.arguments import integer, one_of, truth
from bitreplay.binarizers._binarizer import Binarizer
from bitreplay.binarizers._heaviside import Heaviside
from bitreplay.binarizers._natural import Identity, Native
from bitreplay.binarizers._thermometer import Thermometer

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
    if not isinstance(content, Mapping):
        raise TypeError(f"a binarizer is described by its kind and options; got {content!r}")
    options = {name: value for name, value in content.items() if name != "kind"}
    kind = KINDS[content["kind"]]
    _check_tensors(kind, options, tensors)
    binarizer = kind(**options)
    if isinstance(binarizer, Thermometer):
        binarizer.thresholds = torch.from_numpy(tensors["thresholds"].copy())
    elif isinstance(binarizer, Heaviside):
        binarizer.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()})
    return binarizer


def _check_tensors(kind: type[Binarizer], options: Mapping[str, Any], tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Compare what a file declares with the tensors that are there: a few bytes must not reserve gigabytes."""
    shapes: dict[str, tuple[int, ...]] = {}
    if kind is Thermometer:
        p = integer("p", options["p"], 1)
        truth("calibrated", options.get("calibrated", False))
        truth("mask_gradient", options.get("mask_gradient", False))
        # As many rows as there are features, where thresholds are the data's own.
        shapes["thresholds"] = (*tensors["thresholds"].shape[:1], p) if options.get("calibrated", False) else (p,)
    elif kind is Heaviside:
        d, f = integer("in_features", options["in_features"], 1), integer("f", options["f"], 1)
        shapes = {"weight": (f * d, d), "bias": (f * d,)}
    if set(tensors) != set(shapes):
        raise ValueError(f"a binarizer of kind {kind.kind} has the tensors {', '.join(shapes) or 'none'}")
    for name, shape in shapes.items():
        if tensors[name].dtype != np.float32 or tensors[name].shape != shape:
            raise ValueError(f"the binarizer's {name} must be float32 of shape {shape}; got {tensors[name].shape}")
        if not np.isfinite(tensors[name]).all():
            raise ValueError(f"the binarizer's {name} must be finite")
