"""Tiny tasks and options that train in a second."""

import numpy as np

from bitreplay.data import Task, from_arrays, make_scenario
from bitreplay.training import TrainingOptions

TINY = TrainingOptions(
    epochs=3,
    ste_epochs=2,
    batch_size=16,
    learning_rate=0.1,
    ste_learning_rate=0.05,
    nesterov=True,
    schedule="one_cycle",
    ste_schedule="one_cycle",
    augmentation="paper",
    image_sizes=(6, 8),
)
ARGUMENTS = {"backbone": "small_cnn", "backbone_options": {"width": 4}, "options": TINY, "accelerator": "cpu"}


def tiny_task(*, n: int = 96, classes: int = 3, size: int = 8, channels: int = 1) -> Task:
    """Images with a bright stripe whose place tells the class; classes arrive in the order 2, 1, 0."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(n) % classes
        images = rng.integers(0, 120, (n, size, size, channels), dtype=np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[size // 2 * (label % 2) :: classes] += np.uint8(60 + 60 * (label // 2))
        return images, labels

    dataset = from_arrays(*draw(n), *draw(n // 2), name="stripes")
    return make_scenario(dataset, sizes=[classes], order=list(range(classes))[::-1])[0]
