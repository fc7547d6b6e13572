"""The training loop: task 0, from the first step to the last.

In the flow **images → features → bits → head → class** it trains the whole line. Read it from top to bottom: `train`
runs the epochs of all phases, `_train_epoch` the steps of one, `_evaluate` measures. Lightning Fabric knows the device,
the precision and the other processes; every random number comes from (seed, phase, epoch, step).
"""

from __future__ import annotations

import copy
import dataclasses
import time
from typing import Any

import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from bitreplay.data._augmentation import PaperAugmentation, StrongAugmentation, mix_seed
from bitreplay.nn import binary_layers, keep_clipped
from bitreplay.training._checkpoint import Position, read_checkpoint, write_checkpoint
from bitreplay.training._job import Job
from bitreplay.training._log import TrainingLog, training_log
from bitreplay.training._network import Network
from bitreplay.training._options import TrainingOptions

__all__ = ["train"]

EVALUATION_BATCH = 500
ORDER, AUGMENTATION, LAYERS = range(3)  # what a seed is for


def train(fabric: Fabric, job: Job) -> tuple[Network, dict[str, float | None]]:
    """Train, or go on from the checkpoint in the job's folder; returns the network and its accuracies.

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
    position = read_checkpoint(job.folder, job.key, network, optimizer)
    plan = [(phase, epoch) for phase in range(len(job.phases)) for epoch in range(job.phases[phase].epochs)]
    work = [job.steps * job.work(phase, epoch) for phase, epoch in plan]
    done = plan.index((position.phase, position.epoch)) if (position.phase, position.epoch) in plan else len(plan)

    is_first = fabric.global_rank == 0
    tensorboard, progress = is_first, is_first and job.progress
    with training_log(job.folder, work, done, tensorboard=tensorboard, progress=progress) as log:
        for phase_index, epoch in plan[done:]:
            phase = job.phases[phase_index]
            network.binarize = phase.binarize
            if epoch == 0:
                optimizer.state.clear()  # a phase begins without the momentum of the one before
            began = time.perf_counter()
            row = _train_epoch(fabric, job, model, fabric_optimizer, images, labels, phase_index, epoch, log)
            row["seconds"] = round(time.perf_counter() - began, 2)
            row["images_per_second"] = round(job.steps * job.batch_size / (time.perf_counter() - began), 1)

            ends = epoch + 1 == phase.epochs
            following = (phase_index + 1, 0) if ends else (phase_index, epoch + 1)
            position = Position(*following, [*position.rows, row], dict(position.accuracy))
            if not is_first:
                continue
            row["test_accuracy"] = None
            if ends or (epoch + 1) % job.options.evaluate_every == 0:
                row["test_accuracy"] = _evaluate(fabric, job, network, test_images, test_labels)
            if ends:
                position.accuracy[phase.name] = row["test_accuracy"]
                if network.binarizer is not None and not phase.binarize:  # what the thermometer costs without phase 2
                    network.binarize = True
                    accuracy = _evaluate(fabric, job, network, test_images, test_labels)
                    position.accuracy[f"{phase.name}_then_binarized"] = accuracy
            write_checkpoint(job.folder, job.key, position, network, optimizer)
            log.write(position.rows)
    return network, position.accuracy


def _optimizer(network: Network, options: TrainingOptions) -> torch.optim.Optimizer:
    """Adam, or SGD whose weight decay pulls on matrices and kernels only.

    It does not pull on biases and batch normalisation, nor on latent binary weights, of which only the sign counts;
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
    phase_index: int,
    epoch: int,
    log: TrainingLog,
) -> dict[str, Any]:
    """Train one epoch; returns its row of the log."""
    options, phase = job.options, job.phases[phase_index]
    rank, processes = fabric.global_rank, fabric.world_size
    size, work = job.image_size(phase_index, epoch), job.work(phase_index, epoch)
    prepare = dataclasses.replace(job.preprocessing, size=size)
    augment = _augmentation(options, job.train_images.shape[1:])
    generator = torch.Generator().manual_seed(mix_seed(job.seed, ORDER, phase_index, epoch))
    order = torch.randperm(len(images), generator=generator).to(images.device)
    loss_sum, right, seen = torch.zeros((), device=fabric.device), torch.zeros((), device=fabric.device), 0

    model.train()
    with _forked_random_state(fabric.device):  # for layers that draw, such as dropout
        for step in range(job.steps):
            learning_rate = options.learning_rate_at(phase.learning_rate, epoch + step / job.steps, phase.epochs)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate
            batch = order[step * job.batch_size : (step + 1) * job.batch_size]
            batch = batch[rank::processes]  # each process has its share of every batch
            pixels = prepare.to_float(images[batch])
            if augment is not None:
                pixels = augment(pixels, job.seed, AUGMENTATION, phase_index, epoch, step, rank)
            pixels = prepare.normalise(prepare.resize(pixels))
            target = labels[batch]

            torch.manual_seed(mix_seed(job.seed, LAYERS, phase_index, epoch, step, rank))
            scores = model(pixels)
            loss = cross_entropy(scores, target, label_smoothing=options.label_smoothing)
            fabric.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

            loss_sum += loss.detach() * len(target)
            right += (scores.argmax(1) == target).sum()
            seen += len(target)
            log.advance(work, f"{phase.name} {epoch + 1}/{phase.epochs}")
    return {
        "phase": phase.name,
        "epoch": epoch + 1,
        "image_size": job.train_images.shape[1] if size is None else size,
        "learning_rate": options.learning_rate_at(phase.learning_rate, epoch, phase.epochs),
        "loss": round(loss_sum.item() / seen, 5),
        "train_accuracy": round(right.item() / seen, 5),
    }


def _evaluate(fabric: Fabric, job: Job, network: Network, images: torch.Tensor, labels: torch.Tensor) -> float | None:
    """Share of right answers; None without test images."""
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


def _forked_random_state(device: torch.device) -> Any:
    """A context whose random numbers leave the global random state as it was."""
    if device.type == "cpu":
        return torch.random.fork_rng(devices=[])
    return torch.random.fork_rng(devices=[device], device_type=device.type)
