"""Encoders by name, as on the command line: a backbone with its options, or a folder written by `bitreplay train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from bitreplay._floor.options import parse_options
from bitreplay.backbones import BACKBONES, HF, HFPreprocessing, Preprocessing
from bitreplay.encoder._encoder import Encoder
from bitreplay.errors import InputError
from bitreplay.training import NETWORK, TrainedNetwork


def make_encoder(
    encoder: Any,
    preprocessing: Preprocessing | HFPreprocessing | None = None,
    device: str | torch.device = "auto",
    *,
    download: bool = True,
) -> Encoder:
    """An encoder from its name with options, a folder, a module with its preprocessing, or an encoder itself.

    Without `download`, a model of transformers must be here already.

    Examples
    --------
    >>> make_encoder(nn.Flatten(), Preprocessing(size=8)).name
    'Flatten'
    >>> make_encoder("toaster")
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: there is no encoder 'toaster'; there are efficientnet_lite0, ...
    """
    if isinstance(encoder, Encoder):
        if preprocessing is not None and preprocessing != encoder.preprocessing:
            raise InputError("an Encoder has its own preprocessing: give none beside it")
        return encoder
    if isinstance(encoder, nn.Module):
        if preprocessing is None:
            raise InputError("a network of your own needs its preprocessing: preprocessing=Preprocessing(...)")
        return Encoder(encoder, preprocessing, name=type(encoder).__name__, device=device)
    if not isinstance(encoder, str | Path):
        raise InputError(f"encoder must be a name, an Encoder or a torch.nn.Module; got a {type(encoder).__name__}")
    if preprocessing is not None:
        raise InputError(f"{encoder} has its own preprocessing: give none beside it")
    word = str(encoder)
    if word.startswith(HF):
        return Encoder.from_pretrained(word, device, download=download)
    if word.partition(":")[0] in BACKBONES:
        name, options = parse_options(word)
        return Encoder.from_pretrained(name, device, **options)
    if (Path(word) / NETWORK).is_file():
        return Encoder.from_trained(TrainedNetwork.load(word), device)
    known = ", ".join(name for name, backbone in BACKBONES.items() if backbone.pretrained)
    raise InputError(
        f"there is no encoder {word!r}; there are {known}, hf:NAME, and folders written by `bitreplay train`"
    )
