"""Straight-through functions: steps that pass a gradient, so that networks can be trained through bits."""

from bitreplay.nn._straight_through import heaviside, straight_through

__all__ = ["heaviside", "straight_through"]
