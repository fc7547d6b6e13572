"""Names of classes: what a person may call one. They are shown and stored, and never become a path or markup."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from bitreplay.errors import InputError

LONGEST = 255  # ours: what a folder can be called, on most systems


def check_names(labels: Any, n_images: int) -> Any:
    """Labels, one per image; a single text stands for all of `n_images`, where that number is known.

    Examples
    --------
    >>> check_names("mug", 3)
    ['mug', 'mug', 'mug']
    >>> check_names(["mug", ""], 2)
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: a class must have a name; got ''
    """
    if isinstance(labels, str):
        if not n_images:
            raise InputError("one label for all images needs a list of images: their number must be known")
        labels = [labels] * n_images
    elif not isinstance(labels, np.ndarray | torch.Tensor):
        labels = list(labels)
    if n_images and len(labels) != n_images:
        raise InputError(f"one label per image is expected; got {len(labels)} labels for {n_images} images")
    if not len(labels):
        raise InputError("there are no images; expected at least one")
    for name in {label for label in labels if isinstance(label, str)} if not isinstance(labels, torch.Tensor) else ():
        if not name.strip():
            raise InputError(f"a class must have a name; got {name!r}")
        if len(name) > LONGEST:
            raise InputError(f"a class's name has at most {LONGEST} characters; {name[:20]!r}... has {len(name)}")
    return labels
