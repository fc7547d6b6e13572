"""bitreplay: class-incremental learning with a generative binary memory."""

from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.bits import PackedBits, pack
from bitreplay.classifier import GBMClassifier
from bitreplay.memory import BinaryMemory, Fingerprint
from bitreplay.mixture import BernoulliMixture, EMOptions

__all__ = [
    "BernoulliMixture",
    "BinaryMemory",
    "EMOptions",
    "Fingerprint",
    "GBMClassifier",
    "Heaviside",
    "PackedBits",
    "Thermometer",
    "pack",
]

__version__ = "0.1.0"
