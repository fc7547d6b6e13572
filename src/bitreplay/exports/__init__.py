"""A trained classifier in other people's formats: a torch module, an ONNX graph, a repository of the Hugging Face Hub.

In the flow images → features → **bits → memory/head → class** these are the last three steps, ready to run where
bitreplay is not installed. Microcontrollers have :mod:`bitreplay.device`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bitreplay.errors import InputError
from bitreplay.exports._module import as_module
from bitreplay.exports._onnx import export_onnx

if TYPE_CHECKING:
    from bitreplay.exports._hub import HubClassifier

__all__ = ["HubClassifier", "as_module", "export_onnx"]


def __getattr__(name: str) -> Any:
    if name != "HubClassifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("huggingface_hub") is None:
        raise InputError("HubClassifier needs the package huggingface_hub: install bitreplay[hub]")
    from bitreplay.exports._hub import HubClassifier

    return HubClassifier
