"""Where networks run: devices by name, checked for availability."""

from __future__ import annotations

import torch

from bitreplay.errors import InputError


def usable_device(device: str | torch.device) -> torch.device:
    """A device that tensors can be put on; "auto" selects a GPU if there is one.

    Examples
    --------
    >>> usable_device("cpu")
    device(type='cpu')
    >>> usable_device("toaster")
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: the device 'toaster' cannot be used: ...
    """
    if device == "auto":
        has_cuda, has_mps = torch.cuda.is_available(), torch.backends.mps.is_available()
        return torch.device("cuda" if has_cuda else "mps" if has_mps else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError, TypeError) as error:  # torch's for a word it does not know, and for no GPU
        reason = str(error).partition("\n")[0]
        raise InputError(f"the device {device!r} cannot be used: {reason}") from None
    return found
