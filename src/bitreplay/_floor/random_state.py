"""torch's global random state, from which layers and augmentations draw: seeded for a while, and then as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

CPU = torch.device("cpu")


@contextmanager
def seeded(seed: int | None, device: torch.device = CPU) -> Iterator[None]:
    """Meanwhile the generators of the CPU and of a device begin with this seed; with None, they go on as they are.

    Examples
    --------
    >>> before = torch.random.get_rng_state()
    >>> with seeded(0):
    ...     one = torch.rand(3)
    >>> with seeded(0):
    ...     torch.equal(one, torch.rand(3))
    True
    >>> torch.equal(before, torch.random.get_rng_state())
    True
    """
    devices = [] if device.type == "cpu" else [device]
    with torch.random.fork_rng(devices=devices, device_type=device.type if devices else "cuda"):
        if seed is not None:
            seed_now(seed, device)
        yield


def seed_now(seed: int, device: torch.device = CPU) -> None:
    """Seed these generators; `torch.manual_seed` would seed those of GPUs that nobody restores."""
    if device.type == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
