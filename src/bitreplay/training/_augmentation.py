"""Augmentation: random variants of training images, made batch by batch on the device that trains.

It is applied to stored images before a backbone in training; never to test images. kornia does the work.
kornia takes no generator, so every call runs in its own random state, seeded by the caller: the same seed gives the
same variants, regardless of earlier draws, and the global random state is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from bitreplay._floor.random_state import seeded
from bitreplay._floor.seeds import mix_seed
from bitreplay.errors import InputError

TRANSLATION = 4  # sec. 4.1: "4-pixel translations"


class _Augmentation:
    """kornia's random operations, one after another, each with its own draw for every image."""

    def __init__(self, operations: Sequence[Any]) -> None:
        self._operations = operations

    def __call__(self, images: torch.Tensor, *seed: int) -> torch.Tensor:
        """Variants of images (N, C, H, W) in [0, 1], of the same shape; `seed` is any list of integers."""
        with seeded(mix_seed(*seed), images.device):
            for operation in self._operations:
                images = operation(images)
        return images.contiguous(memory_format=torch.channels_last)


class PaperAugmentation(_Augmentation):
    """The paper's augmentation: horizontal flips, translations by up to 4 pixels and random contrast (sec. 4.1).

    Parameters
    ----------
    image_size : tuple of int
        Height and width of the images.
    contrast : float
        Contrast is multiplied by a factor between ``1 - contrast`` and ``1 + contrast``.

    Examples
    --------
    >>> augment = PaperAugmentation()
    >>> images = torch.rand(2, 3, 32, 32)
    >>> bool((augment(images, 0) == augment(images, 0)).all()), bool((augment(images, 0) == augment(images, 1)).all())
    (True, False)
    """

    def __init__(
        self,
        image_size: tuple[int, int] = (32, 32),  # CIFAR-100
        contrast: float = 0.5,  # ours: the paper does not say how much
    ) -> None:
        kornia = _kornia()
        super().__init__(
            [
                kornia.RandomHorizontalFlip(p=0.5),
                kornia.RandomCrop(image_size, padding=TRANSLATION),  # what comes in at the border is black
                # kornia's RandomContrast multiplies pixels, which is brightness; its ColorJitter keeps the mean.
                kornia.ColorJitter(0.0, contrast, 0.0, 0.0, p=1.0),
            ]
        )


class StrongAugmentation(_Augmentation):
    """More variety, which raises the accuracy of every method on a frozen backbone.

    Flips, rotation, scaling and translation in one resampling, then brightness, contrast and saturation, and a grey
    square that hides a part of half of the images (DeVries & Taylor 2017).

    Parameters
    ----------
    channels : int
        Channels of the images; grey ones have no saturation.
    """

    def __init__(self, channels: int = 3) -> None:
        kornia = _kornia()
        saturation = 0.4 if channels == 3 else 0.0
        super().__init__(  # ours: every strength below is a moderate one, for trainings of tens of epochs
            [
                kornia.RandomHorizontalFlip(p=0.5),
                kornia.RandomAffine(
                    degrees=12.0, translate=(0.125, 0.125), scale=(0.85, 1.2), p=1.0, padding_mode="reflection"
                ),
                kornia.ColorJitter(0.2, 0.4, saturation, 0.0, p=1.0),
                kornia.RandomErasing(scale=(0.03, 0.1), ratio=(1.0, 1.0), value=0.5, p=0.5),
            ]
        )


def _kornia() -> Any:
    try:
        import kornia.augmentation
    except ImportError:
        raise InputError("augmentation needs kornia: pip install 'bitreplay[training]'") from None
    return kornia.augmentation
