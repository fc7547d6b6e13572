"""An image classifier as JSON content and tensors, and back (docs/format.md).

The classifier and the memory inside are the same as in their own files, so that whatever reads those reads this.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from bitreplay._floor.arguments import integer, number, text
from bitreplay._floor.container import Tensors
from bitreplay._floor.options import options_text
from bitreplay.backbones import BACKBONES, Preprocessing, pretrained_on
from bitreplay.classifier import GBMClassifier
from bitreplay.encoder import Encoder, make_encoder
from bitreplay.errors import BitreplayError, FileFormatError, InputError
from bitreplay.images._frame import LARGEST, Frame
from bitreplay.images._learned import Learned, Times
from bitreplay.memory import BinaryMemory
from bitreplay.training import as_arrays, build_with_weights

__all__ = ["KIND", "from_content", "to_content"]

KIND = "images"
WEIGHTS = "encoder."  # before the names of the encoder's tensors


def to_content(learned: Learned, *, weights: bool) -> tuple[dict[str, Any], Tensors]:
    """Everything needed to continue elsewhere, and if wanted the encoder's weights."""
    content, tensors = learned.classifier.to_content()
    encoder = learned.encoder
    content[KIND] = {
        "encoder": {"name": encoder.name, "options": dict(encoder.options), "weights": encoder.weights},
        "preprocessing": asdict(encoder.preprocessing),
        "frame": asdict(learned.frame),
        "times": [list(learned.times[label]) for label in learned.classifier.memory_.labels],
    }
    if weights:
        if not isinstance(encoder.backbone, nn.Module):
            raise InputError(f"{encoder.name} has no weights that could be stored: it is not a torch.nn.Module")
        tensors |= as_arrays(encoder.backbone, WEIGHTS)
    return content, tensors


def from_content(
    content: Mapping[str, Any], tensors: Tensors, path: str, given: Any, device: str | torch.device
) -> Learned:
    """What a file holds; `given` is the encoder if the caller has it already."""
    if KIND not in content:
        raise FileFormatError(f"{path} holds no classifier of images: read it with GBMClassifier.load or BinaryMemory")
    classifier = GBMClassifier.from_content(content, tensors, path)
    about = content[KIND]
    try:
        named = about["encoder"]
        name, options, weights = text("name", named["name"]), dict(named["options"]), text("hash", named["weights"])
        preprocessing = _preprocessing(about["preprocessing"])
        frame = Frame(**about["frame"])
        times = _times(about["times"], classifier.memory_)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{path} does not say which encoder it needs: {error}") from None
    encoder = _encoder(given, name, options, preprocessing, tensors, path, device)
    if encoder.weights != weights:
        raise InputError(
            f"{path} was made with other weights of its encoder {name}: their hash is {weights[:16]}, "
            f"that of the ones given is {encoder.weights[:16]}"
        )
    if encoder.preprocessing != preprocessing:
        raise InputError(
            f"{path} was made with another preprocessing: {preprocessing}; the encoder given has "
            f"{encoder.preprocessing}"
        )
    return Learned(encoder, frame, classifier, times)


def _encoder(
    given: Any,
    name: str,
    options: Mapping[str, Any],
    preprocessing: Preprocessing,
    tensors: Tensors,
    path: str,
    device: str | torch.device,
) -> Encoder:
    """The encoder of a file: the one given, one with the file's weights, or the published one with this name."""
    stored = {key.removeprefix(WEIGHTS): value for key, value in tensors.items() if key.startswith(WEIGHTS)}
    if isinstance(given, nn.Module):
        if stored:
            given = copy.deepcopy(given)
            try:
                given.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in stored.items()})
            except (RuntimeError, TypeError) as error:
                raise InputError(f"the network given is not like that in {path}: {error}") from None
        return Encoder(given, preprocessing, name=name, device=device, options=options)
    if given is not None:
        return make_encoder(given, device=device)
    try:
        if stored and name in BACKBONES:
            backbone = build_with_weights(name, options, stored)
            seen = pretrained_on(name, options)
            return Encoder(backbone, preprocessing, name=name, device=device, options=options, pretrained=seen)
        if name in BACKBONES:
            made = make_encoder(options_text(name, options), device=device)
            return made if made.preprocessing == preprocessing else made.with_preprocessing(preprocessing)
    except BitreplayError:
        raise
    except Exception as error:  # whatever a forged file breaks is the file's fault
        raise FileFormatError(f"{path} does not hold the weights of {name}: {error}") from None
    raise InputError(f"{path} needs its encoder {name!r}, which is not one of ours: pass load(..., encoder=...)")


def _preprocessing(content: Mapping[str, Any]) -> Preprocessing:
    made = Preprocessing(**{**content, "mean": tuple(content["mean"]), "std": tuple(content["std"])})
    for mean, std in zip(made.mean, made.std, strict=True):
        number("mean", mean, -1e6, 1e6), number("std", std, 1e-6, 1e6)
    if made.size is not None:
        integer("size", made.size, 1, LARGEST)
    return made


def _times(times: Any, memory: BinaryMemory) -> Times:
    if not isinstance(times, list) or len(times) != len(memory):
        raise ValueError(f"times must be {len(memory)} pairs, one per class")
    pairs = [tuple(integer("a time", value, 0, 2**40) for value in pair) for pair in times]
    if any(len(pair) != 2 or pair[0] > pair[1] for pair in pairs):
        raise ValueError("each class has the time of its first and of its last samples")
    return {label: (first, last) for label, (first, last) in zip(memory.labels, pairs, strict=True)}
