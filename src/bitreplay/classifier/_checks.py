"""Checks the user's input to the classifier before anything changes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from bitreplay._floor.arguments import text
from bitreplay.bits import PackedBits, to_numpy
from bitreplay.classifier._fitted import Fitted
from bitreplay.errors import InputError
from bitreplay.memory import Label, as_label

PLAIN = "fd?bBhHiIlLqQ"  # kinds of numbers that float32 is made of without a question

Array = npt.NDArray[Any]
Inputs = Array | PackedBits


def input_of(X: Any, *, takes_bits: bool) -> tuple[Inputs, int, Array | None]:
    """The first call's features as a float32 matrix, or packed bits unchanged; their number and their names."""
    if isinstance(X, PackedBits):
        return _checked_bits(X, takes_bits=takes_bits), X.n_features, None
    probe = _probe()
    features = _validated(probe, X, reset=True)
    for name in getattr(probe, "feature_names_in_", ()):
        text("a feature's name", name)
    return features, int(probe.n_features_in_), getattr(probe, "feature_names_in_", None)


def check_features(X: Any, fitted: Fitted, *, takes_bits: bool) -> Inputs:
    """Features like those of the first call, as a float32 matrix; or packed bits unchanged."""
    if isinstance(X, PackedBits):
        bits = _checked_bits(X, takes_bits=takes_bits)
        if X.n_features != fitted.n_features_in:
            raise InputError(
                f"X has {X.n_features} bits, but GBMClassifier is expecting {fitted.n_features_in} features"
            )
        return bits
    if (plain := _plain(X, fitted)) is not None:
        return plain
    probe = _probe()
    probe.n_features_in_ = fitted.n_features_in
    if fitted.feature_names_in is not None:
        probe.feature_names_in_ = fitted.feature_names_in
    return _validated(probe, X, reset=False)


def _plain(X: Any, fitted: Fitted) -> Array | None:
    """A matrix of finite numbers as scikit-learn would return it; None for all that it has to look at itself.

    Its own way through every kind of input takes ten times as long as the product of a single row.
    """
    if type(X) is not np.ndarray or X.dtype.char not in PLAIN or X.ndim != 2 or fitted.feature_names_in is not None:
        return None
    if not len(X) or X.shape[1] != fitted.n_features_in:
        return None
    if X.dtype == np.float32:
        values = X
    else:
        with np.errstate(over="ignore"):  # what overflows is not finite, and is not returned
            values = X.astype(np.float32)
    return values if math.isfinite(np.vdot(values, values)) else None


def _probe() -> Any:
    """A stand-in on which scikit-learn records features: the estimator must not change before all checks pass."""
    return type("GBMClassifier", (BaseEstimator,), {})()


def _validated(probe: Any, X: Any, *, reset: bool) -> Array:
    values = to_numpy(X) if isinstance(X, torch.Tensor) else X
    if names := getattr(getattr(values, "dtype", None), "names", None):
        raise InputError(f"X must be a matrix of numbers; got an array of records with {', '.join(names)}")
    try:
        return np.asarray(validate_data(probe, values, reset=reset, dtype=np.float32))
    except TypeError as error:
        raise _TypeInputError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None


class _TypeInputError(InputError, TypeError):
    """For what scikit-learn's users know as a TypeError, such as sparse matrices and objects."""


def _checked_bits(X: PackedBits, *, takes_bits: bool) -> PackedBits:
    if not takes_bits:
        raise InputError("packed bits can only be used with binarizer='identity'; this classifier takes features")
    if not len(X):
        raise InputError("found 0 samples; at least 1 is required")
    return X


def check_labels(
    y: Any, n_samples: int, known: tuple[Label, ...], classes: Iterable[Label] | None
) -> tuple[list[Label], npt.NDArray[np.intp]]:
    """The distinct labels, sorted, and which of them each sample has.

    They must be plain text or numbers of the kind already `known`, and within `classes` if that is given.
    """
    if y is None:
        raise InputError("GBMClassifier requires y to be passed, but the target y is None")
    try:
        vector = column_or_1d(to_numpy(y) if isinstance(y, torch.Tensor) else y, warn=True)
        assert_all_finite(vector, input_name="y")
        check_classification_targets(vector)
    except (TypeError, ValueError) as error:  # scikit-learn has both for labels that it cannot use
        raise InputError(str(error)) from None
    if len(vector) != n_samples:
        raise InputError(f"one label per sample is expected; got {len(vector)} labels for {n_samples} samples")
    kinds = {isinstance(label, str) for label in known}
    kinds |= {isinstance(label, str) for label in vector} if vector.dtype == object else {vector.dtype.kind in "US"}
    if len(kinds) > 1:
        raise InputError("labels must be all text or all numbers, in this and all earlier calls")
    distinct, which = np.unique(vector, return_inverse=True)
    labels = [as_label(label) for label in distinct]
    if classes is not None:
        if isinstance(classes, str) or not isinstance(classes, Iterable):
            raise InputError(f"classes must be a list of labels; got {classes!r}")
        announced = {as_label(label) for label in classes}
        outside = [label for label in labels if label not in announced]
        if outside:
            raise InputError(f"y has labels that are not in classes: {', '.join(map(repr, outside[:10]))}")
    return labels, which


def by_class(bits: PackedBits, labels: list[Label], which: npt.NDArray[np.intp]) -> dict[Label, PackedBits]:
    """The samples of each label, in the order in which they came."""
    rows = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return {label: bits[of_label] for label, of_label in zip(labels, rows, strict=True)}
