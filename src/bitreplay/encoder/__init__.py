"""Encoder: a frozen backbone that turns images into features and bits, each image only once.

It is the first half of the flow **images → features → bits** → memory/head → class.
"""

from bitreplay.encoder._encoder import Encoder
from bitreplay.encoder._named import make_encoder as make_encoder

__all__ = ["Encoder"]
