"""Train a backbone on task 0: the way in.

In the flow **images → features → bits → head → class** this makes the F that all methods share. It takes nine tenths of
the time of an experiment, so its result is found again by a hash of everything that determines it.
"""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay import caches
from bitreplay._arguments import integer
from bitreplay._bf16 import require_bf16
from bitreplay._device import usable_device
from bitreplay._lock import alone
from bitreplay.backbones import BACKBONES, Preprocessing, build_backbone, count_features, pretrained_on
from bitreplay.backbones._build import option_names, own_preprocessing
from bitreplay.data import Samples, Task
from bitreplay.data._augmentation import mix_seed
from bitreplay.errors import InputError
from bitreplay.training._checkpoint import as_arrays, remove_checkpoint
from bitreplay.training._job import Job
from bitreplay.training._launch import Frame, Precision, launch
from bitreplay.training._network import BinarizerName, build_network, phases_of
from bitreplay.training._options import PRESETS, TrainingOptions
from bitreplay.training._trained import NETWORK, TrainedNetwork

__all__ = ["train_base"]

VERSION = 1  # of the training's arithmetic: another one gives other weights from the same options
CACHE = "backbones"
BLOCK = 4096  # images at once when their mean is taken
BACKBONE_WEIGHTS, HEAD_WEIGHTS = range(100, 102)  # what a seed is for


def train_base(
    task: Task,
    backbone: str | nn.Module = "resnet18",
    options: TrainingOptions = PRESETS["cpu"],
    *,
    backbone_options: Mapping[str, Any] | None = None,
    binarizer: BinarizerName = "thermometer",
    p: int = 1,  # table 1: GBM^T_1
    f: int = 2,  # table 1: GBM^H_2
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    accelerator: str = "auto",
    devices: int = 1,
    nodes: int = 1,
    precision: Precision = "32-true",
    preprocessing: Preprocessing | None = None,
    progress: bool = True,
) -> TrainedNetwork:
    """Train a backbone, its binarizer and a linear G on the classes of task 0; then all of it is frozen.

    A training that was killed goes on after its last finished epoch and, on one device, ends with the same weights as
    one that was not. A training that was finished before is only loaded.

    Parameters
    ----------
    task : Task
        Task 0 of a scenario.
    backbone : str or torch.nn.Module
        A name among `BACKBONES`, or any network from images (N, C, H, W) to features (N, d), of which a copy is
        trained.
    options : TrainingOptions
        How to train; `PRESETS` has some.
    backbone_options : mapping, optional
        Options of a backbone given by its name. `in_channels` and `image_size` are those of the images.
    binarizer : {"thermometer", "heaviside", "native", "none"}
        What stands between backbone and G; "native" for backbones whose features are ±1 already.
    p, f : int
        Bits per feature of a thermometer, width factor of a Heaviside binarizer.
    seed : int
        Determines the initial weights, the order of the images and their augmentation.
    folder : path, optional
        Where checkpoint, `log.csv` and `network.safetensors` go; by default into the cache, where everybody who asks
        for the same training finds it.
    accelerator, devices, nodes, precision
        As in Lightning Fabric. More than one device means one process for each, and the script that calls this needs
        the usual ``if __name__ == "__main__":``.
    preprocessing : Preprocessing, optional
        What comes before the backbone, if its weights already expect something; by default that of a pretrained
        backbone, or mean and standard deviation of the task's images.
    progress : bool
        Show a progress bar.

    Examples
    --------
    >>> import tempfile
    >>> from bitreplay.data import load_dataset, make_scenario
    >>> task = make_scenario(load_dataset("digits"), base=2, increment=2).tasks[0]
    >>> options = TrainingOptions(epochs=1, ste_epochs=1, augmentation="none")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trained = train_base(task, "small_cnn", options, folder=folder, progress=False)
    >>> trained.classes, trained.binarizer.p, sorted(trained.accuracy)
    (array([4, 2]), 1, ['plain', 'plain_then_binarized', 'straight_through'])
    """
    if not len(task.train):
        raise InputError(f"task {task.id} has no training images")
    if precision not in get_args(Precision):
        raise InputError(f"precision must be one of {', '.join(get_args(Precision))}; got {precision!r}")
    for option, value, least in (("seed", seed, 0), ("devices", devices, 1), ("nodes", nodes, 1)):
        integer(option, value, least)
    if precision == "bf16-mixed":
        require_bf16(usable_device({"gpu": "cuda"}.get(accelerator, accelerator)).type)
    dataset = task.train.dataset
    name, used = (backbone, dict(backbone_options or {})) if isinstance(backbone, str) else ("", {})
    shapes = _image_shapes(dataset.image_shape, options.image_sizes, preprocessing or _expected(name, used))
    if isinstance(backbone, str):
        implied = {"in_channels": shapes[-1][0], "image_size": shapes[-1][1]}  # what the images say about the network
        used = {**{option: value for option, value in implied.items() if option in option_names(name)}, **used}
        module = build_backbone(name, generator=_generator(seed, BACKBONE_WEIGHTS), **used)
    elif backbone_options:
        raise InputError("backbone_options are for a backbone given by its name; this one is already built")
    else:
        module = copy.deepcopy(backbone)
    n_features = [count_features(module, shape) for shape in shapes]
    if len(set(n_features)) > 1:
        raise InputError(f"a backbone must give as many features at all image_sizes; got {n_features}")
    generator = _generator(seed, HEAD_WEIGHTS)
    network = build_network(
        module, n_features[-1], len(task.classes), binarizer, options.head, p=p, f=f, generator=generator
    )
    description = {
        "dataset": dataset.name,
        "classes": len(task.classes),
        "backbone": name or type(backbone).__qualname__,
        "backbone_options": used,
        "binarizer": {"thermometer": {"p": p}, "heaviside": {"f": f}}.get(binarizer, {}) | {"name": binarizer},
        "training": options.determinants(),
        "seed": seed,
        "precision": precision,
    }
    key = caches.key(
        version=VERSION,
        train=task.train.fingerprint,
        test=task.test.fingerprint,
        labels=task.classes,
        weights="" if name and used.get("weights") in (None, "published") else _fingerprint(module),
        preprocessing=None if preprocessing is None else asdict(preprocessing),
        **description,
    )

    def train_in(working_folder: Path) -> None:
        """Train in a folder, or go on there, until it holds the network."""
        if (working_folder / NETWORK).exists():
            remove_checkpoint(working_folder)
            return
        prepared = preprocessing or default_preprocessing(name, task, used)
        if options.image_sizes:
            prepared = replace(prepared, size=options.image_sizes[-1])
        phases = phases_of(options, binarizer)
        data = (*_arrays(task.train, task.classes), *_arrays(task.test, task.classes))
        job = Job(network, phases, options, prepared, *data, seed, working_folder, key, progress)
        frame = Frame(name, used, task.classes, description)
        launch(job, frame, accelerator=accelerator, devices=devices, nodes=nodes, precision=precision)

    if folder is not None:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        with alone(path / ".lock"):
            train_in(path)
    else:
        path = caches.folder(CACHE, key)
        text = f"{description['backbone']}, {len(task.classes)} classes of {dataset.name}"
        with caches.resuming(CACHE, key, text) as working_folder:
            if working_folder is not None:
                train_in(working_folder)
    trained = TrainedNetwork.load(path, None if name else module)
    if trained.key != key:
        raise InputError(f"{path} holds a network trained otherwise; remove it or choose another folder")
    return trained


def _image_shapes(
    image_shape: tuple[int, int, int], image_sizes: tuple[int, ...], preprocessing: Preprocessing | None
) -> list[tuple[int, int, int]]:
    """Channels, height and width that the network will see in its training, one after the other."""
    height, width, channels = image_shape
    sizes = image_sizes or (preprocessing.size if preprocessing else None,)
    return [(channels, size or height, size or width) for size in sizes]


def _expected(name: str, options: Mapping[str, Any]) -> Preprocessing | None:
    """What the weights of a backbone, or its code of pixels, expect; None where they expect nothing."""
    if name in BACKBONES and (pretrained_on(name, options) or BACKBONES[name].binary):
        return own_preprocessing(name, options)
    return None


def default_preprocessing(name: str, task: Task, options: Mapping[str, Any]) -> Preprocessing:
    """What weights or codes of pixels expect, or mean and standard deviation of the task's training images."""
    if (expected := _expected(name, options)) is not None:
        return expected
    n, total, squares = 0, 0.0, 0.0
    for begin in range(0, len(task.train), BLOCK):
        pixels = task.train.subset(slice(begin, begin + BLOCK)).images / 255.0
        n += pixels[..., 0].size
        total = total + pixels.sum((0, 1, 2))
        squares = squares + np.square(pixels).sum((0, 1, 2))
    mean = np.asarray(total) / n
    std = np.sqrt(np.maximum(np.asarray(squares) / n - mean**2, 1e-6))
    return Preprocessing(tuple(mean.round(4).tolist()), tuple(std.round(4).tolist()))


def _arrays(samples: Samples, classes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Images, and the place of each one's class among `classes`."""
    place = {int(label): index for index, label in enumerate(classes)}
    return samples.images, np.array([place[int(label)] for label in samples.labels], dtype=np.int64)


def _generator(seed: int, purpose: int) -> torch.Generator:
    return torch.Generator().manual_seed(mix_seed(seed, purpose))


def _fingerprint(module: nn.Module) -> str:
    """Hash of a network's weights."""
    digest = hashlib.sha256(repr(module).encode())
    for name, value in as_arrays(module, "").items():
        digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()
