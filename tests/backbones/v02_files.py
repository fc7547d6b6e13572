"""A small file of QuickNet v0.2's weights, and the network in NumPy, operation by operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[Any]]

BLOCKS = (2, 2, 3, 3)


def arrays(width: int = 8, n_classes: int = 5, seed: int = 0) -> Arrays:
    """Random weights by the names in the file."""
    rng = np.random.default_rng(seed)
    narrow, made = width // 8, {}

    def normal(*shape: int) -> npt.NDArray[np.float32]:
        return rng.normal(0, 1, shape).astype(np.float32)

    def convolution(channels: int) -> None:
        name = f"bconv{sum(key.endswith('.mult') for key in made):02d}"
        made[f"{name}.kernel"] = rng.choice(np.array([-1, 1], np.int8), (channels, 3, 3, channels))
        made[f"{name}.mult"], made[f"{name}.bias"] = normal(channels) / channels, normal(channels)

    made |= {"stem_conv.kernel": normal(narrow, 3, 3, 3), "stem_conv.bias": normal(narrow)}
    made |= {"stem_dwconv.kernel": normal(1, 3, 3, width), "stem_dwconv.bias": normal(width)}
    made |= {"bn00.scale": normal(width), "bn00.shift": normal(width)}
    for section, count in enumerate(BLOCKS):
        channels = width * 2**section
        if section:
            made |= {f"bn{section:02d}.scale": normal(channels // 2), f"bn{section:02d}.shift": normal(channels // 2)}
            convolution(channels // 2)
        for _ in range(count):
            convolution(channels)
    made |= {"dense.kernel": normal(n_classes, 8 * width), "dense.bias": normal(n_classes)}
    return made


def write(path: Path, content: Arrays) -> Path:
    with path.open("wb") as file:
        np.savez(file, **content)  # type: ignore[arg-type]
    return path


def windows(maps: npt.NDArray[Any], stride: int, value: float) -> npt.NDArray[Any]:
    """The 3x3 neighbourhoods (N, H, W, C, 3, 3) of maps (N, H, W, C), padded as TensorFlow does: more at the end."""
    size = maps.shape[1]
    total = max((-(-size // stride) - 1) * stride + 3 - size, 0)
    pad = (total // 2, total - total // 2)
    padded = np.pad(maps, ((0, 0), pad, pad, (0, 0)), constant_values=value)
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))[:, ::stride, ::stride]


def naive(images: npt.NDArray[np.float32], of: Arrays) -> tuple[npt.NDArray[Any], list[npt.NDArray[Any]]]:
    """Scores of images (N, H, W, 3), and the signs (N, H, W, C) that each binary convolution sees."""
    p = {name: array.astype(np.float64) for name, array in of.items()}
    seen: list[npt.NDArray[Any]] = []

    def binary(maps: npt.NDArray[Any], stride: int = 1) -> npt.NDArray[Any]:
        name = f"bconv{len(seen):02d}"
        seen.append(np.where(maps < 0, -1.0, 1.0))
        sums = np.einsum("nhwcij,oijc->nhwo", windows(seen[-1], stride, 1.0), p[f"{name}.kernel"])
        return np.asarray(np.maximum(sums, 0) * p[f"{name}.mult"] + p[f"{name}.bias"])

    maps = np.einsum("nhwcij,oijc->nhwo", windows(images, 2, 0.0), p["stem_conv.kernel"]) + p["stem_conv.bias"]
    every = np.repeat(windows(maps, 2, 0.0), 8, axis=3)  # eight outputs of every channel
    maps = np.einsum("nhwcij,ijc->nhwc", every, p["stem_dwconv.kernel"][0]) + p["stem_dwconv.bias"]
    maps = np.maximum(maps, 0) * p["bn00.scale"] + p["bn00.shift"]
    for section, count in enumerate(BLOCKS):
        if section:
            n, side, _, channels = maps.shape
            pooled = maps.reshape(n, side // 2, 2, side // 2, 2, channels).max((2, 4))
            pooled = pooled * p[f"bn{section:02d}.scale"] + p[f"bn{section:02d}.shift"]
            maps = np.concatenate([pooled, pooled + binary(maps, 2)], axis=3)
        for _ in range(count):
            maps = maps + binary(maps)
    return np.maximum(maps, 0).mean((1, 2)) @ p["dense.kernel"].T + p["dense.bias"], seen
