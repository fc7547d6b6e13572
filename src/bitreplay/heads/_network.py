"""G, the network of the replay head: how it is made, and with how many threads it is trained."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

__all__ = ["MakeModule", "make_layers", "threads_for"]

MakeModule = Callable[[int, int], nn.Module]

SMALL = 2**20  # ours: parameters of a G that one thread trains fastest


@contextlib.contextmanager
def threads_for(network: nn.Module) -> Iterator[None]:
    """One thread for a small G: its matrices are too small to share, and on busy cores threads wait for each other."""
    before = torch.get_num_threads()
    small = sum(p.numel() for p in network.parameters()) < SMALL
    torch.set_num_threads(1 if small else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def make_layers(n_inputs: int, hidden: Sequence[int], n_classes: int) -> nn.Module:
    """G made of linear layers with ReLU between them."""
    widths = [n_inputs, *hidden]
    layers: list[nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], n_classes))
