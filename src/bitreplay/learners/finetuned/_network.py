"""The network of a method that trains all of it: a backbone, and a head that gets new outputs with every task.

A head keeps the outputs of every task in separate tensors, so that a method can freeze those of old tasks, distil
them one by one, or drop some again.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from bitreplay.backbones import BasicBlock, ResNet, SmallCNN
from bitreplay.errors import InputError


class OutputLayers(nn.Module):
    """Base of the heads: one weight matrix per task."""

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.n_features = n_features
        self.weights = nn.ParameterList()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Outputs of every task."""
        return tuple(len(weight) for weight in self.weights)

    @property
    def weight(self) -> torch.Tensor:
        """Weights of all outputs (outputs, features)."""
        return torch.cat(list(self.weights))

    def grow(self, n_outputs: int, generator: torch.Generator) -> None:
        """Add outputs for a new task, with the initial weights of torch's linear layer."""
        bound = self.n_features**-0.5
        self.weights.append(torch.empty(n_outputs, self.n_features).uniform_(-bound, bound, generator=generator))

    def freeze_old(self) -> None:
        """No gradient for the outputs of any task except the newest."""
        for parameters in self.lists():
            for parameter in list(parameters)[:-1]:
                parameter.requires_grad_(False)

    def keep_first(self, n_outputs: int) -> None:
        """Drop all outputs of the newest task except the first."""
        for parameters in self.lists():
            parameters[-1] = nn.Parameter(parameters[-1].detach()[:n_outputs].clone())

    def lists(self) -> list[nn.ParameterList]:
        """What there is one tensor of for every task."""
        return [self.weights]


class LinearOutputs(OutputLayers):
    """One linear output per class, with a bias."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.biases = nn.ParameterList()

    def grow(self, n_outputs: int, generator: torch.Generator) -> None:
        """Add outputs; their biases start at 0."""
        super().grow(n_outputs, generator)
        self.biases.append(torch.zeros(n_outputs))

    @property
    def bias(self) -> torch.Tensor:
        """Biases of all outputs."""
        return torch.cat(list(self.biases))

    def lists(self) -> list[nn.ParameterList]:
        """Weights and biases."""
        return [self.weights, self.biases]

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits (N, outputs)."""
        return functional.linear(features, self.weight, self.bias)


class CosineOutputs(OutputLayers):
    """The cosine between features and a direction per class, times a learned scale (LUCIR, sec. 3.2)."""

    def __init__(self, n_features: int) -> None:
        super().__init__(n_features)
        self.scale = nn.Parameter(torch.ones(1))  # LUCIR's code, modified_linear.py: sigma begins at 1

    def cosines(self, features: torch.Tensor) -> torch.Tensor:
        """Cosines (N, outputs)."""
        return functional.linear(functional.normalize(features), functional.normalize(self.weight))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Logits (N, outputs)."""
        return self.scale * self.cosines(features)


class GrowingNetwork(nn.Module):
    """Backbone and head.

    Examples
    --------
    >>> network = GrowingNetwork(nn.Flatten(), LinearOutputs(4))
    >>> generator = torch.Generator().manual_seed(0)
    >>> network.head.grow(3, generator)
    >>> network.head.grow(2, generator)
    >>> network(torch.zeros(7, 1, 2, 2)).shape
    torch.Size([7, 5])
    """

    def __init__(self, backbone: nn.Module, head: OutputLayers) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def features(self, pixels: torch.Tensor) -> torch.Tensor:
        """Features (N, d) of normalised images (N, C, H, W)."""
        features: torch.Tensor = self.backbone(pixels)
        return features

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Logits (N, outputs) of normalised images."""
        logits: torch.Tensor = self.head(self.features(pixels))
        return logits


def without_last_relu(backbone: nn.Module) -> nn.Module:
    """A backbone whose features may be negative: its last ReLU is removed. A cosine head needs all directions."""
    if isinstance(backbone, ResNet) and isinstance(last := backbone.layer4[-1], BasicBlock):
        last.activate = False
    elif isinstance(backbone, SmallCNN):
        last_layer = backbone.layers[-1]
        assert isinstance(last_layer, nn.Sequential)
        last_layer[-1] = nn.Identity()
    else:
        raise InputError(f"cannot remove the last ReLU of a {type(backbone).__name__}")
    return backbone
