"""How G, the network of the replay head, is made."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from torch import nn

__all__ = ["MakeModule", "make_layers"]

MakeModule = Callable[[int, int], nn.Module]


def make_layers(n_inputs: int, hidden: Sequence[int], n_classes: int) -> nn.Module:
    """G made of linear layers with ReLU between them."""
    widths = [n_inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))
