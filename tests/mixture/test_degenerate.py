"""No prototype may rest on a handful of samples: re-seeded while steps are left, merged away in the end."""

from __future__ import annotations

import numpy as np
import pytest

from bitreplay.mixture import EMOptions, fit_mixtures
from bitreplay.mixture._run import MARGIN, Run, drop, reseed, start
from tests.mixture import naive


def rngs(*seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def outliers(seed: int, n: int = 60, d: int = 64) -> naive.Bits:
    """Two clusters, and three samples like nothing else: each would love a component of its own."""
    bits = naive.clustered_bits(n, d, 2, seed, spread=0.3)
    bits[:3] = np.random.default_rng(seed).random((3, d)) < 0.5
    return bits


def test_every_survivor_rests_on_enough_samples() -> None:
    """Learned weights are the effective counts of the last M-step; where EM stands still, an E-step finds them too."""
    at_rest = degenerate_without = 0
    for seed in range(12):
        bits = outliers(seed)
        for weights in ("learned", "fixed"):
            options = EMOptions(4, weights=weights, tol=0.0, max_iter=80)
            [mixture] = fit_mixtures([bits], options, generators=rngs(seed))
            if weights == "learned":
                assert (mixture.weights * mixture.count).min() > 5 - 1e-6
            step = naive.em(
                bits, mixture.prototypes, mixture.weights, 1, clamp=options.clamp, learn_weights=weights == "learned"
            )
            if np.abs(step.prototypes - mixture.prototypes).max() < 1e-3:
                at_rest += 1
                assert step.counts.min() > 5 - 0.1
        # The floor is what keeps them away: without it some component rests on an outlier or two.
        [free] = fit_mixtures([bits], EMOptions(4, tol=0.0, max_iter=80, min_count=0), generators=rngs(seed))
        degenerate_without += (free.weights * free.count).min() < 4
    assert at_rest >= 1
    assert degenerate_without >= 6


@pytest.mark.parametrize("min_count", [2, 5, 12.5, 20])
@pytest.mark.parametrize("max_iter", [1, 2, 10])
def test_the_floor_holds_wherever_the_steps_end(min_count: float, max_iter: int) -> None:
    for seed in range(4):
        bits = naive.clustered_bits(60, 100, 4, seed, spread=0.2, noise=0.2)
        [mixture] = fit_mixtures([bits], EMOptions(8, max_iter=max_iter, min_count=min_count), generators=rngs(seed))
        assert (mixture.weights * 60).min() > min_count - 1e-9
        assert len(mixture.weights) <= 60 // min_count


def test_no_prototype_is_a_training_sample() -> None:
    """What the floor is for: a component of an outlier's own would store the outlier, bit by bit."""
    stored = 0
    for seed in range(6):
        bits = outliers(seed)
        for min_count in (5, 0):
            [mixture] = fit_mixtures([bits], EMOptions(10, min_count=min_count), generators=rngs(seed))
            nearest = np.abs(mixture.prototypes[:, None] - bits.astype(np.float32)).max(axis=2).min()
            if min_count:
                assert nearest > 0.1
            else:
                stored += nearest < 0.01
    assert stored >= 3


@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.parametrize(("d", "max_iter"), [(8, 12), (30, 1), (30, 12), (200, 12)])
def test_the_procedure_with_naive_arithmetic(weights: str, d: int, max_iter: int) -> None:
    """Re-seed after every step that leaves too little while steps are left, then drop the lightest and step again."""
    how = {"clamp": 0.02, "learn_weights": weights == "learned"}
    options = EMOptions(6, weights=weights, n_init=1, warmup_iter=0, tol=0.0, max_iter=max_iter)
    times = dropped = 0
    for seed in range(5):
        bits = naive.clustered_bits(50, d, 4, seed, spread=0.3, noise=0.1)
        rng = np.random.default_rng(seed)
        run = start(0, bits.mean(axis=0), 6, options, rng)
        bounds = []

        def step(run: Run = run, bits: naive.Bits = bits, bounds: list[float] = bounds) -> bool:
            after = naive.em(bits, run.prototypes, run.weights, 1, **how)
            run.replace(after.prototypes, after.weights, after.counts)
            run.steps += 1
            bounds.append(after.bounds[0])
            return bool(after.counts.min() < 5)

        while run.steps < max_iter:
            if step() and run.steps < max_iter:
                reseed(run, options, rng)
        while run.counts.min() < 5:
            drop(run, int(run.counts.argmin()))
            step()
            dropped += 1

        [mixture] = fit_mixtures([bits], options, generators=rngs(seed))
        assert list(mixture.reseeded) == run.reseeded
        assert (mixture.n_iter, mixture.converged) == (run.steps, False)
        np.testing.assert_allclose(mixture.lower_bounds[:-1], bounds, atol=1e-4)
        np.testing.assert_allclose(mixture.prototypes, run.prototypes, atol=1e-4)
        np.testing.assert_allclose(mixture.weights, run.weights, atol=1e-5)
        times += len(run.reseeded)
    if max_iter == 1:
        assert dropped > 0  # no step was left to re-seed for
    else:
        assert times > 0


@pytest.mark.parametrize(
    ("n", "min_count", "n_components", "expected"),
    [
        *[(1, 5, 8, 1), (4, 5, 8, 1), (9, 5, 8, 1), (10, 5, 8, 2), (19, 5, 8, 3), (40, 5, 8, 8), (400, 5, 8, 8)],
        *[
            (9, 2.5, 8, 3),
            (3, 0.5, 8, 6),
            (1, 0.1, 20, 9),  # 0.1 in binary is a little more than a tenth
            (3, 0, 8, 3),
            (1, 0, 8, 1),
            (100, 0, 8, 8),
            (100, 1, 200, 100),
            (7, 100, 3, 1),
        ],
    ],
)
def test_components_to_begin_with(n: int, min_count: float, n_components: int, expected: int) -> None:
    assert EMOptions(n_components, min_count=min_count).components_for(n) == expected


@pytest.mark.parametrize(("n", "expected"), [(10, 2), (14, 2), (23, 4), (40, 8), (60, 8)])
def test_a_fit_begins_with_as_many(n: int, expected: int) -> None:
    bits = naive.clustered_bits(n, 30, 2, seed=n, spread=0.3)
    options = EMOptions(8, n_init=1)
    first = start(0, bits.mean(axis=0), expected, options, np.random.default_rng(0))
    [mixture] = fit_mixtures([bits], options)
    begin = naive.log_likelihood(bits, first.prototypes, first.weights, options.clamp).mean()
    assert mixture.lower_bounds[0] == pytest.approx(begin, abs=1e-6)
    assert len(mixture.weights) <= expected


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_groups_of_equal_samples_become_prototypes(groups: int) -> None:
    truth = np.kron(np.eye(groups), np.ones(30)).astype(bool)
    [mixture] = fit_mixtures([np.repeat(truth, 20, axis=0)], EMOptions(groups))
    assert len(mixture.weights) == groups
    np.testing.assert_allclose(mixture.weights, 1 / groups)
    order = np.argmax(mixture.prototypes, axis=1).argsort()
    np.testing.assert_allclose(mixture.prototypes[order], truth, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 4, 9])
def test_too_few_for_two_components_is_the_mean(n: int) -> None:
    bits = naive.clustered_bits(n, 50, 2, seed=n)
    [mixture] = fit_mixtures([bits], EMOptions(8))
    np.testing.assert_array_equal(mixture.prototypes, bits.mean(axis=0, keepdims=True).astype(np.float32))


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_fewer_samples_than_components_without_a_floor(n: int) -> None:
    bits = naive.clustered_bits(n, 50, 2, seed=n)
    [mixture] = fit_mixtures([bits], EMOptions(8, min_count=0))
    assert mixture.prototypes.shape == (n, 50)
    assert np.all(np.isfinite(mixture.prototypes))
    np.testing.assert_allclose(mixture.weights @ mixture.prototypes, bits.mean(axis=0), atol=1e-6)


def test_classes_of_very_different_size() -> None:
    sizes = [1, 3, 11, 5000]
    classes = [naive.clustered_bits(n, 40, 8, seed=n, spread=0.4) for n in sizes]
    mixtures = fit_mixtures(classes)
    assert [mixture.count for mixture in mixtures] == sizes
    assert [len(mixture.weights) for mixture in mixtures[:2]] == [1, 1]
    assert len(mixtures[2].weights) <= 2
    assert len(mixtures[3].weights) == 8


def test_equal_samples_in_a_class() -> None:
    """Nothing can be told apart: every component is the same sample, and none of this is an error."""
    bits = np.repeat(naive.clustered_bits(1, 40, 1, seed=0), 100, axis=0)
    [mixture] = fit_mixtures([bits], EMOptions(8))
    np.testing.assert_allclose(mixture.prototypes, np.repeat(bits[:1], len(mixture.weights), axis=0))
    assert mixture.weights.sum() == pytest.approx(1)


def a_run(counts: list[float], d: int = 4000) -> Run:
    rng = np.random.default_rng(0)
    run = Run.of(0, rng.random((len(counts), d)), np.array(counts) / sum(counts))
    run.counts[:] = counts
    run.steps = 7
    return run


def test_a_degenerate_component_gets_half_of_the_heaviest() -> None:
    run = a_run([30.0, 1.0, 50.0, 19.0])
    before = run.prototypes.copy()
    reseed(run, EMOptions(4), np.random.default_rng(1))
    np.testing.assert_allclose(run.weights * 99, [30, 25, 25, 19])  # and the lost sample's weight is shared by all
    np.testing.assert_allclose(run.counts, [30, 25, 25, 19])
    np.testing.assert_array_equal(run.prototypes[[0, 3]], before[[0, 3]])
    assert run.reseeded == [7]
    centre, new = before[2], run.prototypes[1]
    assert new.min() >= MARGIN
    assert new.max() <= 1 - MARGIN
    inside = (new > MARGIN) & (new < 1 - MARGIN)
    assert np.corrcoef(centre[inside], new[inside])[0, 1] > 0.2  # around the donor: independent noise is within 0.1
    assert np.abs(np.corrcoef(before[1][inside], new[inside])[0, 1]) < 0.1


def test_several_degenerate_components_have_several_donors() -> None:
    run = a_run([1.0, 2.0, 50.0, 40.0])
    reseed(run, EMOptions(4), np.random.default_rng(1))
    np.testing.assert_allclose(run.counts, [25, 20, 25, 20])
    assert not np.array_equal(run.prototypes[0], run.prototypes[1])


def test_fixed_weights_stay_fixed_when_a_component_is_reseeded() -> None:
    run = a_run([30.0, 1.0, 50.0, 19.0])
    run.weights[:] = 1 / 4
    reseed(run, EMOptions(4, weights="fixed"), np.random.default_rng(1))
    np.testing.assert_allclose(run.weights, 1 / 4)


def test_dropping_a_component() -> None:
    run = a_run([30.0, 1.0, 50.0, 19.0])
    before = run.prototypes.copy()
    drop(run, 1)
    np.testing.assert_array_equal(run.prototypes, before[[0, 2, 3]])
    np.testing.assert_allclose(run.weights, np.array([30, 50, 19]) / 99)
    np.testing.assert_array_equal(run.counts, [30, 50, 19])
    assert run.reseeded == [7]
