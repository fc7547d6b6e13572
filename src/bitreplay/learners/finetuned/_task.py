"""A task's samples as needed for training, with the index of each class in the network; or an error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bitreplay.data import Task
from bitreplay.errors import InputError


def numbered_samples(
    task: Task, name: str, known: npt.NDArray[np.int64], image_shape: tuple[int, ...]
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Images, and the position of each one's class in the learning order.

    Parameters
    ----------
    task : Task
        What is to be learned.
    name : str
        Name of the method, for messages.
    known : ndarray of int64
        Classes learned so far.
    image_shape : tuple of int
        Shape of the images learned from so far; empty before the first task.
    """
    images, labels = task.train.images, task.train.labels
    if not len(images):
        raise InputError(f"task {task.id} has no training images")
    if image_shape and images.shape[1:] != image_shape:
        raise InputError(f"{name} learned from images of shape {image_shape}; got {images.shape[1:]}")
    again = np.intersect1d(task.classes, known)
    if len(again):
        raise InputError(f"classes {again[:10].tolist()} were already learned: every class comes in one task")
    if not np.array_equal(np.unique(labels), np.unique(task.classes)):
        raise InputError(f"task {task.id} needs training images of each of its classes, and of no others")
    place = {int(label): len(known) + i for i, label in enumerate(task.classes)}
    return images, np.array([place[int(label)] for label in labels], dtype=np.int64)
