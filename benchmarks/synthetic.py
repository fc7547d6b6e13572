"""Random bits for timings, with clusters like those of real embeddings; how fast anything is hardly depends on them."""

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint8]


def clustered_bits(n: int, d: int, clusters: int = 8, seed: int = 0) -> Bits:
    """A class of `n` samples of `d` bits in clusters around one centroid."""
    rng = np.random.default_rng(seed)
    centroid = rng.uniform(0.1, 0.9, d)
    prototypes = np.clip(centroid + 0.2 * rng.standard_normal((clusters, d)), 0.03, 0.97).astype(np.float32)
    bits = np.empty((n, d), dtype=np.uint8)
    for row, cluster in enumerate(rng.integers(clusters, size=n)):  # row by row: no large matrix of random numbers
        bits[row] = rng.random(d, dtype=np.float32) < prototypes[cluster]
    return bits


def classes_of_bits(classes: int, n: int, d: int, first: int = 0) -> dict[int, Bits]:
    """Several classes, each with bits of its own."""
    return {label: clustered_bits(n, d, seed=label) for label in range(first, first + classes)}
