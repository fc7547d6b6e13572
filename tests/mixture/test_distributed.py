"""EM over several processes: each holds a part of the samples, and all find the mixtures of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import distributed, multiprocessing

from bitreplay.errors import InputError
from bitreplay.mixture import EMOptions, fit_mixtures

OPTIONS = EMOptions(n_components=4, n_init=2, max_iter=6, tol=0)


def classes() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    made = []
    for n in (90, 31, 7):  # the last is left with one component: the mean
        prototypes = rng.beta(0.4, 0.4, size=(4, 40))
        made.append((rng.random((n, 40)) < prototypes[rng.integers(4, size=n)]).astype(np.uint8))
    return made


def _fit_part(rank: int, world: int, folder: str) -> None:
    torch.set_num_threads(1)
    store = distributed.FileStore(f"{folder}/store", world)
    distributed.init_process_group("gloo", store=store, rank=rank, world_size=world)
    # Unequal parts: process 0 has nothing of the last class.
    parts = [bits[1::2] if rank else bits[::2] for bits in classes()]
    parts[2] = classes()[2] if rank else classes()[2][:0]
    mixtures = fit_mixtures(parts, OPTIONS, group=distributed.group.WORLD)
    np.savez(
        f"{folder}/{rank}.npz",
        **{f"prototypes{i}": m.prototypes for i, m in enumerate(mixtures)},
        **{f"weights{i}": m.weights for i, m in enumerate(mixtures)},
        **{f"bounds{i}": m.lower_bounds for i, m in enumerate(mixtures)},
        counts=np.array([m.count for m in mixtures]),
    )
    distributed.destroy_process_group()


@pytest.mark.skipif(not distributed.is_available(), reason="this torch has no torch.distributed")
def test_two_processes_find_the_mixtures_of_all_samples(tmp_path: Path) -> None:
    multiprocessing.spawn(_fit_part, (2, str(tmp_path)), nprocs=2)
    expected = fit_mixtures(classes(), OPTIONS)
    for rank in range(2):
        found = np.load(tmp_path / f"{rank}.npz")
        np.testing.assert_array_equal(found["counts"], [len(bits) for bits in classes()])
        for i, mixture in enumerate(expected):
            np.testing.assert_allclose(found[f"prototypes{i}"], mixture.prototypes, atol=1e-6)
            np.testing.assert_allclose(found[f"weights{i}"], mixture.weights, atol=1e-6)
            np.testing.assert_allclose(found[f"bounds{i}"], mixture.lower_bounds, atol=1e-6)


def test_a_class_without_samples_in_any_process_is_refused(tmp_path: Path) -> None:
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        with pytest.raises(InputError, match="class 0 of 2 has no samples in any process"):
            fit_mixtures([np.empty((0, 8)), np.ones((9, 8))], OPTIONS, group=distributed.group.WORLD)
    finally:
        distributed.destroy_process_group()
