"""The answer "unknown", head → **class**: which samples are refused, and what is answered instead of a class."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bitreplay._floor.arguments import number, one_of
from bitreplay.bits import PackedBits
from bitreplay.classifier._fitted import Fitted
from bitreplay.errors import InputError
from bitreplay.gbm import RefuseBy
from bitreplay.memory import as_label, label_array

Array = npt.NDArray[Any]


class Refusing(Protocol):
    """The options of a classifier that say what it refuses."""

    refuse: float | None
    refuse_by: RefuseBy
    reject: float | None
    unknown: Any


def check_options(refuse: Any, refuse_by: Any, reject: Any, unknown: Any) -> None:
    """Refuse options out of range: a share, how it is refused, a probability, and a label; or None."""
    if refuse is not None:
        number("refuse", refuse, 0, below=1)
    one_of("refuse_by", refuse_by, RefuseBy)
    if reject is not None and not (isinstance(reject, int | float | np.number) and 0 <= reject <= 1):
        raise InputError(f"reject must be a probability between 0 and 1, or None; got {reject!r}")
    if refuse is not None and reject is not None:
        raise InputError("give either refuse or reject, which is deprecated, not both")
    if unknown is not None:
        try:
            as_label(unknown)
        except InputError as error:
            raise InputError(f"unknown must be a label, or None: {error}") from None


def check_refusal(clf: Refusing) -> None:
    """The same of a classifier's options."""
    check_options(clf.refuse, clf.refuse_by, clf.reject, clf.unknown)


def warn_of_reject(clf: Refusing) -> None:
    """Say what to use instead of a bare probability."""
    if clf.reject is not None:
        warnings.warn(
            "reject is deprecated: a probability does not say how many known samples are refused; use refuse=0.05, "
            "the share of them that you are willing to refuse (refuse_by='probability' to judge by probability)",
            FutureWarning,
            stacklevel=4,
        )


def answers_or_unknown(clf: Refusing, fitted: Fitted, features: Array | PackedBits) -> Array:
    """The best class of every sample, or what stands for none where it is refused."""
    classes, unknown = fitted.classes, clf.unknown
    if unknown is None:
        unknown = "unknown" if isinstance(fitted.state.labels[0], str) else -1
    if unknown in classes.tolist():
        raise InputError(f"{unknown!r} is a class and cannot also mean unknown: choose another label for `unknown`")
    if clf.refuse is None:
        best, confidence = fitted.confident(features)
        refused = confidence < (clf.reject or 0.0)
    else:
        if fitted.state.familiar.quantiles is None:
            raise InputError(
                "refuse needs to know how new samples of known classes look, and no call has held out enough of them "
                "(a fifth of 100 samples): call calibrate(X, y) with samples of known classes, or set refuse=None"
            )
        best, refused = fitted.refused(features, clf.refuse, clf.refuse_by)
    truths = classes.dtype.kind == "b" and not isinstance(unknown, str)  # 1 and 0, which are equal to them
    answers = label_array([*(classes.astype(np.int64) if truths else classes).tolist(), as_label(unknown)])
    return np.asarray(answers[np.where(refused, len(classes), best)])
