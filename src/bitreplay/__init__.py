"""bitreplay: class-incremental learning with a generative binary memory."""

from bitreplay._version import __version__
from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.bits import Fingerprint, PackedBits, pack
from bitreplay.classifier import GBMClassifier
from bitreplay.device import export_c
from bitreplay.heads import Bayes, ClosedForm, Replay
from bitreplay.memory import BinaryMemory
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
    "__version__",
    "export_c",
    "fit_mixtures",
    "pack",
]
