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

MANY_CLASSES = 4096  # ours: benchmarks/scale.py; with fewer classes all whole scores of a thousand rows take no longer
LISTED = 256  # ours: benchmarks/scale.py; of CIFAR-100's classes a tenth gives 99.3 % of the answers, a fifth 99.8 %
AT_ONCE = 2**20  # scores that are worked on at once, so that little is needed beside those that are returned
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
    scores = np.empty((len(bits), n_classes))
    step = max(1, AT_ONCE // max(1, len(bits)))
    for begin in range(0, n_classes, step):
        classes = slice(begin, min(begin + step, n_classes))
        np.add(product(bits, weights[classes]), offsets[classes], out=scores[:, classes])
    listed = _highest(scores, min(n_listed, n_classes))
    own = weights.reshape(-1, n_classes, weights.shape[1])[1:]
    squares = _squares(bits, own, offsets.reshape(-1, n_classes)[1:], listed)
    least = squares.min(axis=1, keepdims=True)
    scores += least
    np.put_along_axis(scores, listed, np.take_along_axis(scores, listed, 1) + (squares - least), 1)
    return scores


def _highest(scores: Scores, n: int) -> Listed:
    """Columns of the `n` highest scores of each row, in any order."""
    listed = np.empty((len(scores), n), np.intp)
    step = max(1, AT_ONCE // scores.shape[1])  # an index takes as much memory as a score
    for begin in range(0, len(scores), step):
        rows = slice(begin, begin + step)
        listed[rows] = np.argpartition(scores[rows], scores.shape[1] - n, axis=1)[:, scores.shape[1] - n :]
    return listed


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
