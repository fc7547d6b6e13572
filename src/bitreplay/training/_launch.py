"""Run a phase of the training on the available devices, in one process or several, and save the network."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bitreplay._floor.children import end_with_parent, ending_children
from bitreplay.backbones import TappedNetwork
from bitreplay.data import Samples
from bitreplay.errors import InputError
from bitreplay.nn import BinaryClassifier
from bitreplay.training._checkpoint import remove_checkpoint
from bitreplay.training._network import Phase
from bitreplay.training._subject import Subject, default_preprocessing, first_network, next_network
from bitreplay.training._trained import TrainedNetwork

Precision = Literal["32-true", "bf16-mixed"]


@dataclass(frozen=True)
class Hardware:
    """Where a training runs, and what it shows; only the precision affects the result."""

    accelerator: str
    devices: int
    nodes: int
    precision: Precision
    progress: bool

    @property
    def started_outside(self) -> bool:
        """Whether torchrun or SLURM starts the processes of a training in which there are several."""
        outside = self.nodes > 1 or "TORCHELASTIC_RUN_ID" in os.environ or "SLURM_NTASKS" in os.environ
        return self.devices * self.nodes > 1 and outside

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files."""
        return not self.started_outside or os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")) == "0"


def launch(
    subject: Subject,
    phase: Phase,
    start: TrainedNetwork | None,
    folder: Path,
    key: str,
    description: Mapping[str, Any],
    hardware: Hardware,
) -> None:
    """Train, on one process per device; afterwards the folder holds the network, and no checkpoint."""
    try:
        from lightning_fabric import Fabric
        from lightning_fabric.strategies.ddp import DDPStrategy

        from bitreplay.training._loop import Job
    except ImportError:
        raise InputError("training needs Lightning Fabric: pip install 'bitreplay[training]'") from None
    task, options = subject.task, subject.options
    prepared = subject.preprocessing or default_preprocessing(subject.name, task, subject.backbone_options)
    if options.image_sizes:
        prepared = replace(prepared, size=options.image_sizes[-1])
    network = first_network(subject, phase.binarizer) if start is None else next_network(start, subject, phase)
    data = (*_arrays(task.train, task.classes), *_arrays(task.test, task.classes))
    job = Job(network, phase, options, prepared, *data, subject.seed, folder, key, hardware.progress)
    # What the file says besides what the training measures.
    about = (subject.name, dict(subject.backbone_options), dict(description))
    before = {} if start is None else start.accuracy

    strategy: Any = "auto"
    if several := hardware.devices * hardware.nodes > 1:
        # Several nodes are started by torchrun or SLURM. On one node this process starts the others, and they run
        # nothing but the training; Fabric's "ddp" would run the whole calling script once more in each.
        strategy = DDPStrategy(
            start_method="popen" if hardware.started_outside else "spawn",
            # What follows the tap of a QuickNet has weights that are not trained.
            find_unused_parameters=isinstance(subject.backbone, TappedNetwork),
        )
    fabric = Fabric(
        accelerator=hardware.accelerator,
        devices=hardware.devices,
        num_nodes=hardware.nodes,
        precision=hardware.precision,
        strategy=strategy,
    )
    work = partial(_train_and_save, job=job, classes=task.classes, about=about, before=before)
    with ending_children():
        fabric.launch(partial(_in_child, os.getpid(), work) if several and not hardware.started_outside else work)


def _in_child(parent: int, work: Callable[[Any], None], fabric: Any) -> None:
    """What a process for one device does: nothing that its parent does not live to see."""
    end_with_parent(parent)
    work(fabric)


def _train_and_save(
    fabric: Any,
    job: Any,
    classes: npt.NDArray[np.int64],
    about: tuple[str, Mapping[str, Any], Mapping[str, Any]],
    before: Mapping[str, float | None],
) -> None:
    from bitreplay.training._loop import train

    network, measured = train(fabric, job)
    if fabric.global_rank == 0:
        network = network.cpu()
        if not all(torch.isfinite(tensor).all() for tensor in network.state_dict().values()):
            raise InputError("the training diverged: weights are not finite in the end. Lower the learning rate")
        weight, bias = np.empty((0, 0), np.float32), np.empty(0, np.float32)
        if isinstance(network.head, nn.Linear):
            weight, bias = network.head.weight.detach().numpy(), network.head.bias.detach().numpy()
        names = {"start": "plain_then_binarized", "end": job.phase.name}
        if job.phase.binarizer == "none":
            names.pop("start")  # nothing was put in
        accuracy = {**before, **{names[when]: value for when, value in measured.items() if when in names}}
        classifier = network.head if isinstance(network.head, BinaryClassifier) else None
        TrainedNetwork(
            network.backbone,
            network.binarizer,
            weight,
            bias,
            job.preprocessing,
            classes,
            accuracy,
            job.key,
            *about,
            classifier,
        ).save(job.folder)
        remove_checkpoint(job.folder)
    fabric.barrier()


def _arrays(samples: Samples, classes: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Images, and the position of each one's class in `classes`."""
    place = {int(label): index for index, label in enumerate(classes)}
    return samples.images, np.array([place[int(label)] for label in samples.labels], dtype=np.int64)
