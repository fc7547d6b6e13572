"""How G, the network of the replay head, is made."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from torch import nn

from bitreplay.errors import InputError

__all__ = ["MakeModule", "check_layers", "make_layers"]

MakeModule = Callable[[int, int], nn.Module]


def make_layers(n_inputs: int, hidden: Sequence[int], n_classes: int) -> nn.Module:
    """G made of linear layers with ReLU between them."""
    widths = [n_inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))


def check_layers(n_inputs: int, hidden: Sequence[int], n_classes: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse tensors that are not those of :func:`make_layers`, before it makes any.

    Examples
    --------
    >>> check_layers(64, [10**9], 2, {"0.weight": (2, 64), "0.bias": (2,)})
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: G of widths 64, 1000000000, 2 does not have the 2 tensors that are there
    """
    widths = [n_inputs, *hidden, n_classes]
    expected: dict[str, tuple[int, ...]] = {}
    if 2 * (len(widths) - 1) == len(shapes):
        for layer, (before, after) in enumerate(itertools.pairwise(widths)):
            expected |= {f"{2 * layer}.weight": (after, before), f"{2 * layer}.bias": (after,)}
    if expected != dict(shapes):
        raise InputError(
            f"G of widths {', '.join(map(str, widths[:8]))} does not have the {len(shapes)} tensors that are there"
        )
