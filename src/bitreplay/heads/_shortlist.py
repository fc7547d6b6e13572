"""Scores of very many classes, bits → **head**: the linear part for all, the whole score for those that are ahead.

A class's score is its linear part r_0 plus a sum of squares. The classes with the highest linear parts are listed and
get their squares; every other class gets the least sum that a listed one has. So no class passes one that is listed,
and the answer is always a class with its whole score. How seldom that is another class than all whole scores would give
is measured in benchmarks/scale.py.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitreplay.bits import FLOAT32_FEATURES, PackedBits, product

__all__ = ["LISTED", "MANY_CLASSES", "shortlisted"]

MANY_CLASSES = 4096  # ours: benchmarks/scale.py; with fewer classes all whole scores of a thousand rows take no longer
LISTED = 256  # ours: benchmarks/scale.py; of CIFAR-100's classes a tenth gives 99.3 % of the answers, a fifth 99.8 %
FEW_ROWS = 16  # for fewer rows, hardly a class is listed twice

Scores = npt.NDArray[np.float64]
Listed = npt.NDArray[np.intp]


def shortlisted(
    bits: PackedBits,
    weights: npt.NDArray[np.float32],
    offsets: npt.NDArray[np.float64],
    n_classes: int,
    n_listed: int = LISTED,
) -> Scores:
    """Scores (rows, classes) from the rows of weights that a closed form has: linear parts first, then the others."""
    linear = product(bits, weights[:n_classes])
    scores: Scores = np.add(linear, offsets[:n_classes], dtype=np.float64)
    del linear
    if len(weights) == n_classes or n_listed >= n_classes:
        listed = np.broadcast_to(np.arange(n_classes), scores.shape)
    else:
        listed = np.argpartition(scores, n_classes - n_listed, axis=1)[:, n_classes - n_listed :]
    own = weights.reshape(-1, n_classes, weights.shape[1])[1:]
    squares = _squares(bits, own, offsets.reshape(-1, n_classes)[1:], np.ascontiguousarray(listed))
    least = squares.min(axis=1, keepdims=True)
    scores += least
    np.put_along_axis(scores, listed, np.take_along_axis(scores, listed, 1) + (squares - least), 1)
    return scores


def _squares(
    bits: PackedBits, own: npt.NDArray[np.float32], offsets: npt.NDArray[np.float64], listed: Listed
) -> Scores:
    """The sum of squares of every listed class (rows, listed)."""
    rows = bits.unpack(np.float32 if bits.n_features <= FLOAT32_FEATURES else np.float64)
    squares = np.empty(listed.shape)
    if len(rows) < FEW_ROWS:
        for row, classes, out in zip(rows, listed, squares, strict=True):
            parts = own[:, classes] @ row + offsets[:, classes]
            np.einsum("kc,kc->c", parts, parts, out=out)
        return squares
    # Class by class: its weights are read once for all rows that list it.
    flat = listed.reshape(-1)
    order = np.argsort(flat, kind="stable")
    classes, whose = flat[order], order // listed.shape[1]
    parts = np.empty((len(flat), len(own)), rows.dtype)
    begins = np.flatnonzero(np.diff(classes, prepend=-1))
    for c, begin, end in zip(classes[begins].tolist(), begins.tolist(), [*begins[1:].tolist(), len(flat)], strict=True):
        np.matmul(rows[whose[begin:end]], own[:, c].T, out=parts[begin:end])
    parts += offsets.T.astype(parts.dtype)[classes]
    squares.reshape(-1)[order] = np.einsum("pk,pk->p", parts, parts)
    return squares
