"""Carry out a training on the devices there are, in one process or several.

In the flow **images → features → bits → head → class** it runs the training loop and writes down what comes out.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from torch import nn

from bitreplay.errors import InputError
from bitreplay.nn import BinaryClassifier
from bitreplay.training._checkpoint import remove_checkpoint
from bitreplay.training._job import Job
from bitreplay.training._trained import TrainedNetwork

__all__ = ["Frame", "Precision", "launch"]

Precision = Literal["32-true", "bf16-mixed"]


@dataclass(frozen=True)
class Frame:
    """What the network's file says beside what the training finds out."""

    backbone_name: str
    backbone_options: Mapping[str, Any]
    classes: npt.NDArray[np.int64]
    description: Mapping[str, Any]


def launch(job: Job, frame: Frame, *, accelerator: str, devices: int, nodes: int, precision: Precision) -> None:
    """Train, on one process per device; afterwards the job's folder holds the network, and no checkpoint."""
    try:
        from lightning_fabric import Fabric
    except ImportError:
        raise InputError("training needs Lightning Fabric: pip install 'bitreplay[training]'") from None
    strategy = "auto"
    if devices * nodes > 1:
        # Several nodes are started by torchrun or SLURM. On one node this process starts the others, and they run
        # nothing but the training; Fabric's "ddp" would run the whole calling script once more in each.
        started_outside = nodes > 1 or "TORCHELASTIC_RUN_ID" in os.environ or "SLURM_NTASKS" in os.environ
        strategy = "ddp" if started_outside else "ddp_spawn"
    fabric = Fabric(accelerator=accelerator, devices=devices, num_nodes=nodes, precision=precision, strategy=strategy)
    fabric.launch(partial(_train_and_save, job=job, frame=frame))


def _train_and_save(fabric: Any, job: Job, frame: Frame) -> None:
    from bitreplay.training._loop import train

    network, accuracy = train(fabric, job)
    if fabric.global_rank == 0:
        network = network.cpu()
        weight, bias = np.empty((0, 0), np.float32), np.empty(0, np.float32)
        if isinstance(network.head, nn.Linear):
            weight, bias = network.head.weight.detach().numpy(), network.head.bias.detach().numpy()
        TrainedNetwork(
            network.backbone,
            network.binarizer,
            weight,
            bias,
            job.preprocessing,
            frame.classes,
            accuracy,
            job.key,
            frame.backbone_name,
            frame.backbone_options,
            frame.description,
            network.head if isinstance(network.head, BinaryClassifier) else None,
        ).save(job.folder)
        remove_checkpoint(job.folder)
    fabric.barrier()
