"""The result of training on task 0: a frozen backbone with everything needed to use it.

It is F, its binarizer and the first G. On disk it is one safetensors file with JSON metadata; reading it executes no
code.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.arguments import number
from bitreplay._floor.container import Tensors, read_file, write_file
from bitreplay.backbones import Preprocessing, build_backbone, option_names
from bitreplay.binarizers import Binarizer, rebuild
from bitreplay.errors import FileFormatError, InputError
from bitreplay.nn import BinaryClassifier
from bitreplay.training._checkpoint import as_arrays
from bitreplay.training._forged import check_backbone, check_tensors

NETWORK = "network.safetensors"
BACKBONE, BINARIZER, CLASSIFIER = "backbone.", "binarizer.", "classifier."


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network trained on task 0.

    Parameters
    ----------
    backbone : torch.nn.Module
        Images (N, C, H, W) to features (N, d); in evaluation mode, without gradients.
    binarizer : Binarizer or None
        Features to bits.
    head_weight, head_bias : ndarray
        G for the classes of task 0, on what the binarizer decodes.
    preprocessing : Preprocessing
        Applied before the backbone.
    classes : ndarray of int64
        The data set's labels of G's outputs.
    accuracy : dict of str to float, or to None without test images
        On the test images of task 0, from 0 to 1: after the phase "plain", "plain_then_binarized" (the thermometer
        added without retraining), after "straight_through"; or after "binarized" for a Heaviside binarizer.
    key : str
        Hash of everything that determined the training, for the keys of caches.
    backbone_name : str
        Its name in `BACKBONES`; "" for a custom network.
    backbone_options : dict
        The options it was built with.
    description : dict
        How it was trained, in readable form.
    classifier : BinaryClassifier, optional
        G, if it is not linear; `head_weight` and `head_bias` are then empty.

    Examples
    --------
    Any network that was trained elsewhere, beside those of :func:`train_base`:

    >>> import tempfile
    >>> own = nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU())
    >>> linear = np.zeros((2, 16), np.float32), np.zeros(2, np.float32)
    >>> network = TrainedNetwork(own, None, *linear, Preprocessing(mean=(0.5,), std=(0.5,)), np.arange(2), {}, "mine")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     network.save(folder)
    ...     TrainedNetwork.load(folder, backbone=own).key
    'mine'
    """

    backbone: nn.Module
    binarizer: Binarizer | None
    head_weight: npt.NDArray[np.float32]
    head_bias: npt.NDArray[np.float32]
    preprocessing: Preprocessing
    classes: npt.NDArray[np.int64]
    accuracy: dict[str, float | None]
    key: str
    backbone_name: str = ""
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    description: Mapping[str, Any] = field(default_factory=dict)
    classifier: BinaryClassifier | None = None

    def __post_init__(self) -> None:
        for module in (self.backbone, self.binarizer, self.classifier):
            if module is not None:
                module.eval().requires_grad_(False)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write `network.safetensors` into a folder, atomically."""
        content: dict[str, Any] = {
            "backbone": {"name": self.backbone_name, "options": dict(self.backbone_options)},
            "preprocessing": asdict(self.preprocessing),
            "accuracy": self.accuracy,
            "key": self.key,
            "description": dict(self.description),
            "binarizer": None,
        }
        tensors: Tensors = as_arrays(self.backbone, BACKBONE)
        if self.binarizer is not None:
            content["binarizer"], described = self.binarizer.describe()
            tensors.update({BINARIZER + name: value for name, value in described.items()})
        tensors.update({"head.weight": self.head_weight, "head.bias": self.head_bias, "classes": self.classes})
        if self.classifier is not None:
            tensors.update(as_arrays(self.classifier, CLASSIFIER))
        Path(folder).mkdir(parents=True, exist_ok=True)
        write_file(Path(folder) / NETWORK, "network", content, tensors)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], backbone: nn.Module | None = None) -> TrainedNetwork:
        """Read a file written by :meth:`save`.

        Parameters
        ----------
        folder : path
            Where `network.safetensors` is.
        backbone : torch.nn.Module, optional
            A network like the trained one, if that was a custom network; it receives the weights.
        """
        path = Path(folder) / NETWORK
        content, tensors = read_file(path)
        if content.get("kind") != "network":
            raise FileFormatError(f"{path} is not a trained network")
        try:
            built = content["backbone"]
            if backbone is None and not built["name"]:
                raise _OwnNetworkError(f"{path} is a network of the user's own: pass one like it as `backbone`")
            check_tensors(content, tensors)
            if backbone is None:
                backbone = build_with_weights(built["name"], built["options"], _own(tensors, BACKBONE))
            else:
                backbone.load_state_dict(_tensors(tensors, BACKBONE))
            binarizer = None
            if content["binarizer"] is not None:
                binarizer = rebuild(content["binarizer"], _own(tensors, BINARIZER))
            preprocessing = dict(content["preprocessing"])
            for name in ("mean", "std"):
                least = 1e-6 if name == "std" else -1e6  # quotients must be numbers, too
                preprocessing[name] = tuple(number(name, value, least, 1e6) for value in preprocessing[name])
            return cls(
                backbone,
                binarizer,
                tensors["head.weight"],
                tensors["head.bias"],
                Preprocessing(**preprocessing),
                tensors["classes"],
                content["accuracy"],
                content["key"],
                built["name"],
                built["options"],
                content["description"],
                _classifier(tensors),
            )
        except (_OwnNetworkError, MemoryError):
            raise
        except Exception as error:  # whatever a forged file breaks is the file's fault
            raise FileFormatError(f"{path} does not fit this version of bitreplay: {error}") from None


class _OwnNetworkError(InputError):
    """The file alone cannot say what the network was."""


def build_with_weights(name: str, options: Mapping[str, Any], tensors: Tensors) -> nn.Module:
    """A backbone with weights from a file; ValueError or RuntimeError where they are not those of such a backbone."""
    blank = _without_weights(name, options)
    check_backbone(name, blank, tensors)
    backbone = build_backbone(name, **blank)
    backbone.load_state_dict(_tensors(tensors, ""))
    return backbone


def _without_weights(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options to build a backbone whose weights will be replaced: its initial weights may not be available."""
    blank = {"pretrained": False, "weights": None}
    return {**options, **{option: value for option, value in blank.items() if option in option_names(name)}}


def _classifier(arrays: Tensors) -> BinaryClassifier | None:
    """The binary G, with the shape of its tensors; None if G is linear."""
    state = _tensors(arrays, CLASSIFIER)
    if not state:
        return None
    (hidden, in_features), (n_classes, fan_in) = (state[name].shape for name in ("hidden.0.weight", "output.weight"))
    if fan_in not in (in_features + hidden, 2 * (in_features + hidden)):
        raise ValueError("the layers of the binary classifier do not fit together")
    classifier = BinaryClassifier(in_features, n_classes, hidden, duplicate=fan_in == 2 * (in_features + hidden))
    classifier.load_state_dict(state)
    return classifier


def _own(arrays: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}


def _tensors(arrays: Tensors, prefix: str) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.array(value)) for name, value in _own(arrays, prefix).items()}
