"""`bitreplay demo`: what the library does, on scikit-learn's digits, in a few seconds and without a download."""

from bitreplay.demo._demo import demo

__all__ = ["demo"]
