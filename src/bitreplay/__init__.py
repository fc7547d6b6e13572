"""bitreplay: class-incremental learning with a generative binary memory."""

from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.bits import PackedBits, pack
from bitreplay.classifier import GBMClassifier
from bitreplay.device import export_c
from bitreplay.heads import Bayes, ClosedForm, Replay
from bitreplay.memory import BinaryMemory, Fingerprint
from bitreplay.mixture import BernoulliMixture, EMOptions, Mixture, fit_mixtures

__all__ = [
    "Bayes",
    "BernoulliMixture",
    "BinaryMemory",
    "ClosedForm",
    "EMOptions",
    "Fingerprint",
    "GBMClassifier",
    "Heaviside",
    "Mixture",
    "PackedBits",
    "Replay",
    "Thermometer",
    "export_c",
    "fit_mixtures",
    "pack",
]

__version__ = "0.1.0"
