"""A frozen backbone that turns images into features and bits, each image only once.

It is the first half of the flow **images → features → bits** → memory/head → class. What it computes for a data set is
cached under a hash of the network's weights and of the data, and shared by all learners: a comparison of ten
methods runs the network once.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay import caches
from bitreplay._floor.arguments import text
from bitreplay._floor.arrays import RowWriter
from bitreplay._floor.devices import usable_device
from bitreplay._floor.files import write_text
from bitreplay._floor.progress import progress
from bitreplay._floor.threads import torch_threads
from bitreplay.backbones import (
    BACKBONES,
    HF,
    HFPreprocessing,
    Preprocessing,
    build_backbone,
    hf_backbone,
    own_preprocessing,
    pretrained_on,
)
from bitreplay.binarizers import Binarizer, Native
from bitreplay.bits import PackedBits, row_bytes, to_numpy
from bitreplay.data import Samples
from bitreplay.encoder._layers import fast_form, largest_layer
from bitreplay.errors import InputError
from bitreplay.nn import network_hash, weights_hash
from bitreplay.training import TrainedNetwork

Features = npt.NDArray[np.float32]

VERSION = 3  # of what is done to images before and in the network: another one gives features with other digits
BATCH = 256  # images at once, at most; many fewer if layers are large
# Bytes of a batch's largest layer. Ours: benchmarks/encoding.py. The C library gives blocks of more than 32 MB back to
# the system at once and has to ask for them again, page by page.
LARGEST_LAYER = 20_000_000
SAVED_EVERY = 8  # times 256 images between two notes of how far it got
FEATURES, DONE = "features.npy", "done.json"


class Encoder:
    """A frozen backbone with its preprocessing.

    Parameters
    ----------
    backbone : torch.nn.Module or callable
        From images (N, C, H, W), preprocessed, to features (N, d). A module is frozen and put in evaluation mode.
    preprocessing : Preprocessing or HFPreprocessing
        Applied before the backbone.
    name : str
        Its name in tables.
    binarizer : Binarizer, optional
        The one it was trained with. Without one, learners calibrate their own on task 0.
    pretrained : str
        The data whose images it has seen before task 0, to be named with every result; "" for none.
    stage : str
        Which of several networks of one training it is, to be named with every result; "" where there is one.
    device : str or torch.device
        Where it runs: "auto" takes a GPU if there is one.
    options : mapping, optional
        Options of the backbone with this name, so that a model's file can say how to build it again.

    Attributes
    ----------
    key : str
        Hash of network and preprocessing, under which results are cached; "" for a callable that is not a module, whose
        results are not cached.

    Examples
    --------
    >>> pixels = Encoder(nn.Flatten(), Preprocessing(mean=(0.0,), std=(1.0,)), name="pixels")
    >>> pixels.features(np.full((2, 8, 8, 1), 255, dtype=np.uint8)).shape
    (2, 64)
    """

    def __init__(
        self,
        backbone: Callable[[torch.Tensor], torch.Tensor],
        preprocessing: Preprocessing | HFPreprocessing,
        *,
        name: str,
        binarizer: Binarizer | None = None,
        pretrained: str = "",
        stage: str = "",
        device: str | torch.device = "auto",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.device = usable_device(device)
        self.backbone = backbone
        self.key = ""
        if isinstance(backbone, nn.Module):
            frozen = backbone.eval().requires_grad_(False).to(self.device)
            about = {"network": network_hash(frozen), "preprocessing": asdict(preprocessing)}
            self.key = caches.key(version=VERSION, batch=[BATCH, LARGEST_LAYER], **about)
            self.backbone = frozen.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._runs = fast_form(self.backbone, self.device)
        self._batches: dict[tuple[int, ...], int] = {}
        self.preprocessing = preprocessing
        self.name = text("name", name)
        self.binarizer = binarizer
        self.pretrained = pretrained
        self.stage = stage
        self.options = dict(options or {})

    @classmethod
    def from_pretrained(
        cls, name: str = "efficientnet_lite0", device: str | torch.device = "auto", **options: Any
    ) -> Encoder:
        """An encoder with published weights, and options of its backbone; `hf:NAME` is a model of transformers."""
        if name.startswith(HF):
            network, preparation = hf_backbone(name.removeprefix(HF), **options)
            seen = f"whatever {name} was trained on"
            return cls(network, preparation, name=name, pretrained=seen, device=device)
        if name not in BACKBONES or not BACKBONES[name].pretrained:
            known = ", ".join(known for known, backbone in BACKBONES.items() if backbone.pretrained)
            raise InputError(f"there is no pretrained backbone {name!r}; there is {known}")
        about: dict[str, Any] = {"pretrained": pretrained_on(name, options), "options": options, "device": device}
        about["binarizer"] = Native() if BACKBONES[name].binary else None  # its features are bits already
        return cls(build_backbone(name, **options), own_preprocessing(name, options), name=name, **about)

    @classmethod
    def from_trained(cls, trained: TrainedNetwork, device: str | torch.device = "auto", stage: str = "") -> Encoder:
        """An encoder trained on task 0."""
        name = trained.backbone_name or "own network"
        return cls(
            trained.backbone,
            trained.preprocessing,
            name=name,
            binarizer=trained.binarizer,
            pretrained=pretrained_on(name, trained.backbone_options),
            stage=stage,
            device=device,
            options=trained.backbone_options,
        )

    @cached_property
    def weights(self) -> str:
        """SHA-256 of the network's tensors (docs/format.md); "" for a callable that is not a module."""
        return weights_hash(self.backbone) if isinstance(self.backbone, nn.Module) else ""

    def batch_size(self, shape: tuple[int, ...]) -> int:
        """How many preprocessed images (C, H, W) are encoded at once: so many that the largest layer stays small.

        Of a data set, always the same ones are encoded together: the last digits of features depend on it.
        """
        if shape not in self._batches:
            with torch.inference_mode(), torch_threads(), self._refusing(shape):
                layer = largest_layer(self._runs, torch.zeros(1, *shape, device=self.device))
            self._batches[shape] = max(1, min(BATCH, LARGEST_LAYER // max(1, layer)))
        return self._batches[shape]

    @property
    def tail(self) -> Callable[[int, int], nn.Module] | None:
        """Makes the layers after the tap of a truncated backbone, such as QuickNet; None for others."""
        return getattr(self.backbone, "tail", None)

    def notes(self) -> dict[str, str]:
        """What a reader of results must know about the encoder."""
        notes = {"encoder": self.name, "network": self.stage, "pretrained": self.pretrained}
        return {name: text for name, text in notes.items() if text}

    # ------------------------------------------------------------------ encoding

    def features(self, samples: Samples | npt.NDArray[np.uint8]) -> Features:
        """Features (N, d) of samples of a data set, or of images (N, H, W, C)."""
        if not isinstance(samples, Samples):
            samples = _checked(samples)
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
                shape = len(features), row_bytes(fingerprint.n_features)
                with RowWriter.begin(part / "bits.npy", np.uint8, shape) as packed:
                    for rows in _batches(len(features), 16 * BATCH):
                        packed.append(binarizer.pack(np.array(features[rows])).data)  # a copy: the file is read-only
        data = np.load(caches.folder("bits", key) / "bits.npy", mmap_mode="r")
        return PackedBits(np.asarray(data[samples.indices]), fingerprint.n_features)

    def _encode(self, images: npt.NDArray[np.uint8]) -> Features:
        """Features of a block of images, in batches."""
        first = self._prepared(images[:1])
        size = self.batch_size(tuple(first.shape[1:]))
        return np.concatenate([self.encode(self._prepared(images[rows])) for rows in _batches(len(images), size)])

    def _prepared(self, images: npt.NDArray[np.uint8]) -> torch.Tensor:
        with torch.inference_mode():
            return self.preprocessing(torch.from_numpy(np.array(images)).to(self.device))

    def encode(self, pixels: torch.Tensor) -> Features:
        """Features (N, d) of one batch of images (N, C, H, W) that are preprocessed already."""
        with torch.inference_mode(), torch_threads(), self._refusing(tuple(pixels.shape[1:])):
            features = self._runs(pixels.to(self.device)).float().cpu().numpy()
        if features.ndim != 2 or len(features) != len(pixels):
            raise InputError(
                f"{self.name} must turn {len(pixels)} images into features of shape ({len(pixels)}, d); "
                f"got shape {features.shape}"
            )
        if not np.isfinite(features).all():
            raise InputError(f"{self.name} must turn images into finite features; got NaN or infinity")
        return np.asarray(features, dtype=np.float32)

    @contextlib.contextmanager
    def _refusing(self, shape: tuple[int, ...]) -> Iterator[None]:
        try:
            yield
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:  # such as grey images where the network takes colours
            size = " x ".join(map(str, (*shape[1:], shape[0])))
            raise InputError(f"{self.name} does not accept these images of {size}: {error}") from None

    # ------------------------------------------------------------------ cache

    def _cache_key(self, samples: Samples, **more: Any) -> str:
        return caches.key(encoder=self.key, data=samples.dataset.fingerprint, part=samples.part, **more)

    def _of(self, samples: Samples) -> str:
        return f"{self.name} on {samples.dataset.name}, {samples.part}"

    def _split_features(self, samples: Samples) -> Features:
        """Features of all samples of the split that these belong to, memory-mapped."""
        key = self._cache_key(samples)
        if caches.find("features", key) is None:
            with caches.resuming("features", key, self._of(samples)) as working:
                if working is not None:
                    self._encode_split(samples, working)
        features: Features = np.load(caches.folder("features", key) / FEATURES, mmap_mode="r")
        return features

    def _encode_split(self, samples: Samples, folder: Path) -> None:
        """Write the features of a whole split, resuming where an interrupted process stopped."""
        images = samples.dataset.split(samples.part).images
        done, features = _read_progress(folder)
        with progress(f"features: {self._of(samples)}", len(images)) as advance, contextlib.ExitStack() as files:
            if features is not None:
                files.enter_context(features)
            for number, rows in enumerate(_batches(len(images))):
                if number >= done:
                    encoded = self._encode(images[rows])
                    if features is None:
                        shape = (len(images), encoded.shape[1])
                        features = files.enter_context(RowWriter.begin(folder / FEATURES, np.float32, shape))
                    features.append(encoded)
                    if (number + 1) % SAVED_EVERY == 0:
                        write_text(folder / DONE, json.dumps([number + 1, *features.position()]))
                advance(rows.stop - rows.start)


def _batches(n: int, size: int = BATCH) -> Iterator[slice]:
    for begin in range(0, max(n, 1), size):  # no images are one empty batch, which shows the number of features
        yield slice(begin, min(begin + size, n))


def _read_progress(folder: Path) -> tuple[int, RowWriter | None]:
    """How many batches are done, and the file that they are in; none where it is not as it was noted."""
    try:
        done, length, checksum = json.loads((folder / DONE).read_bytes())
        return int(done), RowWriter.go_on(folder / FEATURES, (length, checksum))
    except (OSError, ValueError, TypeError, SyntaxError):
        return 0, None


def _checked(images: Any) -> npt.NDArray[np.uint8]:
    """Images as an array, or a word on what is expected."""
    array = to_numpy(images) if isinstance(images, torch.Tensor) else images
    if not isinstance(array, np.ndarray) or array.ndim != 4 or array.dtype != np.uint8:
        got = f"{array.dtype} of shape {array.shape}" if isinstance(array, np.ndarray) else f"a {type(images).__name__}"
        raise InputError(
            "images must be uint8, pixels from 0 to 255, in an array of shape (N, height, width, channels), or samples "
            f"of a data set; got {got}"
        )
    return array
