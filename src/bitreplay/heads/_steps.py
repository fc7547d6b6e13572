"""One step of SGD for G: on any network, or on a single linear layer, whose gradient is written out.

Both take the same steps, up to rounding; written out, they take half the time for a layer of the usual size.
"""

from __future__ import annotations

import torch
from torch import nn

from bitreplay.errors import InputError


class NetworkSteps:
    """Steps of an optimizer on the cross-entropy of any network that gives `n_classes` scores."""

    def __init__(self, network: nn.Module, optimizer: torch.optim.Optimizer, n_classes: int) -> None:
        self._network, self._optimizer, self._n_classes = network, optimizer, n_classes

    def step(self, inputs: torch.Tensor, classes: torch.Tensor, rate: float) -> torch.Tensor:
        """Take a step with this learning rate; returns the scores before it."""
        outputs: torch.Tensor = self._network(inputs)
        expected = len(inputs), self._n_classes
        if outputs.shape != expected:
            raise InputError(f"G must give a score per row and class, {expected}; got {tuple(outputs.shape)}")
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad()
        nn.functional.cross_entropy(outputs, classes).backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return outputs.detach()


class LinearSteps:
    """Steps of torch's SGD on the cross-entropy of a linear layer, in place.

    Examples
    --------
    >>> weights, biases = torch.zeros(2, 2), torch.zeros(2)
    >>> steps = LinearSteps(weights, biases)
    >>> steps.step(torch.eye(2), torch.arange(2), rate=1.0)
    tensor([[0., 0.],
            [0., 0.]])
    >>> weights
    tensor([[ 0.2500, -0.2500],
            [-0.2500,  0.2500]])
    """

    def __init__(
        self, weights: torch.Tensor, biases: torch.Tensor, *, momentum: float = 0.0, weight_decay: float = 0.0
    ) -> None:
        self._layer = weights.detach(), biases.detach()
        self._speed = torch.zeros_like(weights), torch.zeros_like(biases)
        self._momentum, self._weight_decay = momentum, weight_decay

    @torch.no_grad()
    def step(self, inputs: torch.Tensor, classes: torch.Tensor, rate: float) -> torch.Tensor:
        """Take a step with this learning rate; returns the scores before it."""
        (weights, biases), (weight_speed, bias_speed) = self._layer, self._speed
        outputs = torch.addmm(biases, inputs, weights.T)
        slope = torch.softmax(outputs, dim=1)  # of the loss, by the scores
        slope[torch.arange(len(classes), device=classes.device), classes] -= 1
        slope /= len(classes)
        weight_speed.mul_(self._momentum).addmm_(slope.T, inputs)
        bias_speed.mul_(self._momentum).add_(slope.sum(0))
        for values, speed in zip(self._layer, self._speed, strict=True):
            if self._weight_decay:
                speed.add_(values, alpha=self._weight_decay)
            values.add_(speed, alpha=-rate)
        return outputs
