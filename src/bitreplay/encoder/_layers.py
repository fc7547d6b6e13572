"""How a frozen network runs fastest: in its fused form, and in batches whose layers are not too large."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Network = Callable[[torch.Tensor], torch.Tensor]


def fast_form(network: Network, device: torch.device) -> Network:
    """A network in the form that runs fastest on a device: on a CPU its own `for_inference`, if it has one."""
    if device.type != "cpu" or not hasattr(network, "for_inference"):
        return network
    fused: nn.Module = network.for_inference()
    return fused.eval().requires_grad_(False)


def largest_layer(network: Network, image: torch.Tensor) -> int:
    """Bytes of the largest tensor that a layer returns for one image, or of the image if the layers cannot be seen.

    Examples
    --------
    >>> network = nn.Sequential(nn.Conv2d(3, 8, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    >>> largest_layer(network, torch.zeros(1, 3, 10, 10))  # 8 channels of 100 floats
    3200
    """
    sizes = [image.nbytes]

    def note(module: nn.Module, given: Any, returned: Any) -> None:
        if isinstance(returned, torch.Tensor):
            sizes.append(returned.nbytes)

    if not isinstance(network, nn.Module):
        return image.nbytes
    hooks = [module.register_forward_hook(note) for module in network.modules()]
    try:
        network(image)
    finally:
        for hook in hooks:
            hook.remove()
    return max(sizes)
