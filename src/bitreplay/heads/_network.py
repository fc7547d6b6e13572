"""How G, the network of the replay head, is made, and the batches it is trained on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from bitreplay.errors import InputError

MakeModule = Callable[[int, int], nn.Module]


def make_layers(n_inputs: int, hidden: Sequence[int], n_classes: int) -> nn.Module:
    """G made of linear layers with ReLU between them."""
    widths = [n_inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))


def check_saved(tensors: Mapping[str, npt.NDArray[Any]], widths: Sequence[int] | None) -> None:
    """Refuse parameters that are not finite, or not those of :func:`make_layers`, before it makes any.

    A few bytes that declare a wide layer would reserve gigabytes. Without widths G is a module of the user's own.

    Examples
    --------
    >>> check_saved({"0.weight": np.ones((2, 64)), "0.bias": np.ones(2)}, [64, 10**9, 2])
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: G of widths 64, 1000000000, 2 does not have the 2 tensors that are there
    >>> check_saved({}, [64, 2])
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: G of widths 64, 2 does not have the 0 tensors that are there
    """
    if any(value.dtype.kind == "f" and not np.isfinite(value).all() for value in tensors.values()):
        raise InputError("the parameters of G must be finite")
    if widths is None:
        return
    expected: dict[str, tuple[int, ...]] | None = None
    if 2 * (len(widths) - 1) == len(tensors):
        expected = {}
        for layer, (before, after) in enumerate(itertools.pairwise(widths)):
            expected |= {f"{2 * layer}.weight": (after, before), f"{2 * layer}.bias": (after,)}
    if expected != {name: value.shape for name, value in tensors.items()}:
        raise InputError(
            f"G of widths {', '.join(map(str, widths[:8]))} does not have the {len(tensors)} tensors that are there"
        )


def balanced_rows(
    targets: npt.NDArray[np.int64], size: int, generator: np.random.Generator
) -> Iterator[npt.NDArray[np.intp]]:
    """Endless batches of row numbers, every class equally often whatever its size, each class in shuffled passes."""
    members = [np.flatnonzero(targets == c) for c in np.unique(targets)]
    longest = max(map(len, members))
    while True:
        # As many rows of every class as the largest has: smaller classes are repeated in full passes.
        columns = [
            np.concatenate([generator.permutation(m) for _ in range(-(-longest // len(m)))])[:longest] for m in members
        ]
        order = generator.permutation(np.concatenate(columns)) if len(members) > 1 else columns[0]
        if len(order) < size:
            order = np.tile(order, -(-size // len(order)))
        for begin in range(0, len(order) - size + 1, size):
            yield order[begin : begin + size]
