"""How long the trainings that are missing will take on this machine, from a few steps of each kind.

A network takes hours on two cores, and everybody wants to know before it begins. A few steps at every image size and in
every phase are run, in a folder that is then removed, and multiplied.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from bitreplay.data import Task
from bitreplay.runs._setting import Setting
from bitreplay.training import Phase, TrainingOptions, train_base, untrained_phases

STEPS = 2  # ours: the full network's take seconds each; half of the first is for setting up
Steps = dict[tuple[str, int], float]  # seconds of one, by phase and size of images


def untrained_seconds(settings: Iterable[Setting]) -> list[float]:
    """Seconds of every training that the settings need and that is not in the cache, one for each phase.

    Settings that share a phase, such as networks with different thermometers, share its time. Settings whose encoder is
    not trained need none.

    Examples
    --------
    >>> untrained_seconds([Setting("cifar100", encoder="efficientnet_lite0")])
    []
    """
    missing: dict[str, tuple[Setting, Phase, Task]] = {}
    for setting in settings:
        if setting.trains:
            task = setting.scenario()[0]
            phases = untrained_phases(task, setting.encoder_name, setting.training_options, **setting.how_trained())
            missing |= {key: (setting, phase, task) for key, phase in phases.items()}
    found: list[float] = []
    tried: list[tuple[Setting, Steps]] = []
    for setting, phase, task in missing.values():
        alike = replace(setting, p=1, tasks=None, sizes=None)  # what does not change the time of a step
        steps = next((steps for other, steps in tried if other == alike), None)
        if steps is None:
            steps = _timed_steps(setting, task)
            tried.append((alike, steps))
        found.append(_phase_seconds(phase, setting.training_options, len(task.train), steps))
    return found


def _timed_steps(setting: Setting, task: Task) -> Steps:
    """Seconds of a step in every phase and at every size of images, from a training of a few steps."""
    options = setting.training_options
    few = min(len(task.train), STEPS * options.batch_size)
    sizes = list(dict.fromkeys(options.image_sizes))
    brief = options.changed({"epochs": max(1, len(sizes)), "ste_epochs": 1, "image_sizes": sizes})
    small = replace(task, train=task.train.subset(slice(few)), test=task.test.subset(slice(1)))
    with tempfile.TemporaryDirectory() as folder:
        where: dict[str, Any] = {"folder": folder, "accelerator": setting.accelerator, "progress": False}
        train_base(small, setting.encoder_name, brief, **setting.how_trained(), **where)
        logs = [path.read_text(encoding="utf-8") for path in Path(folder).rglob("log.csv")]
    rows = [row for log in logs for row in csv.DictReader(log.splitlines())]
    steps = max(1, few // options.batch_size)
    return {(row["phase"], int(row["image_size"])): float(row["seconds"]) / steps for row in rows}


def _phase_seconds(phase: Phase, options: TrainingOptions, n_images: int, steps: Steps) -> float:
    """Seconds of a whole phase."""
    own = {size: seconds for (name, size), seconds in steps.items() if name == phase.name}
    largest = own[max(own)]  # later phases use the last size
    per_epoch = max(1, n_images // options.batch_size)
    total = 0.0
    for epoch in range(phase.epochs):
        size = options.image_size_at(epoch, phase.epochs) if phase.number == 0 else None
        total += per_epoch * own.get(size or max(own), largest)
    return total
