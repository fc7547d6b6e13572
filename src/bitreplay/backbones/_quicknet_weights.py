"""QuickNet's published weights: where they are, how to fetch them, and how to read larq-zoo's `.h5` files.

They are for the encoder of `_quicknet.py`. Keras renumbers its layers in every session, so their names are meaningless:
weights are read in order and checked by shape. Larq saves the *latent* weights of binary layers; only their signs
matter, and 0 counts as +1.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay import caches
from bitreplay._floor.folders import DATA, data_root
from bitreplay.errors import FileFormatError, InputError
from bitreplay.nn import BinaryConv2d

KIND = "weights"  # of the cache
RELEASE = "https://github.com/larq/zoo/releases/download/quicknet-v1.0/"
CHUNK = 2**20  # bytes read at once


@dataclass(frozen=True)
class PublishedFile:
    """A file of larq-zoo's release."""

    name: str
    sha256: str  # larq_zoo/sota/quicknet.py

    @property
    def url(self) -> str:
        """Where it is published."""
        return RELEASE + self.name


PUBLISHED = {
    "quicknet_small": PublishedFile(
        "quicknet_small_weights.h5", "1ac3b07df7f5a911dd0b49febb2486428ddf1ca130297c403815dfae5a1c71a2"
    ),
    "quicknet": PublishedFile(
        "quicknet_weights.h5", "8aba9e4e5f8d342faef04a0b2ae8e562da57dbb7d15162e8b3e091c951ba756c"
    ),
    "quicknet_large": PublishedFile(
        "quicknet_large_weights.h5", "c5158e8a59147b31370becd937825f4db8a5cdf308314874f678f596629be45c"
    ),
}


# ---------------------------------------------------------------------- where they are


def published_weights(name: str) -> Path:
    """The published file of a QuickNet, with verified content; an error says how to get it."""
    path = _find(name)
    if path is None:
        raise InputError(missing_weights(name))
    check_sha256(path, PUBLISHED[name].sha256)
    return path


def missing_weights(name: str) -> str | None:
    """How to get the published weights of a QuickNet; None if they are available."""
    if _find(name) is not None:
        return None
    root = data_root()
    folder = f"${DATA}/quicknet" + (f" ({root / 'quicknet'})" if root else f" (${DATA} is not set: your data folder)")
    return (
        f"the weights of {name} are missing: get {PUBLISHED[name].url} and put it into {folder}, or call "
        f"bitreplay.backbones.fetch_quicknet({name!r})"
    )


def fetch_quicknet(name: str) -> Path:
    """Download the published weights of a QuickNet into the cache, unless they are already available.

    Parameters
    ----------
    name : {"quicknet_small", "quicknet", "quicknet_large"}
        Which; 51, 53 and 94 megabytes.

    Examples
    --------
    Call ``fetch_quicknet("quicknet_large")`` once: `build_backbone` and all commands find the weights from then on.
    Nothing else downloads them. A name that was not published is refused:

    >>> fetch_quicknet("resnet18")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: there are no published weights of 'resnet18'; there are quicknet_small, quicknet, ...
    """
    if name not in PUBLISHED:
        raise InputError(f"there are no published weights of {name!r}; there are {', '.join(PUBLISHED)}")
    if _find(name) is None:
        download(PUBLISHED[name].url, PUBLISHED[name].sha256)
    return published_weights(name)


def download(url: str, sha256: str) -> Path:
    """Fetch a file into the cache: complete and with the expected content, or not at all."""
    name = url.rpartition("/")[2]
    with caches.building(KIND, sha256[:20], name) as part:
        try:
            with urllib.request.urlopen(url, timeout=60) as source, (part / name).open("wb") as target:
                while block := source.read(CHUNK):
                    target.write(block)
        except OSError as error:  # no such file or host, a connection that breaks off, a full disk
            raise InputError(f"cannot download {url}: {getattr(error, 'reason', error)}") from None
        check_sha256(part / name, sha256)
    return caches.folder(KIND, sha256[:20]) / name


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file whose content is not the published one."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise FileFormatError(
            f"{path} is not the published file: its sha256 is {found}, expected {expected}. Delete it and get it again"
        )


def _find(name: str) -> Path | None:
    file = PUBLISHED[name]
    root = data_root()
    if root is not None and (root / "quicknet" / file.name).is_file():
        return root / "quicknet" / file.name
    cached = caches.find(KIND, file.sha256[:20])
    return cached / file.name if cached else None


# ---------------------------------------------------------------------- what is in them


def load_weights(network: nn.Module, path: str | os.PathLike[str]) -> None:
    """Copy the weights of a Keras file into the layers of a network, in their order.

    It is made of convolutions, binary ones too, batch normalisations and linear layers. Nothing is changed if the file
    does not match.
    """
    try:
        import h5py
    except ImportError:
        raise InputError("QuickNet's weights need h5py: pip install 'bitreplay[quicknet]'") from None
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    layers = [(name, layer) for name, layer in network.named_modules() if isinstance(layer, KINDS)]
    values: list[tuple[torch.Tensor, torch.Tensor]] = []
    try:
        with h5py.File(path, "r") as file:
            saved = list(_saved_layers(file))
            for (name, layer), (saved_name, datasets) in zip(layers, saved, strict=False):
                targets = _targets(layer)
                found, expected = [one.shape for one in datasets], [_keras_shape(layer, one) for one in targets]
                if found != expected:
                    raise FileFormatError(
                        f"{path} does not match this network: {saved_name} has weights {found}, {name} needs {expected}"
                    )
                values += [
                    (target, _from_keras(layer, dataset[()])) for target, dataset in zip(targets, datasets, strict=True)
                ]
    except (OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path} is not a file of weights as Keras saves them: {error}") from None
    if len(saved) != len(layers):
        raise FileFormatError(
            f"{path} does not match this network: it has {len(saved)} layers with weights, {len(layers)} are needed"
        )
    if not all(torch.isfinite(value).all() for _, value in values):
        raise FileFormatError(f"{path} is damaged: it has weights that are NaN or infinite")
    with torch.no_grad():
        for target, value in values:
            target.copy_(value)


KINDS = (nn.Conv2d, BinaryConv2d, nn.BatchNorm2d, nn.Linear)


def _saved_layers(file: Any) -> Iterator[tuple[str, list[Any]]]:
    """Layers with weights, in Keras' order; their arrays are not yet read."""
    for name in map(_text, file.attrs["layer_names"]):
        group = file[name]
        if datasets := [group[_text(weight)] for weight in group.attrs["weight_names"]]:
            yield name, datasets


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _targets(layer: nn.Module) -> list[torch.Tensor]:
    """The tensors of a layer in the order in which Keras saves them."""
    names = ("weight", "bias", "running_mean", "running_var")
    return [tensor for name in names if (tensor := getattr(layer, name, None)) is not None]


def _keras_shape(layer: nn.Module, tensor: torch.Tensor) -> tuple[int, ...]:
    shape = tuple(tensor.shape)
    if len(shape) == 4:  # height, width, input and output channels; or channels and 1 if depthwise
        first, second = (shape[0], shape[1]) if getattr(layer, "groups", 1) > 1 else (shape[1], shape[0])
        return (*shape[2:], first, second)
    return shape[::-1]


def _from_keras(layer: nn.Module, array: npt.NDArray[Any]) -> torch.Tensor:
    if array.ndim == 4:
        array = array.transpose(2, 3, 0, 1) if getattr(layer, "groups", 1) > 1 else array.transpose(3, 2, 0, 1)
    return torch.from_numpy(np.ascontiguousarray(array.T if array.ndim == 2 else array, dtype=np.float32))
