"""Kernels that are linked to the parts they call, the views they work on, and the memory they are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitreplay._kernels import em
from bitreplay.bits import pack
from bitreplay.mixture import EMOptions, fit_mixtures
from tests.kernels.alone import run_alone

KERNELS = """
import numpy as np
from bitreplay._kernels.compiling import kernel, linked, part
from bitreplay._kernels.lanes import add, line, load, rows, store

@part("float64(float64[::1], float64)", "float32(float32[::1], float64)")
def weighted_sum(numbers, weight):
    total = numbers[0] * 0
    for i in range(len(numbers)):
        total += numbers[i] * weight
    return total

@kernel("float64(float64[:,::1], float32[::1])")
def both(numbers, others):
    return weighted_sum(line(numbers, 2, 3), 2) + weighted_sum(others, 10)  # 2 becomes 2.0

_both = linked(both)

@kernel("float64(float64[:,:,::1], float32[::1])")
def of_rows(numbers, others):
    chosen = rows(numbers, 3, 2)
    store(chosen, 0, add(load(chosen, 0), load(chosen, 1)))
    return _both(chosen, others)

numbers = np.arange(48.0).reshape(2, 3, 8)
print(of_rows(numbers, np.ones(4, dtype=np.float32)), numbers[1, 0].tolist())
"""


def test_linked_kernels_give_the_same_when_compiled_and_when_loaded(tmp_path: Path) -> None:
    (tmp_path / "some_kernels.py").write_text(KERNELS)
    said = [run_alone("import some_kernels", tmp_path).stdout for _ in range(2)]
    row = np.arange(24.0, 32) + np.arange(32.0, 40)
    assert said[0] == f"{2 * row[2:5].sum() + 40} {row.tolist()}\n"
    assert said[1] == said[0]


@pytest.mark.parametrize(("n", "features", "k", "noise"), [(1, 1, 1, 0.3), (50, 65, 3, 0.4), (97, 48, 17, 0.45)])
def test_em_stays_within_the_memory_it_is_given(
    n: int, features: int, k: int, noise: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies behind each array of the working memory is as it was."""
    given: list[tuple[Any, int]] = []
    whole = em.working_memory

    def guarded(*shape: int) -> list[Any]:
        parts = []
        for part in whole(*shape):
            larger = np.full((len(part) + 64, *part.shape[1:]), 77, dtype=part.dtype)
            given.append((larger, len(part)))
            parts.append(larger[: len(part)])
        return parts

    rng = np.random.default_rng(n)
    bits = pack(rng.random((n, features)) < noise)
    options = EMOptions(n_components=k, min_count=0.0, max_iter=20, tol=0.0)
    [alone] = fit_mixtures([bits], options, generators=[np.random.default_rng(0)])
    monkeypatch.setattr(em, "working_memory", guarded)
    [mixture] = fit_mixtures([bits], options, generators=[np.random.default_rng(0)])
    np.testing.assert_array_equal(mixture.prototypes, alone.prototypes)
    assert k == 1 or given
    for larger, used in given:
        assert (larger[used:] == 77).all()
