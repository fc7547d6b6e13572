"""Hashes of networks: one for the keys of caches, one of the weights alone for files that name a network."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn


def network_hash(network: nn.Module) -> str:
    """Hash of everything that determines what a network computes, as far as visible from outside.

    This includes its structure, tensors and plain attributes, and the source of classes that are not torch's: after a
    change to the code of a network, cached features of the old one must not be used. Our own classes have a `VERSION`
    instead, so that editing a comment does not invalidate the cache.
    """
    digest = hashlib.sha256(repr(network).encode())
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {tensor.requires_grad}".encode())
        digest.update(_bytes(tensor))
    inherited = vars(nn.Module())
    for name, part in network.named_modules():
        own = {key: _told(value) for key, value in sorted(vars(part).items()) if key not in inherited}
        digest.update(f"{name} {part.training} {own}".encode())
    for kind in sorted({type(part) for part in network.modules()}, key=lambda kind: kind.__qualname__):
        package = kind.__module__.partition(".")[0]
        if package == "bitreplay":
            digest.update(f"{kind.__qualname__} {getattr(kind, 'VERSION', 1)}".encode())
        elif package != "torch":
            with contextlib.suppress(OSError, TypeError):  # typed into a console
                digest.update(inspect.getsource(kind).encode())
    return digest.hexdigest()


def _told(value: Any) -> Any:
    """An attribute in words that are the same in every process; of what has none, only its kind."""
    if value is None or isinstance(value, int | float | complex | str | bytes | torch.dtype | torch.device):
        return value
    if isinstance(value, Mapping):
        return {str(key): _told(other) for key, other in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(str(_told(other)) for other in value)
    if isinstance(value, Sequence):
        return [_told(other) for other in value]
    if isinstance(value, torch.Tensor | np.ndarray):  # one that is neither a parameter nor a buffer
        return hashlib.sha256(_bytes(torch.as_tensor(value))).hexdigest()
    named = value if hasattr(value, "__qualname__") else type(value)  # a function or class, or an object of one
    return f"{named.__module__}.{named.__qualname__}"


def weights_hash(network: nn.Module) -> str:
    """SHA-256 of a network's tensors: for each, in the order of names, its name, type, shape and bytes.

    Examples
    --------
    >>> one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> weights_hash(one) == weights_hash(other)
    False
    >>> _ = other.load_state_dict(one.state_dict())
    >>> weights_hash(one) == weights_hash(other)
    True
    """
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}\n".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _bytes(tensor: torch.Tensor) -> bytes:
    """The values of a tensor in C order."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
