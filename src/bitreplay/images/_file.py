"""A model's file (docs/format.md): what was learned, which encoder it needs, and perhaps that encoder's weights.

The classifier and the memory inside are the same as in their own files, so that whatever reads those reads this.
"""

from __future__ import annotations

import contextlib
import copy
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bitreplay._floor.arguments import integer
from bitreplay._floor.container import Tensors, read_file, write_file
from bitreplay._floor.locks import file_lock
from bitreplay.backbones import BACKBONES, HF, build_backbone, option_names, pretrained_on
from bitreplay.classifier import GBMClassifier
from bitreplay.encoder import Encoder, make_encoder
from bitreplay.errors import BitreplayError, FileFormatError, InputError
from bitreplay.images._about import About
from bitreplay.images._learned import Learned, Times
from bitreplay.memory import BinaryMemory
from bitreplay.training import as_arrays, build_with_weights

KIND = "images"
WEIGHTS = "encoder."  # before the names of the encoder's tensors
# Of a network whose weights are not in the file. Ours: the largest that is published has 23 million numbers, 40 blocks.
MOST_NUMBERS, MOST_BLOCKS = 2**26, 100

StrPath = str | os.PathLike[str]


def write_model(path: StrPath, learned: Learned, weights: Tensors) -> None:
    """Write a model, with the encoder's weights if there are any, atomically."""
    content, tensors = learned.classifier.to_content()
    times = [list(learned.times[label]) for label in learned.classifier.memory_.labels]
    content[KIND] = {**learned.about.to_content(), "times": times}
    write_file(path, KIND, content, tensors | {WEIGHTS + name: value for name, value in weights.items()})


def read_model(path: StrPath) -> tuple[Learned, Tensors]:
    """What a model's file holds: what was learned, and the encoder's weights if they are in it. No network is built."""
    content, tensors = read_file(path)
    name = os.fspath(path)
    if KIND not in content:
        raise FileFormatError(f"{name} holds no classifier of images, but a {content.get('kind', 'file')} of features")
    classifier = GBMClassifier.from_content(content, tensors, name)
    try:
        about = About.from_content(content[KIND])
        times = _times(content[KIND]["times"], classifier.memory_)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{name} does not say which encoder it needs: {error}") from None
    stored = {key.removeprefix(WEIGHTS): value for key, value in tensors.items() if key.startswith(WEIGHTS)}
    return Learned(about, classifier, times), stored


@contextlib.contextmanager
def changing(path: StrPath) -> Iterator[None]:
    """While a model's file is read, changed and written: other processes that do the same wait.

    A hidden file beside the model is what they wait for; it stays there, empty.
    """
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"cannot write {os.fspath(path)!r}: there is no folder {target.parent}")
    with file_lock(target.with_name(f".{target.name}.lock")):
        yield


def weights_of(encoder: Encoder) -> Tensors:
    """The weights of an encoder, for a file."""
    if not isinstance(encoder.backbone, nn.Module):
        raise InputError(f"{encoder.name} has no weights that could be stored: it is not a torch.nn.Module")
    return as_arrays(encoder.backbone, "")


def is_nowhere_else(encoder: Encoder) -> bool:
    """Whether an encoder is a backbone of ours with other weights than the published: its name does not bring it back.

    It was trained here, or its weights are of a file that its options name.
    """
    return encoder.name in BACKBONES and not (encoder.pretrained and _is_published(encoder.name, encoder.options))


def _is_published(name: str, options: Mapping[str, Any]) -> bool:
    """Whether these options name the published weights of a backbone: no random ones, and no file."""
    asked = options.get("weights", "published") == "published" and options.get("pretrained", True) is True
    return bool(asked and pretrained_on(name, options))


def encoder_for(about: About, stored: Tensors, path: str, given: Any, device: str | torch.device) -> Encoder:
    """The encoder of a file: the one given, one with the file's weights, or the published one of its name.

    Whatever it is, it has the weights and the preprocessing that the file names.
    """
    encoder = _given(about, stored, path, given, device) if given is not None else _named(about, stored, path, device)
    about.require(encoder, path)
    return encoder


def _given(about: About, stored: Tensors, path: str, given: Any, device: str | torch.device) -> Encoder:
    if not isinstance(given, nn.Module):
        return make_encoder(given, device=device)
    if stored:
        given = copy.deepcopy(given)
        try:
            given.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in stored.items()})
        except (RuntimeError, TypeError) as error:
            raise InputError(f"the network given is not like that in {path}: {error}") from None
    return _encoder(given, about, device)


def _named(about: About, stored: Tensors, path: str, device: str | torch.device) -> Encoder:
    name = about.name
    try:
        if name in BACKBONES and stored:
            return _encoder(build_with_weights(name, about.options, stored), about, device)
        if name in BACKBONES:
            _check_published(name, about.options, path)
            made = Encoder.from_pretrained(name, device, **about.options)  # by no text, which could say more
            return _encoder(made.backbone, about, device)
        if name.startswith(HF):  # reading a file must not reach out to the hub
            return make_encoder(name, device=device, download=False)
    except BitreplayError:
        raise
    except Exception as error:  # whatever a forged file breaks is the file's fault
        raise FileFormatError(f"{path} does not hold the weights of {name}: {error}") from None
    raise InputError(f"{path} needs its encoder {name!r}, which is not one of ours: pass load(..., encoder=...)")


def _check_published(name: str, options: Mapping[str, Any], path: str) -> None:
    """Refuse what no published weights can be read into, before memory is taken for it, and any file but theirs."""
    if not _is_published(name, options):
        raise InputError(
            f"{path} needs its encoder {name} with weights of its own, and does not hold them: pass "
            "load(..., encoder=...), and save it with weights=True"
        )
    if name == "efficientnet_lite0":  # has one size, and code of its own that wants real tensors
        return
    blocks = options.get("blocks", ())
    if not isinstance(blocks, list | tuple) or sum(blocks) > MOST_BLOCKS:
        raise ValueError(f"blocks are {blocks!r}, expected at most {MOST_BLOCKS} in all")
    random = {"weights": None} if "weights" in option_names(name) else {}
    with torch.device("meta"):  # without memory for its numbers, to see how many they would be
        numbers = sum(tensor.numel() for tensor in build_backbone(name, **{**options, **random}).state_dict().values())
    if numbers > MOST_NUMBERS:
        raise ValueError(f"with these options it has {numbers:,} numbers, expected at most {MOST_NUMBERS:,}")


def _encoder(backbone: Any, about: About, device: str | torch.device) -> Encoder:
    return Encoder(
        backbone,
        about.preprocessing,
        name=about.name,
        pretrained=about.pretrained,
        options=about.options,
        device=device,
    )


def _times(times: Any, memory: BinaryMemory) -> Times:
    if not isinstance(times, list) or len(times) != len(memory):
        raise ValueError(f"times must be {len(memory)} pairs, one per class")
    pairs = [tuple(integer("a time", value, 0, 2**40) for value in pair) for pair in times]
    if any(len(pair) != 2 or pair[0] > pair[1] for pair in pairs):
        raise ValueError("each class has the time of its first and of its last samples")
    return {label: (first, last) for label, (first, last) in zip(memory.labels, pairs, strict=True)}
