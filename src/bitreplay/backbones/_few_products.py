"""How the 3x3 convolution of a small map is computed with few products: three small matrices for each size.

Along one axis, with inputs x, a kernel w and outputs y, it is ``y = outputs @ ((kernels @ w) * (maps @ x))``, and along
both axes the same with every matrix applied twice. The products in the middle are those that count: each is a matrix
product over the channels. `_fast_convolution` carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)  # Lavin & Gray 2016; small ones and their inverses keep digits
LARGEST = len(POINTS) - 1  # maps of 6 x 6 take all of them, and one at infinity


@dataclass(frozen=True)
class FewProducts:
    """The matrices of a size and a stride; `len(maps)` products along an axis."""

    maps: Floats  # (products, size)
    kernels: Floats  # (products, 3)
    outputs: Floats  # (size of the outputs, products)


@cache
def few_products(size: int, stride: int) -> FewProducts:
    """Matrices for maps of up to 6 x 6, with a padding of 1 and stride 1 or 2.

    Examples
    --------
    A ResNet's last maps are often 2 x 2; the nine products of each instead of 16, or 36 with those of the padding:

    >>> len(few_products(2, 1).maps) ** 2
    9
    """
    if size > LARGEST:
        raise ValueError(f"maps of more than {LARGEST} x {LARGEST} are no small ones")
    if size == 1 or stride == 2:
        return _directly(size, stride)
    if size == 2:
        # Karatsuba: outputs are w1 a + w2 b and w0 a + w1 b; w1 (a + b), (w2 - w1) b and (w0 - w1) a give both.
        return _matrices([[1, 1], [0, 1], [1, 0]], [[0, 1, 0], [0, -1, 1], [1, -1, 0]], [[1, 1, 0], [1, 0, 1]])
    maps, kernels, outputs = toom_cook(size, 3)
    return _matrices(maps[:, 1:-1], kernels, outputs)  # the first and the last input are the padding


def _directly(size: int, stride: int) -> FewProducts:
    """By the definition, without the padding: one product for every output and input that it sees."""
    n_outputs = -(-size // stride)
    seen = [(y, stride * y + k - 1, k) for y in range(n_outputs) for k in range(3) if 0 <= stride * y + k - 1 < size]
    y, x, k = map(list, zip(*seen, strict=True))
    return _matrices(np.eye(size)[x], np.eye(3)[k], np.eye(n_outputs)[:, y])


def toom_cook(n_outputs: int, taps: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Matrices for maps, kernels and outputs of a convolution without padding: polynomials by their values at points.

    It takes ``n_outputs + taps - 1`` products, as many as there are inputs, where the definition takes
    ``n_outputs * taps``.
    """
    points = POINTS[: n_outputs + taps - 2]
    powers = np.vander(points, max(n_outputs, taps), increasing=True)
    others = [[p for p in points if p != point] for point in points]
    scales = np.array([np.prod([point - p for p in rest]) for point, rest in zip(points, others, strict=True)])
    maps = np.zeros((len(points) + 1, len(points) + 1))
    for row, rest in zip(maps, others, strict=False):
        row[:-1] = np.poly(rest)[::-1]
    maps[-1] = np.poly(points)[::-1]
    kernels = np.vstack([powers[:, :taps] / scales[:, None], np.eye(taps)[-1:]])
    outputs = np.hstack([powers[:, :n_outputs].T, np.eye(n_outputs)[:, -1:]])
    return maps, kernels, outputs


def _matrices(*matrices: npt.NDArray[np.float64] | Sequence[Sequence[float]]) -> FewProducts:
    return FewProducts(*(np.ascontiguousarray(matrix, np.float32) for matrix in matrices))
