"""Encoder: a frozen backbone that turns images into features and bits, each image only once.

It is the first half of the flow **images → features → bits** → memory/head → class. What it computes for a data set is
kept in the cache under a hash of the network's weights and of the data, and shared by all learners: a comparison of ten
methods runs the network once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay import caches
from bitreplay.backbones import BACKBONES, Preprocessing, build_backbone
from bitreplay.binarizers import Binarizer
from bitreplay.bits import PackedBits, row_bytes
from bitreplay.data import Samples
from bitreplay.data._progress import progress
from bitreplay.errors import InputError
from bitreplay.training import TrainedNetwork

__all__ = ["Encoder"]

Features = npt.NDArray[np.float32]

BATCH = 256  # images at once; always the same ones together, as the last digits of features depend on it
SAVED_EVERY = 8  # batches between two notes of how far it got


class Encoder:
    """A backbone that is not trained any more, with what comes before it.

    Parameters
    ----------
    backbone : torch.nn.Module or callable
        From images (N, C, H, W), preprocessed, to features (N, d).
    preprocessing : Preprocessing
        What comes before it.
    name : str
        What tables call it.
    binarizer : Binarizer, optional
        The one that it was trained with. Without one, learners calibrate their own on task 0.
    pretrained : str
        The data whose images it has seen before task 0, to be named beside every result; "" for none.
    device : str or torch.device
        Where it runs: "auto" takes a GPU if there is one.

    Attributes
    ----------
    key : str
        Hash of weights and preprocessing, under which results are cached; "" for a callable without weights, whose
        results are not.

    Examples
    --------
    >>> pixels = Encoder(nn.Flatten(), Preprocessing(mean=(0.0,), std=(1.0,)), name="pixels")
    >>> pixels.features(np.full((2, 8, 8, 1), 255, dtype=np.uint8)).shape
    (2, 64)
    """

    def __init__(
        self,
        backbone: Callable[[torch.Tensor], torch.Tensor],
        preprocessing: Preprocessing,
        *,
        name: str,
        binarizer: Binarizer | None = None,
        pretrained: str = "",
        device: str | torch.device = "auto",
    ) -> None:
        self.device = torch.device(_best_device() if device == "auto" else device)
        self.backbone = backbone
        self.key = ""
        if isinstance(backbone, nn.Module):
            self.key = caches.key(weights=_weights_hash(backbone), preprocessing=asdict(preprocessing), batch=BATCH)
            frozen = backbone.eval().requires_grad_(False).to(self.device)
            self.backbone = frozen.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.preprocessing = preprocessing
        self.name = name
        self.binarizer = binarizer
        self.pretrained = pretrained

    @classmethod
    def from_pretrained(cls, name: str = "efficientnet_lite0", device: str | torch.device = "auto") -> Encoder:
        """An encoder that comes with its weights."""
        if name not in BACKBONES or not BACKBONES[name].pretrained:
            known = ", ".join(known for known, backbone in BACKBONES.items() if backbone.pretrained)
            raise InputError(f"there is no pretrained backbone {name!r}; there is {known}")
        entry = BACKBONES[name]
        return cls(build_backbone(name), entry.preprocessing, name=name, pretrained=entry.pretrained, device=device)

    @classmethod
    def from_trained(cls, trained: TrainedNetwork, device: str | torch.device = "auto") -> Encoder:
        """An encoder that was trained on task 0."""
        name = trained.backbone_name or "own network"
        pretrained = BACKBONES[name].pretrained if name in BACKBONES else ""
        return cls(
            trained.backbone,
            trained.preprocessing,
            name=name,
            binarizer=trained.binarizer,
            pretrained=pretrained,
            device=device,
        )

    def notes(self) -> dict[str, str]:
        """What a reader of results must know of the encoder."""
        return {"encoder": self.name} | ({"pretrained": self.pretrained} if self.pretrained else {})

    # ------------------------------------------------------------------ encoding

    def features(self, samples: Samples | npt.NDArray[np.uint8]) -> Features:
        """Features (N, d) of samples of a data set, or of images (N, H, W, C)."""
        if not isinstance(samples, Samples):
            return np.concatenate([self._encode(samples[rows]) for rows in _batches(len(samples))])
        if not self.key:
            return self.features(samples.images)
        return np.asarray(self._split_features(samples)[samples.indices])

    def bits(self, samples: Samples | npt.NDArray[np.uint8], binarizer: Binarizer) -> PackedBits:
        """Packed bits of samples or images, by a calibrated or trained binarizer."""
        if not isinstance(samples, Samples) or not self.key:
            return binarizer.pack(self.features(samples))
        features = self._split_features(samples)
        fingerprint = binarizer.fingerprint(features.shape[1])
        key = self._cache_key(samples, code=asdict(fingerprint))
        if caches.find("bits", key) is None:
            with caches.building("bits", key, f"{fingerprint.n_features} bits, {self._of(samples)}") as part:
                packed = np.lib.format.open_memmap(
                    part / "bits.npy", "w+", np.uint8, (len(features), row_bytes(fingerprint.n_features))
                )
                for rows in _batches(len(features), 16 * BATCH):
                    packed[rows] = binarizer.pack(np.array(features[rows])).data  # a copy: the file is read-only
                packed.flush()
        data = np.load(caches.folder("bits", key) / "bits.npy", mmap_mode="r")
        return PackedBits(np.asarray(data[samples.indices]), fingerprint.n_features)

    def _encode(self, images: npt.NDArray[np.uint8]) -> Features:
        with torch.inference_mode():
            pixels = self.preprocessing(torch.from_numpy(np.ascontiguousarray(images)).to(self.device))
            features = self.backbone(pixels).float().cpu().numpy()
        if features.ndim != 2 or not np.isfinite(features).all():
            raise InputError(
                f"{self.name} must turn images into finite features (N, d); got shape {features.shape}"
                + ("" if np.isfinite(features).all() else " with NaN or infinity")
            )
        return np.asarray(features, dtype=np.float32)

    # ------------------------------------------------------------------ cache

    def _cache_key(self, samples: Samples, **more: Any) -> str:
        return caches.key(encoder=self.key, data=samples.dataset.fingerprint, part=samples.part, **more)

    def _of(self, samples: Samples) -> str:
        return f"{self.name} on {samples.dataset.name}, {samples.part}"

    def _split_features(self, samples: Samples) -> Features:
        """Features of all samples of the split that these are of, memory-mapped."""
        key = self._cache_key(samples)
        if caches.find("features", key) is None:
            with caches.resuming("features", key, self._of(samples)) as working:
                if working is not None:
                    self._encode_split(samples, working)
        features: Features = np.load(caches.folder("features", key) / "features.npy", mmap_mode="r")
        return features

    def _encode_split(self, samples: Samples, folder: Path) -> None:
        """Write the features of a whole split, going on where an interrupted process stopped."""
        images = samples.dataset.split(samples.part).images
        done = _read_progress(folder)
        first = self._encode(images[:BATCH])
        features = np.lib.format.open_memmap(
            folder / "features.npy", "r+" if done else "w+", np.float32, (len(images), first.shape[1])
        )
        batches = list(_batches(len(images)))
        with progress(f"features: {self._of(samples)}", len(images)) as advance:
            for number, rows in enumerate(batches):
                if number >= done:
                    features[rows] = self._encode(images[rows])
                    if number % SAVED_EVERY == SAVED_EVERY - 1:
                        features.flush()
                        _write_progress(folder, number + 1)
                advance(rows.stop - rows.start)
        features.flush()


def _batches(n: int, size: int = BATCH) -> Iterator[slice]:
    for begin in range(0, n, size):
        yield slice(begin, min(begin + size, n))


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _weights_hash(module: nn.Module) -> str:
    """Hash of a network's structure and weights."""
    digest = hashlib.sha256(repr(module).encode())
    for name, value in module.state_dict().items():
        digest.update(name.encode() + value.detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def _read_progress(folder: Path) -> int:
    try:
        return int(json.loads((folder / "done.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return 0


def _write_progress(folder: Path, done: int) -> None:
    temporary = folder / "done.json.part"
    temporary.write_text(json.dumps(done))
    os.replace(temporary, folder / "done.json")
