"""The result of training on task 0: a frozen backbone with everything needed to use it.

It is F, its binarizer and the first G. On disk it is one safetensors file with JSON metadata. Reading it executes no
code, and its content is checked before anything is built from it: a few bytes must not reserve gigabytes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.arguments import integer, number
from bitreplay._floor.container import Tensors, read_file, write_file
from bitreplay.backbones import Preprocessing, build_backbone, option_names
from bitreplay.binarizers import Binarizer, rebuild
from bitreplay.errors import FileFormatError, InputError
from bitreplay.nn import BinaryClassifier
from bitreplay.training._checkpoint import as_arrays

NETWORK = "network.safetensors"
BACKBONE, BINARIZER, CLASSIFIER = "backbone.", "binarizer.", "classifier."
LARGEST = 4096  # ours: pixels of a side, far more than any network takes
COUNTS = ("blocks", "groups")  # options that say how many layers there are, each of which has tensors


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
            _check_tensors(content, tensors)
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
    _check_backbone(name, blank, tensors)
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


def _check_tensors(content: Mapping[str, Any], tensors: Tensors) -> None:
    """Refuse what no training writes: parameters that are not finite, labels that are not integers, odd texts."""
    for name, value in tensors.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{name} must be finite")
        if name.endswith("running_var") and (value < 0).any():
            raise ValueError(f"{name} must not be negative")
    if tensors["classes"].dtype != np.int64 or tensors["classes"].ndim != 1:
        raise ValueError("classes must be a vector of integers")
    if any(tensors[name].dtype != np.float32 for name in ("head.weight", "head.bias")):
        raise ValueError("G must be float32")
    for name, kind in (("accuracy", dict), ("key", str), ("description", dict)):
        if not isinstance(content[name], kind):
            raise TypeError(f"{name} is {content[name]!r}")
    if content["preprocessing"]["size"] is not None:
        integer("size", content["preprocessing"]["size"], 1, LARGEST)
    for value in content["accuracy"].values():
        if value is not None:
            number("accuracy", value, 0, 1)


def _check_backbone(name: str, options: Mapping[str, Any], own: Tensors) -> None:
    """Refuse tensors that are not those of a backbone with these options; ValueError says which.

    The backbone is built once without memory for its parameters, to see what they would be.
    """
    for option in COUNTS:
        counts = options.get(option, ())
        if not isinstance(counts, Sequence) or sum(counts) > len(own):
            raise ValueError(f"{option} are {counts!r}, but there are {len(own)} tensors")
    if name == "efficientnet_lite0":  # has one size, and code of its own that wants real tensors
        return
    with torch.device("meta"):
        blank = build_backbone(name, **options).state_dict()
    for tensor, value in blank.items():
        if tensor not in own or own[tensor].shape != tuple(value.shape):
            raise ValueError(f"{name} with these options has a tensor {tensor} of shape {tuple(value.shape)}")
    if len(own) != len(blank):
        raise ValueError(f"{name} has {len(blank)} tensors; there are {len(own)}")
