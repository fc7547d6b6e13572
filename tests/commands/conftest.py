"""Every test of commands has a cache of its own, and a network that needs no training."""

from tests.runs.conftest import cache, network

__all__ = ["cache", "network"]
