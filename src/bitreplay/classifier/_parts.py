"""Makes the parts that a classifier's options ask for: how mixtures are fitted, the binarizer, the head."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from bitreplay._floor.arguments import integer
from bitreplay.binarizers import Binarizer, Identity, Thermometer
from bitreplay.bits import PackedBits
from bitreplay.errors import InputError
from bitreplay.heads import HEADS, Head
from bitreplay.mixture import EMOptions

__all__ = ["make_binarizer", "make_head", "make_options"]


def make_options(em: Any, prototypes: Any) -> EMOptions:
    """How mixtures are fitted: as `em` says, with `prototypes` of them per class."""
    if not isinstance(em, EMOptions | None):
        raise InputError(f"em must be EMOptions or None; got {em!r}")
    return replace(em or EMOptions(), n_components=integer("prototypes (K)", prototypes, 1))


def make_binarizer(binarizer: Any, p: Any, features: npt.NDArray[Any] | PackedBits) -> Binarizer:
    """The binarizer that was asked for, calibrated on `features` unless it was calibrated elsewhere."""
    made: Binarizer
    if isinstance(binarizer, Binarizer):
        made = copy.deepcopy(binarizer)
        if isinstance(made, Thermometer) and len(made.thresholds):
            return made  # shared thresholds are the point of giving it
    elif isinstance(binarizer, str) and binarizer == "thermometer":
        made = Thermometer(p, calibrated=True)
    elif isinstance(binarizer, str) and binarizer == "identity":
        made = Identity()
    else:
        raise InputError(f"binarizer must be 'thermometer', 'identity' or a Binarizer; got {binarizer!r}")
    if not isinstance(features, PackedBits):
        made.calibrate(features)
    return made


def make_head(head: Any) -> Head:
    """The head that was asked for, by name or as it is."""
    if isinstance(head, str) and head in HEADS:
        return HEADS[head]()
    if isinstance(head, str | type) or not hasattr(head, "update"):
        raise InputError(f"head must be one of {', '.join(HEADS)} or a Head; got {head!r}")
    made: Head = head
    return made
