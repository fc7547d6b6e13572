"""Handwritten digits, 8 x 8 pixels, from scikit-learn: small, and available without a download."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_digits

from bitreplay.data._dataset import ImageDataset, from_arrays
from bitreplay.data._split import split_by_seed


def digits(test_fraction: float, seed: int) -> ImageDataset:
    """1797 grey images of ten digits; a share of each class, chosen by `seed`, becomes the test split."""
    raw = load_digits()
    images = np.round(raw.images * (255 / 16)).astype(np.uint8)  # scikit-learn's pixels go from 0 to 16
    labels = raw.target.astype(np.int64)
    names = [str(name) for name in raw.target_names]
    train, test = split_by_seed(labels, names, test_fraction, seed)
    dataset = from_arrays(images[train], labels[train], images[test], labels[test], names, "digits")
    return replace(dataset, source="scikit-learn")
