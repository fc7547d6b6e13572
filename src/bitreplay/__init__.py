"""bitreplay: class-incremental learning with a generative binary memory."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bitreplay._version import __version__
from bitreplay.binarizers import Heaviside, Thermometer
from bitreplay.bits import Fingerprint, PackedBits, pack
from bitreplay.classifier import GBMClassifier
from bitreplay.heads import Bayes, ClosedForm, Replay
from bitreplay.memory import BinaryMemory
from bitreplay.mixture import BernoulliMixture, EMOptions, Mixture, fit_mixtures

if TYPE_CHECKING:
    from bitreplay.data import load_dataset, make_scenario
    from bitreplay.device import export_c
    from bitreplay.encoder import Encoder
    from bitreplay.evaluation import evaluate
    from bitreplay.exports import HubClassifier, as_module, export_onnx
    from bitreplay.images import ImageClassifier

__all__ = [
    "Bayes",
    "BernoulliMixture",
    "BinaryMemory",
    "ClosedForm",
    "EMOptions",
    "Encoder",
    "Fingerprint",
    "GBMClassifier",
    "Heaviside",
    "HubClassifier",
    "ImageClassifier",
    "Mixture",
    "PackedBits",
    "Replay",
    "Thermometer",
    "__version__",
    "as_module",
    "evaluate",
    "export_c",
    "export_onnx",
    "fit_mixtures",
    "load_dataset",
    "make_scenario",
    "pack",
]

# Imported on first use: a classifier of features needs neither images nor networks.
LATER = {
    "Encoder": "encoder",
    "ImageClassifier": "images",
    "evaluate": "evaluation",
    "HubClassifier": "exports",
    "as_module": "exports",
    "export_c": "device",
    "export_onnx": "exports",
    "load_dataset": "data",
    "make_scenario": "data",
}


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(import_module(f"bitreplay.{LATER[name]}"), name)
    raise AttributeError(f"module 'bitreplay' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER})
