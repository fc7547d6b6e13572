"""Both engines against naive EM in float64, from the same start: step by step the same objective and parameters."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from bitreplay.bits import pack
from bitreplay.mixture import EMOptions
from bitreplay.mixture._packed_engine import PackedEngine
from bitreplay.mixture._run import Run, start
from bitreplay.mixture._torch_engine import TorchEngine
from tests.mixture import naive

ENGINES = ["packed", "torch"]


def make_engine(kind: str, classes: list[naive.Bits], options: EMOptions) -> PackedEngine | TorchEngine:
    if kind == "packed":
        return PackedEngine([pack(bits) for bits in classes], options)
    return TorchEngine([torch.from_numpy(bits) for bits in classes], options)


def compare(bits: naive.Bits, steps: int, kinds: Sequence[str] = ENGINES, **settings: Any) -> dict[str, Run]:
    """Run the engines and the naive EM from one start; assert 1e-4 nats per sample after every step."""
    options = EMOptions(**{"min_count": 0, **settings})
    first = start(0, bits.mean(axis=0), options.n_components, options, np.random.default_rng(0))
    expected = naive.em(
        bits,
        first.prototypes,
        first.weights,
        steps,
        clamp=options.clamp,
        objective=options.objective,
        learn_weights=options.weights == "learned",
    )
    runs = {}
    for kind in kinds:
        run = runs[kind] = copy.deepcopy(first)
        make_engine(kind, [bits], options).advance([run], steps, tol=0.0, min_count=0)
        assert run.steps == steps
        assert not run.converged
        np.testing.assert_allclose(run.bounds, expected.bounds, rtol=0, atol=1e-4, err_msg=kind)
        np.testing.assert_allclose(run.prototypes, expected.prototypes, rtol=0, atol=1e-4, err_msg=kind)
        np.testing.assert_allclose(run.weights, expected.weights, rtol=0, atol=1e-5, err_msg=kind)
        np.testing.assert_allclose(run.counts, expected.counts, rtol=1e-4, err_msg=kind)
    return runs


@pytest.mark.parametrize("constant", [0, 40])
@pytest.mark.parametrize("spread", [0.05, 0.3])
@pytest.mark.parametrize(("n", "d"), [(500, 512), (500, 2048)])
def test_thirteen_steps_equal_the_naive_ones(n: int, d: int, spread: float, constant: int) -> None:
    compare(naive.clustered_bits(n, d, 8, seed=1, spread=spread, constant=constant), steps=13, n_components=8)


def test_a_wide_class_equals_the_naive_one() -> None:
    compare(naive.clustered_bits(2400, 12544, 8, seed=2, spread=0.02, constant=100), steps=4, n_components=8)


HARD = [(512, 0.2, 3), (512, 0.2, 36), (2048, 0.1, 24), (2048, 0.15, 2)]


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize(("d", "spread", "seed"), HARD)
def test_rounding_does_not_grow(kind: str, d: int, spread: float, seed: int) -> None:
    """The worst of 120 runs on overlapping clusters.

    A sample that goes over from one component to another multiplies rounding errors by thousands within a few steps:
    with responsibilities or scores in float32 these runs would be off by 1e-4 to 2e-3 nats on the way.
    """
    compare(naive.clustered_bits(500, d, 8, seed=seed, spread=spread), steps=13, kinds=[kind], n_components=8)


@pytest.mark.parametrize("n_components", [2, 7, 8, 9, 16, 21])
def test_any_number_of_components(n_components: int) -> None:
    bits = naive.clustered_bits(300, 200, 8, seed=3, spread=0.2, noise=0.3)
    compare(bits, steps=8, n_components=n_components)


@pytest.mark.parametrize("d", [1, 3, 8, 9, 63, 65, 100, 257])
def test_any_width(d: int) -> None:
    compare(naive.clustered_bits(150, d, 4, seed=4, spread=0.3), steps=8, n_components=4)


@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.parametrize("objective", ["likelihood", "expected"])
@pytest.mark.parametrize("init", ["centroid", "random"])
def test_every_option(weights: str, objective: str, init: str) -> None:
    bits = naive.clustered_bits(300, 300, 5, seed=5, spread=0.2, constant=10)
    runs = compare(bits, steps=6, n_components=5, weights=weights, objective=objective, init=init)
    for run in runs.values():
        if weights == "fixed":
            np.testing.assert_array_equal(run.weights, np.full(5, 1 / 5))
        else:
            assert np.ptp(run.weights) > 0.01


@pytest.mark.parametrize("clamp", [1e-9, 1e-3, 0.02, 0.2, 0.4])
def test_any_clamp(clamp: float) -> None:
    bits = naive.clustered_bits(300, 100, 5, seed=6, spread=0.3, constant=10)
    for run in compare(bits, steps=6, n_components=5, clamp=clamp).values():
        # Prototypes are kept as they are: only logarithms see the clamp.
        np.testing.assert_array_equal(run.prototypes[:, :10], 0)
        np.testing.assert_allclose(run.prototypes[:, 10:20], 1, atol=1e-6)


def test_the_expected_objective_is_another_number() -> None:
    bits = naive.clustered_bits(200, 20, 2, seed=7, spread=0.2)
    expected = compare(bits, steps=3, n_components=4, objective="expected")
    likelihood = compare(bits, steps=3, n_components=4)
    for kind in ENGINES:
        # ln p(z) - E[ln p(z, k)] is the entropy of the responsibilities, which lies between 0 and ln K.
        gap = np.array(likelihood[kind].bounds) - expected[kind].bounds
        assert np.all(gap > 0.01)
        assert np.all(gap < np.log(4))


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("distance", [60, 600, 3000])
def test_a_component_that_rests_on_almost_nothing(kind: str, distance: int) -> None:
    """Its responsibilities underflow (e^-83 to e^-4159), yet the mean weighted by them is defined, and is taken."""
    rng = np.random.default_rng(8)
    d = distance + 64
    bits = rng.random((50, d)) < 0.5
    bits[:, :distance] = False
    prototypes = np.full((2, d), 0.5)
    prototypes[0, :distance], prototypes[1, :distance] = 0.2, 0.8
    prototypes[1, distance:] = rng.uniform(0.3, 0.7, 64)
    scores = naive.joint(bits, prototypes, np.full(2, 0.5), 0.02)
    assert (scores[:, 1] - scores[:, 0]).max() < -0.6 * distance
    shares = np.exp(scores[:, 1] - scores[:, 1].max())  # the first component answers for every sample alone
    expected = shares @ bits / shares.sum()

    options = EMOptions(2, min_count=0)
    run = Run.of(0, prototypes, np.full(2, 0.5))
    make_engine(kind, [bits], options).advance([run], 1, tol=0.0, min_count=0)
    np.testing.assert_allclose(run.prototypes[1], expected, atol=1e-6)
    np.testing.assert_allclose(run.prototypes[0], bits.mean(0), atol=1e-6)
    count = np.exp(scores[:, 1] - scores[:, 0]).sum()  # 0 where float64 has no smaller number
    np.testing.assert_allclose(run.counts, [50, count], rtol=1e-6)
    assert 0 < run.weights[1] < 1e-30
    assert np.all(np.isfinite(run.bounds))


@pytest.mark.parametrize("kind", ENGINES)
def test_centroids_are_the_means(kind: str) -> None:
    classes = [naive.clustered_bits(n, 77, 3, seed=n, constant=5) for n in (1, 40, 301)]
    engine = make_engine(kind, classes, EMOptions())
    for i, bits in enumerate(classes):
        np.testing.assert_allclose(engine.centroid(i), bits.mean(axis=0), rtol=1e-15)


@pytest.mark.parametrize("kind", ENGINES)
def test_the_stop_rule_is_the_relative_change(kind: str) -> None:
    bits = naive.clustered_bits(300, 60, 4, seed=9, spread=0.2)
    options = EMOptions(4, min_count=0)
    engine = make_engine(kind, [bits], options)
    run = start(0, engine.centroid(0), 4, options, np.random.default_rng(0))
    bounds = naive.em(bits, run.prototypes, run.weights, 60, clamp=options.clamp).bounds
    changes = np.abs(np.diff(bounds) / bounds[1:])
    tol = np.sqrt(changes[9] * changes[10])  # between two steps, so that rounding cannot decide
    first = 1 + int(np.flatnonzero(changes < tol)[0])
    engine.advance([run], 60, tol=tol, min_count=0)
    assert run.converged
    assert run.steps == first
    assert len(run.bounds) == first + 1


@pytest.mark.parametrize("kind", ENGINES)
def test_a_run_can_be_interrupted(kind: str) -> None:
    bits = naive.clustered_bits(200, 50, 4, seed=10, spread=0.2)
    options = EMOptions(4, min_count=0)
    engine = make_engine(kind, [bits], options)
    whole, parts = (start(0, engine.centroid(0), 4, options, np.random.default_rng(0)) for _ in range(2))
    engine.advance([whole], 9, tol=0.0, min_count=0)
    for steps in (1, 4, 9):
        engine.advance([parts], steps, tol=0.0, min_count=0)
    np.testing.assert_array_equal(parts.prototypes, whole.prototypes)
    assert parts.bounds == whole.bounds
    assert parts.steps == whole.steps == 9


@pytest.mark.parametrize("kind", ENGINES)
def test_a_degenerate_component_stops_the_run(kind: str) -> None:
    """The engine stops after the step that leaves a component with too few samples, and says on how many it rests."""
    bits = naive.clustered_bits(100, 64, 3, seed=11, spread=0.3)
    options = EMOptions(6, min_count=15)
    engine = make_engine(kind, [bits], options)
    run = start(0, engine.centroid(0), 6, options, np.random.default_rng(0))
    prototypes, weights = run.prototypes.copy(), run.weights.copy()
    engine.advance([run], 10, tol=0.0, min_count=15)
    assert run.steps == next(
        steps
        for steps in range(1, 10)
        if naive.em(bits, prototypes, weights, steps, clamp=options.clamp).counts.min() < 15
    )
    expected = naive.em(bits, prototypes, weights, run.steps, clamp=options.clamp)
    np.testing.assert_allclose(run.counts, expected.counts, rtol=1e-4)
    np.testing.assert_allclose(run.prototypes, expected.prototypes, atol=1e-4)
    np.testing.assert_array_equal(run.degenerate(15), np.flatnonzero(expected.counts < 15))
    assert not run.converged
