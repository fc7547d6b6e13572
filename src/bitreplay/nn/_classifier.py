"""The binary classifier G of the fully binary network.

It decides from binary embeddings, with binary weights.
"""

from __future__ import annotations

import torch
from torch import nn

from bitreplay._floor.arguments import check_positive
from bitreplay.nn._activations import Gain, Sign
from bitreplay.nn._layers import BinaryLinear


class BinaryClassifier(nn.Module):
    """A hidden binary layer concatenated with its input, and a binary layer on both (Basso-Bert et al., ISCAS 2024).

    Parameters
    ----------
    in_features : int
        D, bits of an embedding.
    n_classes : int
        Outputs.
    hidden : int
        Width of the hidden layer.
    duplicate : bool
        Give every input to the output layer twice. A pair of weights ±1 then adds up to -2, 0 or 2: an input can be
        ignored, which is impossible with one weight ±1.

    Examples
    --------
    >>> classifier = BinaryClassifier(1024, 100)
    >>> classifier(torch.randn(5, 1024)).shape
    torch.Size([5, 100])
    >>> classifier.output
    BinaryLinear(2304, 100, clip=1.0, binarize_input=False)
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        hidden: int = 128,  # ISCAS 2024
        duplicate: bool = True,  # ISCAS 2024
    ) -> None:
        super().__init__()
        check_positive(in_features=in_features, n_classes=n_classes, hidden=hidden)
        self.in_features, self.n_classes, self.duplicate = in_features, n_classes, duplicate
        self.sign = Sign()
        self.hidden = nn.Sequential(
            BinaryLinear(in_features, hidden, binarize_input=False), Gain(in_features**-0.5), Sign()
        )
        fan_in = (in_features + hidden) * (2 if duplicate else 1)
        self.output = BinaryLinear(fan_in, n_classes, binarize_input=False)
        self.scale = Gain((5 * fan_in * n_classes) ** -0.5)  # ISCAS 2024

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores (N, n_classes) of the signs of embeddings (N, in_features)."""
        x = self.sign(x)
        inputs = torch.cat([x, self.hidden(x)], dim=1)
        if self.duplicate:
            inputs = torch.cat([inputs, inputs], dim=1)
        scores: torch.Tensor = self.scale(self.output(inputs))
        return scores
