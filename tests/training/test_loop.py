"""The training loop against stochastic gradient descent written down with NumPy."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from bitreplay._floor.seeds import mix_seed
from bitreplay.backbones import Preprocessing
from bitreplay.training import TrainingOptions, train_base
from bitreplay.training._loop import ORDER
from bitreplay.training._network import build_network
from bitreplay.training._subject import HEAD_WEIGHTS
from tests.training.problems import tiny_task

pytest.importorskip("lightning_fabric", reason="Lightning Fabric is not installed")

SEED, BATCH, EPOCHS, WARMUP, SMOOTHING, DECAY, MOMENTUM = 3, 16, 2, 0.25, 0.1, 0.01, 0.9
RATES = (0.1, 0.05)  # of the two phases


def naive_training(images, targets, weight, bias, head, head_bias):
    """Two phases of a linear F and a linear G; in the second, two thermometer bits and an identity gradient."""
    parameters = [weight, bias, head, head_bias]
    for phase, highest in enumerate(RATES):
        velocities = [np.zeros_like(parameter) for parameter in parameters]
        for epoch in range(EPOCHS):
            generator = torch.Generator().manual_seed(mix_seed(SEED, ORDER, phase, epoch))
            order = torch.randperm(len(images), generator=generator).numpy()
            steps = len(images) // BATCH  # what does not fill a batch waits
            for step in range(steps):
                done = (epoch + step / steps) / EPOCHS
                falling = (1 + math.cos(math.pi * (done - WARMUP) / (1 - WARMUP))) / 2
                rate = highest * (done / WARMUP if done < WARMUP else falling)
                rows = order[step * BATCH : (step + 1) * BATCH]
                weight, bias, head, head_bias = parameters
                features = images[rows] @ weight.T + bias
                seen = np.floor(features.clip(0, 1) * 2) / 2 if phase else features
                exponentials = np.exp(seen @ head.T + head_bias)
                wanted = (1 - SMOOTHING) * np.eye(3)[targets[rows]] + SMOOTHING / 3
                errors = (exponentials / exponentials.sum(1, keepdims=True) - wanted) / BATCH
                back = errors @ head
                gradients = [back.T @ images[rows], back.sum(0), errors.T @ seen, errors.sum(0)]
                for i, gradient in enumerate(gradients):
                    decay = DECAY if gradient.ndim > 1 else 0.0  # not of biases
                    velocities[i] = MOMENTUM * velocities[i] + gradient + decay * parameters[i]
                    parameters[i] = parameters[i] - rate * velocities[i]
    return parameters


def test_the_weights_are_those_of_the_formulas(tmp_path):
    task = tiny_task(n=40)
    own = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
    for parameter in own.parameters():
        nn.init.normal_(parameter, std=0.3, generator=torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(mix_seed(SEED, HEAD_WEIGHTS))
    initial = build_network(own, 6, 3, "thermometer", p=2, f=1, generator=generator)
    pixels = (task.train.images.reshape(40, 64) / 255 - 0.4) / 0.3
    targets = np.array([task.classes.tolist().index(label) for label in task.train.labels])
    start = [parameter.detach().double().numpy() for parameter in initial.parameters()]
    expected = naive_training(pixels, targets, *start)

    options = TrainingOptions(
        epochs=EPOCHS,
        ste_epochs=EPOCHS,
        batch_size=BATCH,
        learning_rate=RATES[0],
        ste_learning_rate=RATES[1],
        momentum=MOMENTUM,
        weight_decay=DECAY,
        schedule="one_cycle",
        ste_schedule="one_cycle",
        warmup=WARMUP,
        augmentation="none",
        label_smoothing=SMOOTHING,
    )
    trained = train_base(
        task,
        own,
        options,
        p=2,
        seed=SEED,
        preprocessing=Preprocessing((0.4,), (0.3,)),
        folder=tmp_path,
        accelerator="cpu",
        progress=False,
    )
    linear = trained.backbone[1]
    found = [linear.weight.numpy(), linear.bias.numpy(), trained.head_weight, trained.head_bias]
    for ours, theirs, before in zip(found, expected, start, strict=True):
        assert np.abs(theirs - before).max() > 0.01  # it has moved
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
