"""A network with a tap in its middle: F is what comes before it, and what follows can be trained as G.

This is what all QuickNets share (sec. 5.1 of the paper): images → **features at the tap** → bits → memory → **the
tail** → class.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections import OrderedDict

import torch
from torch import nn

from bitreplay.errors import InputError
from bitreplay.nn import binary_layers, sign


class TappedNetwork(nn.Module, ABC):
    """Base of the QuickNets: a sequence of layers that ends with an average, and a last, dense layer."""

    layers: nn.Sequential  # from images to the features of the last layer
    dense: nn.Linear  # the last layer, which only `whole` uses
    image_size: int  # height and width
    shape: tuple[int, ...]  # of the maps at the tap
    n_features: int  # their values

    @abstractmethod
    def _cut(self) -> int:
        """How many layers come before the tap."""

    def _halves(self) -> tuple[nn.Sequential, nn.Sequential]:
        """The layers before the tap, and those after it."""
        layers, cut = list(self.layers.named_children()), self._cut()
        return nn.Sequential(OrderedDict(layers[:cut])), nn.Sequential(OrderedDict(layers[cut:]))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Features (N, n_features) of images (N, 3, image_size, image_size)."""
        if images.shape[2:] != (self.image_size, self.image_size):
            raise InputError(f"QuickNet was made for {self.image_size} pixels; got images {tuple(images.shape[2:])}")
        maps: torch.Tensor = self._halves()[0](images)
        return maps.flatten(1)

    @property
    def whole(self) -> nn.Sequential:
        """The network to its end, with the same layers: images to scores (N, n_classes), before softmax."""
        return nn.Sequential(OrderedDict(layers=self.layers, dense=self.dense))

    def tail(self, n_inputs: int, n_classes: int) -> QuickNetTail:
        """G: the layers after the tap with their current weights, and a new last layer."""
        if n_inputs != self.n_features:
            raise InputError(f"QuickNet's tail takes {self.n_features} values, {self.shape}; got {n_inputs}")
        return QuickNetTail(self._halves()[1], self.shape, self.dense.in_features, n_classes)

    def freeze_features(self) -> None:
        """Replace the latent weights of F by their signs: it needs no more, since it is no longer trained."""
        with torch.no_grad():
            for layer in binary_layers(self._halves()[0]):
                layer.weight.copy_(sign(layer.weight))


class QuickNetTail(nn.Module):
    """The second half of a QuickNet as a classifier of flat embeddings: a copy of its layers, and a new last one.

    Parameters
    ----------
    layers : torch.nn.Sequential
        What follows the tap; it is copied.
    shape : tuple of int
        Shape of the input of `layers`: channels, height and width.
    width : int
        Features of the last layer.
    n_classes : int
        Classes.

    Examples
    --------
    >>> from bitreplay.backbones import QuickNet
    >>> network = QuickNet((1, 1, 1, 1), (16, 16, 32, 64), image_size=64)
    >>> tail = network.tail(n_inputs=128, n_classes=5).eval()
    >>> tail(torch.ones(2, 128)).shape, tail.dense.out_features
    (torch.Size([2, 5]), 5)
    """

    def __init__(self, layers: nn.Sequential, shape: tuple[int, ...], width: int, n_classes: int) -> None:
        super().__init__()
        self.layers = copy.deepcopy(layers).requires_grad_(True)
        self.shape = shape
        self.dense = nn.Linear(width, n_classes)

    def forward(self, embeddings: torch.Tensor) -> torch.Tensor:
        """Scores (N, n_classes) of embeddings (N, D): bits, as 0 and 1."""
        scores: torch.Tensor = self.dense(self.layers(embeddings.view(-1, *self.shape)))
        return scores
