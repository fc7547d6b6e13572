"""The torch engine on a batch of classes and starts against the packed one: the same mixtures by another road."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bitreplay.bits import pack
from bitreplay.mixture import EMOptions, Mixture
from bitreplay.mixture._fit import BATCH_BYTES, _batches, _fit_batch
from bitreplay.mixture._packed_engine import PackedEngine
from bitreplay.mixture._run import start
from bitreplay.mixture._torch_engine import TorchEngine
from tests.mixture import naive


def classes_of_sizes(*sizes: int, d: int = 40) -> list[naive.Bits]:
    return [naive.clustered_bits(n, d, 4, seed=n, spread=0.2, noise=0.2, constant=2) for n in sizes]


def fit_both(classes: list[naive.Bits], options: EMOptions) -> list[tuple[Mixture, Mixture]]:
    engines = (
        PackedEngine([pack(bits) for bits in classes], options),
        TorchEngine([torch.from_numpy(bits) for bits in classes], options),
    )
    packed, batched = (
        _fit_batch(engine, options, [np.random.default_rng(seed) for seed in range(len(classes))]) for engine in engines
    )
    return list(zip(packed, batched, strict=True))


@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.parametrize("objective", ["likelihood", "expected"])
@pytest.mark.parametrize(("min_count", "tol"), [(0, 0.0), (0, 1e-3), (5, 1e-3)])
@pytest.mark.parametrize(("sizes", "n_init"), [((30, 150, 70), 5), ((1, 30, 3, 11), 1)])
def test_whole_fits_are_the_same(
    weights: str, objective: str, min_count: float, tol: float, sizes: tuple[int, ...], n_init: int
) -> None:
    """Few samples have one start only: several would reach the same optimum, and rounding would choose one of them."""
    options = EMOptions(8, weights=weights, objective=objective, min_count=min_count, tol=tol, n_init=n_init)
    pairs = fit_both(classes_of_sizes(*sizes), options)
    for packed, batched in pairs:
        assert packed.reseeded == batched.reseeded
        assert (packed.count, packed.n_iter, packed.converged) == (batched.count, batched.n_iter, batched.converged)
        np.testing.assert_allclose(batched.lower_bounds, packed.lower_bounds, atol=1e-4)
        np.testing.assert_allclose(batched.prototypes, packed.prototypes, atol=1e-4)
        np.testing.assert_allclose(batched.weights, packed.weights, atol=1e-5)
    if tol == 0 or min_count == 0:
        assert any(packed.converged and packed.n_iter > 0 for packed, _ in pairs) == (tol > 0)
    assert any(packed.reseeded for packed, _ in pairs) == (min_count > 0)


def test_constant_columns_are_exact() -> None:
    for _, batched in fit_both(classes_of_sizes(1, 30, 150), EMOptions(8)):
        np.testing.assert_array_equal(batched.prototypes[:, :2], 0)
        np.testing.assert_array_equal(batched.prototypes[:, 2:4], 1)


def test_runs_of_different_progress_and_size_share_a_batch() -> None:
    """Padding (samples, components, missing starts) and runs that have finished do not leak into the others."""
    classes = classes_of_sizes(9, 50, 120)
    options = EMOptions(5, min_count=0)
    engine = TorchEngine([torch.from_numpy(bits) for bits in classes], options)
    rng = np.random.default_rng(0)
    shape = [(0, 2, 0), (1, 5, 0), (1, 5, 3), (1, 3, 1), (2, 4, 2)]  # class, components, steps already made
    runs = [start(index, engine.centroid(index), k, options, rng) for index, k, _ in shape]
    expected = [naive.em(classes[run.index], run.prototypes, run.weights, 7, clamp=options.clamp) for run in runs]
    for run, (_, _, made) in zip(runs, shape, strict=True):
        engine.advance([run], made, tol=0.0, min_count=0)
    engine.advance(runs, 7, tol=0.0, min_count=0)
    for run, reference in zip(runs, expected, strict=True):
        assert run.steps == 7
        np.testing.assert_allclose(run.bounds, reference.bounds, rtol=1e-9)
        np.testing.assert_allclose(run.prototypes, reference.prototypes, atol=1e-9)
        np.testing.assert_allclose(run.weights, reference.weights, atol=1e-9)


def test_only_some_classes_of_the_engine_are_advanced() -> None:
    classes = classes_of_sizes(20, 60, 90)
    options = EMOptions(3, min_count=0)
    engine = TorchEngine([torch.from_numpy(bits) for bits in classes], options)
    run = start(2, engine.centroid(2), 3, options, np.random.default_rng(0))
    expected = naive.em(classes[2], run.prototypes, run.weights, 5, clamp=options.clamp)
    engine.advance([run], 5, tol=0.0, min_count=0)
    np.testing.assert_allclose(run.bounds, expected.bounds, rtol=1e-9)


@pytest.mark.parametrize("packed", [True, False])
def test_the_objective_after_a_degenerate_step_is_left_to_whoever_goes_on(packed: bool) -> None:
    [bits] = classes_of_sizes(30)
    options = EMOptions(8)
    engine = PackedEngine([pack(bits)], options) if packed else TorchEngine([torch.from_numpy(bits)], options)
    run = start(0, engine.centroid(0), 8, options, np.random.default_rng(0))
    expected = naive.em(bits, run.prototypes, run.weights, 1, clamp=options.clamp)
    engine.advance([run], 9, tol=0.0, min_count=29)
    assert run.steps == 1
    np.testing.assert_allclose(run.bounds, expected.bounds[:1], rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64])
def test_samples_of_any_type_are_left_alone(dtype: torch.dtype) -> None:
    [bits] = classes_of_sizes(60)
    options = EMOptions(3, min_count=0)
    samples = torch.from_numpy(bits).to(dtype)
    engine = TorchEngine([samples], options)
    run = start(0, engine.centroid(0), 3, options, np.random.default_rng(0))
    expected = naive.em(bits, run.prototypes, run.weights, 4, clamp=options.clamp)
    engine.advance([run], 4, tol=0.0, min_count=0)
    np.testing.assert_allclose(run.bounds, expected.bounds, rtol=1e-9)
    assert samples.dtype == dtype
    np.testing.assert_array_equal(samples.numpy(), bits)


@pytest.mark.parametrize(("n_classes", "n_features"), [(1, 5), (7, 12544), (40, 12544), (3, 10**7)])
def test_batches_are_as_large_as_memory_allows(n_classes: int, n_features: int) -> None:
    options = EMOptions(n_components=8, n_init=5)
    batches = list(_batches([torch.empty((1, n_features), device="meta")] * n_classes, options))
    assert [i for batch in batches for i in batch] == list(range(n_classes))
    size, nbytes = len(batches[0]), 8 * 5 * 8 * n_features  # of the starts of a class, in float64
    assert size == 1 or size * nbytes <= BATCH_BYTES
    assert size == n_classes or (size + 1) * nbytes > BATCH_BYTES
    assert all(len(batch) == size for batch in batches[:-1])
