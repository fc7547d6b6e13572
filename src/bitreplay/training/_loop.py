"""The training loop: one phase of task 0, from the first step to the last.

It trains the whole network. Read it from top to bottom: `train` runs the epochs, `_train_epoch` the steps of one,
`_evaluate` measures. Lightning Fabric knows the device, the precision and the other processes; every random number
comes from (seed, phase, epoch, step).
"""

from __future__ import annotations

import copy
import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from bitreplay._floor.random_state import seed_now, seeded
from bitreplay._floor.seeds import mix_seed
from bitreplay.backbones import Preprocessing
from bitreplay.errors import InputError
from bitreplay.nn import binary_layers, keep_clipped
from bitreplay.training._augmentation import PaperAugmentation, StrongAugmentation
from bitreplay.training._checkpoint import CHECKPOINT, Position, read_checkpoint, write_checkpoint
from bitreplay.training._log import TrainingLog, training_log
from bitreplay.training._network import Network, Phase
from bitreplay.training._options import TrainingOptions

EVALUATION_BATCH = 500
ORDER, AUGMENTATION, LAYERS = range(3)  # what a seed is for


@dataclass(frozen=True)
class Job:
    """Everything a phase of the training needs, in one object that can be sent to other processes."""

    network: Network
    phase: Phase
    options: TrainingOptions
    preprocessing: Preprocessing  # of the finished network
    train_images: npt.NDArray[np.uint8]  # (N, H, W, C)
    train_labels: npt.NDArray[np.int64]  # 0 to n_classes - 1
    test_images: npt.NDArray[np.uint8]
    test_labels: npt.NDArray[np.int64]
    seed: int
    folder: Path  # of checkpoint and log
    key: str  # says which training the checkpoint belongs to
    progress: bool

    @property
    def batch_size(self) -> int:
        """Images per step; all of them, if there are fewer than the options request."""
        return min(self.options.batch_size, len(self.train_images))

    @property
    def steps(self) -> int:
        """Steps per epoch; images that do not fill a batch wait for the next epoch."""
        return len(self.train_images) // self.batch_size

    def rate_at(self, epoch: float) -> float:
        """Learning rate after this many epochs of the phase."""
        phase = self.phase
        return self.options.rate_at(phase.schedule, phase.learning_rate, epoch, phase.epochs)

    def image_size(self, epoch: int) -> int | None:
        """Size of images in an epoch; None leaves them unchanged."""
        growing = self.options.image_size_at(epoch, self.phase.epochs) if self.phase.number == 0 else None
        return growing or self.preprocessing.size

    def work(self, epoch: int) -> int:
        """Cost of one step of an epoch, up to a factor: its pixels."""
        size = self.image_size(epoch)
        height, width = self.train_images.shape[1:3] if size is None else (size, size)
        return int(self.batch_size * height * width)


def train(fabric: Fabric, job: Job) -> tuple[Network, dict[str, float | None]]:
    """Train, or resume from the checkpoint in the job's folder; returns the network and its accuracies.

    Every process of a distributed training calls this; the first one measures, logs and writes checkpoints.
    """
    network = copy.deepcopy(job.network)  # weights sent to another process are still shared with the sender
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = _optimizer(network, job.options)
    model, fabric_optimizer = fabric.setup(network, optimizer)  # moves the network to the device
    images, labels, test_images, test_labels = (  # bytes on the device; only batches become floats
        torch.from_numpy(array).to(fabric.device)
        for array in (job.train_images, job.train_labels, job.test_images, job.test_labels)
    )
    position = read_checkpoint(job.folder / CHECKPOINT, job.key, network, optimizer)
    work = [job.steps * job.work(epoch) for epoch in range(job.phase.epochs)]
    is_first = fabric.global_rank == 0
    if is_first and job.phase.number and not position.epoch:  # what the thermometer costs without this phase
        position.accuracy["start"] = _evaluate(fabric, job, network, test_images, test_labels)

    tensorboard, progress = is_first, is_first and job.progress
    with training_log(job.folder, work, position.epoch, tensorboard=tensorboard, progress=progress) as log:
        if is_first and position.rows:  # a kill may have come between the checkpoint and the log
            log.write(position.rows)
        for epoch in range(position.epoch, job.phase.epochs):
            began = time.perf_counter()
            row = _train_epoch(fabric, job, model, fabric_optimizer, images, labels, epoch, log)
            row["seconds"] = round(time.perf_counter() - began, 2)
            row["images_per_second"] = round(job.steps * job.batch_size / (time.perf_counter() - began), 1)
            position = Position(epoch + 1, [*position.rows, row], dict(position.accuracy))
            if not is_first:
                continue
            row["test_accuracy"] = None
            ends = epoch + 1 == job.phase.epochs
            if ends or (epoch + 1) % job.options.evaluate_every == 0:
                row["test_accuracy"] = _evaluate(fabric, job, network, test_images, test_labels)
            if ends:
                position.accuracy["end"] = row["test_accuracy"]
            write_checkpoint(job.folder / CHECKPOINT, job.key, position, network, optimizer)
            log.write(position.rows)
    return network, position.accuracy


def _optimizer(network: Network, options: TrainingOptions) -> torch.optim.Optimizer:
    """Adam, or SGD whose weight decay applies to matrices and kernels only.

    It does not apply to biases and batch normalisation, nor to latent binary weights, of which only the sign matters;
    those are clipped after each step instead.
    """
    parameters = list(network.parameters())
    latent = {layer.weight for layer in binary_layers(network)}
    if options.optimizer == "adam":
        return keep_clipped(torch.optim.Adam(parameters, lr=0.0), network)
    decaying = [p for p in parameters if p.ndim > 1 and p not in latent]
    others = [p for p in parameters if p.ndim <= 1 or p in latent]
    groups = [{"params": decaying, "weight_decay": options.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return keep_clipped(torch.optim.SGD(groups, lr=0.0, momentum=options.momentum, nesterov=options.nesterov), network)


def _train_epoch(
    fabric: Fabric,
    job: Job,
    model: Any,
    optimizer: Any,
    images: torch.Tensor,
    labels: torch.Tensor,
    epoch: int,
    log: TrainingLog,
) -> dict[str, Any]:
    """Train one epoch; returns its row of the log."""
    options, phase = job.options, job.phase
    rank, processes = fabric.global_rank, fabric.world_size
    size, work = job.image_size(epoch), job.work(epoch)
    prepare = dataclasses.replace(job.preprocessing, size=size)
    augment = _augmentation(options, job.train_images.shape[1:])
    generator = torch.Generator().manual_seed(mix_seed(job.seed, ORDER, phase.number, epoch))
    order = torch.randperm(len(images), generator=generator).to(images.device)
    loss_sum, right, seen = torch.zeros((), device=fabric.device), torch.zeros((), device=fabric.device), 0

    model.train()
    with seeded(None, fabric.device):  # for layers that draw, such as dropout
        for step in range(job.steps):
            for group in optimizer.param_groups:
                group["lr"] = job.rate_at(epoch + step / job.steps)
            batch = order[step * job.batch_size : (step + 1) * job.batch_size]
            batch = batch[rank::processes]  # each process has its share of every batch
            pixels = prepare.to_float(images[batch])
            if augment is not None:
                pixels = augment(pixels, job.seed, AUGMENTATION, phase.number, epoch, step, rank)
            pixels = prepare.normalise(prepare.resize(pixels))
            target = labels[batch]

            seed_now(mix_seed(job.seed, LAYERS, phase.number, epoch, step, rank), fabric.device)
            scores = model(pixels)
            loss = cross_entropy(scores, target, label_smoothing=options.label_smoothing)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

            loss_sum += loss.detach() * len(target)
            right += (scores.argmax(1) == target).sum()
            seen += len(target)
            log.advance(work, f"{phase.name} {epoch + 1}/{phase.epochs}")
    if not torch.isfinite(loss_sum):
        raise InputError(
            f"the training diverged in epoch {epoch + 1} of phase {phase.name}: its loss is {loss_sum.item()}. "
            f"Lower the learning rate, which is {job.rate_at(epoch):g} there"
        )
    return {
        "phase": phase.name,
        "epoch": epoch + 1,
        "image_size": job.train_images.shape[1] if size is None else size,
        "learning_rate": job.rate_at(epoch),
        "loss": round(loss_sum.item() / seen, 5),
        "train_accuracy": round(right.item() / seen, 5),
    }


def _evaluate(fabric: Fabric, job: Job, network: Network, images: torch.Tensor, labels: torch.Tensor) -> float | None:
    """Accuracy; None without test images."""
    if not len(images):
        return None
    network.eval()
    right = 0
    with torch.inference_mode(), fabric.autocast():
        for begin in range(0, len(images), EVALUATION_BATCH):
            scores = network(job.preprocessing(images[begin : begin + EVALUATION_BATCH]))
            right += int((scores.argmax(1) == labels[begin : begin + EVALUATION_BATCH]).sum())
    network.train()
    return right / len(images)


def _augmentation(options: TrainingOptions, image_shape: tuple[int, ...]) -> Any:
    height, width, channels = image_shape
    if options.augmentation == "paper":
        return PaperAugmentation((height, width))
    if options.augmentation == "strong":
        return StrongAugmentation(channels)
    return None
