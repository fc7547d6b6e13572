"""One-vs-rest linear support vector machines with squared hinge loss, for all classes at once.

The same problem that scikit-learn's ``LinearSVC(dual=False)`` solves: minimise ``|w|^2 / 2 + C sum_i max(0, 1 - y_i w
x_i)^2``, the bias being a weight of a constant feature 1. Its minimum is unique; this solver finds it for all classes
together by Newton's method with conjugate gradients (as liblinear does for one), so that the samples are only used
in matrix products. FeTrIL's samples are cheap to multiply with and far too many to write down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bitreplay.learners.frozen._linear import Layer
from bitreplay.learners.frozen._method import Features, Labels

MAX_NEWTON = 50  # ours: a bound; `tol` is meant to end training
MAX_CONJUGATE = 100  # ours: a bound; `FORCING` is meant to end a step
FORCING = 0.1  # liblinear's: a Newton equation is solved until a tenth of the gradient is left
SHORTEST_STEP = 2**-10  # ours: a class that needs a shorter one takes none


class Products(Protocol):
    """Samples that can be multiplied with."""

    def times(self, weights: Features, out: Features, /) -> Features:
        """``samples @ weights.T``, written to `out`."""

    def transposed_times(self, values: Features, /) -> Features:
        """``values.T @ samples``."""


def train_linear_svc(
    samples: Products,  # N, of d features
    scale: Features,  # (N,) of every sample: 1 / length trains on samples of length 1
    targets: Labels,  # (N,) classes
    shape: tuple[int, int],  # number of classes, and d
    *,
    C: float = 1.0,
    tol: float = 1e-4,
) -> Layer:
    """Train a support vector machine for every class against the rest: weights (classes, d) and biases (classes,).

    As in liblinear, training ends when the gradient falls below the fraction `tol` of the first one, times the share of
    the rarer side of each class.
    """
    n_classes = shape[0]
    column = scale[:, None]
    loss_weight = np.float32(C)

    def outputs_of(weights: Features, out: Features) -> Features:
        """Scores of the layer, whose weights have the bias as last column; written to `out`, as allocation is slow."""
        outputs = samples.times(weights[:, :-1], out)
        outputs *= column
        outputs += weights[:, -1]
        return outputs

    def back(values: Features) -> Features:
        """``values.T @ (scaled samples, 1)``; the values are overwritten."""
        biases = values.sum(axis=0)
        values *= column
        return np.column_stack([samples.transposed_times(values), biases])

    signs = np.where(np.arange(n_classes) == targets[:, None], np.float32(1), np.float32(-1))
    weights = np.zeros((n_classes, shape[1] + 1), dtype=np.float32)
    outputs, workspace = np.zeros_like(signs), np.empty_like(signs)
    counts = np.bincount(targets, minlength=n_classes)
    goal = tol * np.maximum(np.minimum(counts, len(targets) - counts), 1) / len(targets)
    for newton in range(MAX_NEWTON):
        slack = np.maximum(1 - signs * outputs, 0)
        gradient = weights - 2 * loss_weight * back(signs * slack)
        if not newton:
            goal *= _lengths(gradient)
        unfinished = _lengths(gradient) > goal
        if not unfinished.any():
            break
        gradient[~unfinished] = 0  # a finished class takes no step
        active = slack > 0

        def curvature(directions: Features, active: npt.NDArray[np.bool_] = active) -> Features:
            curved = outputs_of(directions, workspace)
            curved *= active
            return np.asarray(directions + 2 * loss_weight * back(curved))

        directions = _conjugate_gradients(curvature, -gradient)
        along = outputs_of(directions, workspace)
        step = _step_lengths(weights, directions, signs * outputs, signs * along, loss_weight)
        weights += step[:, None] * directions
        outputs += step * along
        if not step.any():  # rounding: no step improves anything any more
            break
    return weights[:, :-1].copy(), weights[:, -1].copy()


def _conjugate_gradients(curvature: Callable[[Features], Features], wanted: Features) -> Features:
    """Solve ``curvature(x) = wanted`` for every row independently."""
    solution = np.zeros_like(wanted)
    residual = wanted.copy()
    direction = wanted.copy()
    square = np.square(residual).sum(1)
    enough = FORCING**2 * square
    for _ in range(MAX_CONJUGATE):
        open_rows = square > enough
        if not open_rows.any():
            break
        curved = curvature(direction)
        along = (direction * curved).sum(1)
        length = np.where(open_rows, square / np.where(along > 0, along, 1), 0).astype(np.float32)
        solution += length[:, None] * direction
        residual -= length[:, None] * curved
        before, square = square, np.where(open_rows, np.square(residual).sum(1), square)
        turn = np.where(open_rows, square / np.where(before > 0, before, 1), 0).astype(np.float32)
        direction = np.where(open_rows[:, None], residual + turn[:, None] * direction, 0)
    return solution


def _step_lengths(
    weights: Features, directions: Features, margins: Features, changes: Features, loss_weight: np.float32
) -> Features:
    """For every class the first of 1, 1/2, 1/4, ... that lowers its objective; 0 where none does."""
    linear = (weights * directions).sum(1, dtype=np.float64)
    quadratic = np.square(directions).sum(1, dtype=np.float64) / 2

    def loss(step: Features) -> npt.NDArray[np.float64]:
        slack = np.maximum(1 - margins - step * changes, 0)
        hinge = np.square(slack).sum(0, dtype=np.float64)
        return np.asarray(step * linear + step.astype(np.float64) ** 2 * quadratic + loss_weight * hinge)

    step = np.ones(len(weights), dtype=np.float32)
    beginning = loss(np.zeros_like(step))
    while (worse := (loss(step) >= beginning) & (step > 0)).any():
        step[worse] /= 2
        step[step < SHORTEST_STEP] = 0
    return step


def _lengths(rows: Features) -> npt.NDArray[np.float64]:
    return np.asarray(np.sqrt(np.square(rows, dtype=np.float64).sum(1)))
