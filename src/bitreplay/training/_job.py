"""One training: what is trained, on what, and how.

In the flow **images → features → bits → head → class** it is the order that the training loop carries out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bitreplay.backbones import Preprocessing
from bitreplay.training._network import Network, Phase
from bitreplay.training._options import TrainingOptions

__all__ = ["Job"]


@dataclass(frozen=True)
class Job:
    """All that the training of one network needs, in one piece that can be sent to other processes."""

    network: Network
    phases: tuple[Phase, ...]
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
        """Images per step; all there are, if they are fewer than the options ask for."""
        return min(self.options.batch_size, len(self.train_images))

    @property
    def steps(self) -> int:
        """Steps per epoch; images that do not fill a batch wait for the next epoch's order."""
        return len(self.train_images) // self.batch_size

    def image_size(self, phase: int, epoch: int) -> int | None:
        """Size that images have in an epoch; None leaves them as they are."""
        return (self.options.image_size_at(epoch) if phase == 0 else None) or self.preprocessing.size

    def work(self, phase: int, epoch: int) -> int:
        """What one step of an epoch costs, up to a factor: its pixels."""
        size = self.image_size(phase, epoch)
        height, width = self.train_images.shape[1:3] if size is None else (size, size)
        return int(self.batch_size * height * width)
