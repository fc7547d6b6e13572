"""Train a backbone on task 0: the entry point.

This makes the F that all methods share. It takes nine tenths of the time of an experiment, so its result is cached
under a hash of everything that determines it. Each phase of the training is a separate result: networks with different
thermometers share their first phase, which is also the plain network that methods on features use.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import nn

from bitreplay import caches
from bitreplay._floor.arguments import check_positive, integer, one_of
from bitreplay._floor.container import read_file
from bitreplay._floor.devices import usable_device
from bitreplay._floor.locks import file_lock
from bitreplay.backbones import Preprocessing
from bitreplay.data import Task
from bitreplay.errors import FileFormatError, InputError
from bitreplay.nn import network_hash
from bitreplay.training._bf16 import require_bf16
from bitreplay.training._checkpoint import remove_checkpoint
from bitreplay.training._launch import Hardware, Precision, launch
from bitreplay.training._network import BinarizerName, Phase, phases_of
from bitreplay.training._options import TrainingOptions
from bitreplay.training._presets import PRESETS
from bitreplay.training._subject import Subject, first_network, make_subject
from bitreplay.training._trained import NETWORK, TrainedNetwork

VERSION = 2  # of the training's arithmetic: another one gives other weights from the same options
CACHE = "backbones"


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
    """Train a backbone, its binarizer and a linear G on the classes of task 0; then freeze all of it.

    A killed training resumes after its last finished epoch and, on a CPU, ends with the same weights as an
    uninterrupted one. A finished training is only loaded.

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
        What comes between backbone and G; "native" for backbones whose features are already ±1.
    p, f : int
        Bits per feature of a thermometer, width factor of a Heaviside binarizer.
    seed : int
        Determines the initial weights, the order of the images and their augmentation.
    folder : path, optional
        Where checkpoint, `log.csv` and `network.safetensors` go (those of the first of two phases into `plain` in it);
        by default into the cache, where later requests for the same training find it.
    accelerator, devices, nodes, precision
        As in Lightning Fabric. More than one device means one process for each, and the script that calls this needs
        the usual ``if __name__ == "__main__":``.
    preprocessing : Preprocessing, optional
        Applied before the backbone, if its weights expect a particular one; by default that of a pretrained backbone,
        or mean and standard deviation of the task's images.
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
    one_of("precision", precision, Precision)
    integer("seed", seed, 0)
    check_positive(devices=devices, nodes=nodes)
    if options.batch_size < devices * nodes:
        raise InputError(f"{devices * nodes} devices need at least as many images in a batch; got {options.batch_size}")
    if precision == "bf16-mixed":
        require_bf16(usable_device({"gpu": "cuda"}.get(accelerator, accelerator)).type)
    subject = make_subject(task, backbone, options, backbone_options, p, f, seed, preprocessing)
    first_network(subject, binarizer)  # refuses a binarizer that does not exist, or sizes that it cannot have
    hardware = Hardware(accelerator, devices, nodes, precision, progress)
    if hardware.started_outside and folder is None:
        raise InputError("processes that torchrun or SLURM starts need a folder that all of them share: folder=...")
    *before, last = phases_of(options, binarizer)
    trained = None
    for phase in before:
        own = None if folder is None else Path(folder) / phase.name
        trained = _train_phase(subject, phase, trained, own, hardware)
    return _train_phase(subject, last, trained, None if folder is None else Path(folder), hardware)


def untrained_phases(
    task: Task,
    backbone: str,
    options: TrainingOptions,
    *,
    backbone_options: Mapping[str, Any] | None = None,
    binarizer: BinarizerName = "thermometer",
    p: int = 1,
    f: int = 2,
    seed: int = 0,
    precision: Precision = "32-true",
) -> dict[str, Phase]:
    """The phases that :func:`train_base` would have to run now, as they are not in the cache, by their keys."""
    subject = make_subject(task, backbone, options, backbone_options, p, f, seed, None)
    keys: dict[str, Phase] = {}
    for phase in phases_of(options, binarizer):
        key, _ = _identity(subject, phase, next(reversed(keys), None), precision)
        keys[key] = phase
    return {key: phase for key, phase in keys.items() if caches.find(CACHE, key, verify=False) is None}


def _train_phase(
    subject: Subject, phase: Phase, start: TrainedNetwork | None, folder: Path | None, hardware: Hardware
) -> TrainedNetwork:
    """A phase of the training, from the cache or run now; `start` is the result of the previous phase."""
    task, named = subject.task, subject.name
    key, description = _identity(subject, phase, None if start is None else start.key, hardware.precision)

    def train_in(working_folder: Path) -> None:
        """Train in a folder, or go on there, until it holds the network."""
        if (working_folder / NETWORK).exists() and _is_whole(working_folder / NETWORK):
            remove_checkpoint(working_folder)
        else:
            launch(subject, phase, start, working_folder, key, description, hardware)

    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        with file_lock(folder / ".lock") if hardware.is_first else nullcontext():  # the others wait for it in training
            train_in(folder)
        path = folder
    else:
        path = caches.folder(CACHE, key)
        text = f"{description['backbone']}, {len(task.classes)} classes of {description['dataset']}, {phase.name}"
        with caches.resuming(CACHE, key, text) as working_folder:
            if working_folder is not None:
                train_in(working_folder)
    trained = TrainedNetwork.load(path, None if named else copy.deepcopy(subject.backbone))
    if trained.key != key:
        raise InputError(f"{path} holds a network trained differently; remove it or choose another folder")
    return trained


def _identity(subject: Subject, phase: Phase, start: str | None, precision: Precision) -> tuple[str, dict[str, Any]]:
    """The key of a phase's result, and how it is trained, in readable form; `start` is the key of the phase before."""
    task, named = subject.task, subject.name
    description = {
        "dataset": task.train.dataset.name,
        "classes": len(task.classes),
        "backbone": named or type(subject.backbone).__qualname__,
        "backbone_options": dict(subject.backbone_options),
        "binarizer": {"thermometer": {"p": subject.p}, "heaviside": {"f": subject.f}}.get(phase.binarizer, {})
        | {"name": phase.binarizer},
        "phase": phase.name,
        "training": subject.options.determinants(second_phase=phase.binarizer == "heaviside" or start is not None),
        "seed": subject.seed,
        "precision": precision,
    }
    own_weights = not named or subject.backbone_options.get("weights") not in (None, "published")
    given = subject.preprocessing
    key = caches.key(
        version=VERSION,
        train=task.train.fingerprint,
        test=task.test.fingerprint,
        labels=task.classes,
        weights=network_hash(subject.backbone) if own_weights else "",
        preprocessing=None if given is None else asdict(given),
        start=start,
        **description,
    )
    return key, description


def _is_whole(network: Path) -> bool:
    """Whether a network's file is as it was written; with a word if it is not, as it is then trained again."""
    try:
        read_file(network)
    except FileFormatError as error:
        warnings.warn(f"the network is trained again: {error}", stacklevel=3)
        return False
    return True
