"""The procedure around EM: starts, warm-up, which start goes on, the stop rule, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bitreplay.bits import pack
from bitreplay.errors import InputError
from bitreplay.mixture import EMOptions, Mixture, fit_mixtures
from bitreplay.mixture._run import start
from tests.mixture import naive


def rngs(*seeds: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in seeds]


def assert_identical(a: Mixture, b: Mixture) -> None:
    np.testing.assert_array_equal(a.prototypes, b.prototypes)
    np.testing.assert_array_equal(a.weights, b.weights)
    np.testing.assert_array_equal(a.lower_bounds, b.lower_bounds)
    assert (a.count, a.n_iter, a.converged, a.reseeded) == (b.count, b.n_iter, b.converged, b.reseeded)


@pytest.mark.parametrize("objective", ["likelihood", "expected"])
@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.parametrize("seed", range(4))
def test_the_best_start_after_the_warm_up_goes_on(objective: str, weights: str, seed: int) -> None:
    bits = naive.clustered_bits(150, 60, 5, seed, spread=0.2)
    options = EMOptions(5, objective=objective, weights=weights, min_count=0, n_init=6, tol=0.0)
    how = {"clamp": options.clamp, "objective": objective, "learn_weights": weights == "learned"}
    rng = np.random.default_rng(seed)
    starts = [start(0, bits.mean(axis=0), 5, options, rng) for _ in range(options.n_init)]
    warm = [naive.em(bits, run.prototypes, run.weights, options.warmup_iter, **how) for run in starts]
    best = max(warm, key=lambda run: run.bounds[-1])
    assert sorted(run.bounds[-1] for run in warm)[-2] < best.bounds[-1] - 1e-3  # no tie

    [mixture] = fit_mixtures([bits], options, generators=rngs(seed))
    expected = naive.em(bits, best.prototypes, best.weights, options.max_iter, **how)
    np.testing.assert_allclose(mixture.lower_bounds, best.bounds[:-1] + expected.bounds, atol=1e-4)
    np.testing.assert_allclose(mixture.prototypes, expected.prototypes, atol=1e-4)
    np.testing.assert_allclose(mixture.weights, expected.weights, atol=1e-5)
    assert mixture.n_iter == options.max_iter
    assert not mixture.converged


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_counts_the_last_warm_up_step_of_every_start(seed: int) -> None:
    """Also of starts that this very step leaves with a component on too few samples."""
    bits = naive.clustered_bits(60, 40, 3, seed, spread=0.3)
    options = EMOptions(6, warmup_iter=1, min_count=5)
    rng = np.random.default_rng(seed)
    starts = [start(0, bits.mean(axis=0), 6, options, rng) for _ in range(options.n_init)]
    warm = [naive.em(bits, run.prototypes, run.weights, 1, clamp=options.clamp) for run in starts]
    assert min(run.counts.min() for run in warm) < 5

    [mixture] = fit_mixtures([bits], options, generators=rngs(seed))
    best = max(warm, key=lambda run: run.bounds[1])
    assert mixture.lower_bounds[0] == pytest.approx(best.bounds[0], abs=1e-4)


def test_more_starts_are_never_worse_at_the_warm_up() -> None:
    better = 0
    for seed in range(5):
        bits = naive.clustered_bits(120, 50, 6, seed, spread=0.2)
        warm = [
            fit_mixtures([bits], EMOptions(6, n_init=n_init, min_count=0), generators=rngs(seed))[0].lower_bounds[3]
            for n_init in (1, 2, 4, 8, 16)
        ]
        assert np.all(np.diff(warm) >= 0)
        better += warm[-1] > warm[0]
    assert better >= 3  # the first start may happen to be the best


@pytest.mark.parametrize("weights", ["learned", "fixed"])
@pytest.mark.parametrize(("n", "d", "n_components"), [(40, 512, 8), (200, 128, 8), (100, 30, 6), (60, 10, 4)])
def test_the_likelihood_never_falls_between_reseedings(weights: str, n: int, d: int, n_components: int) -> None:
    rises, reseeded = 0, 0
    for seed in range(4):
        bits = naive.clustered_bits(n, d, 6, seed, spread=0.2, noise=0.1, constant=3)
        options = EMOptions(n_components, weights=weights, tol=0.0, max_iter=25)
        [mixture] = fit_mixtures([bits], options, generators=rngs(seed))
        assert len(mixture.lower_bounds) == options.warmup_iter + mixture.n_iter + 1
        for step, change in enumerate(np.diff(mixture.lower_bounds), start=1):
            if step in mixture.reseeded:
                reseeded += 1
                continue
            assert change >= -1e-9 * abs(mixture.lower_bounds[step])
            rises += change > 1e-6
    assert rises > 5
    if (n, d) == (40, 512):
        assert reseeded > 0


@pytest.mark.parametrize("min_count", [0, 5])
def test_the_last_bound_is_that_of_the_mixture_handed_out(min_count: float) -> None:
    for seed in range(4):
        bits = naive.clustered_bits(80, 100, 5, seed, spread=0.2, constant=5)
        options = EMOptions(6, min_count=min_count)
        [mixture] = fit_mixtures([bits], options, generators=rngs(seed))
        score = naive.log_likelihood(bits, mixture.prototypes, mixture.weights, options.clamp).mean()
        assert mixture.lower_bounds[-1] == pytest.approx(score, abs=1e-4)


def test_the_stop_rule() -> None:
    bits = naive.clustered_bits(200, 40, 4, seed=1, spread=0.4)
    [mixture] = fit_mixtures([bits], EMOptions(4, max_iter=100, min_count=0))
    bounds = mixture.lower_bounds
    changes = np.abs(np.diff(bounds) / bounds[1:])[3:]  # the warm-up does not look at them
    assert mixture.converged
    assert changes[-1] < 1e-3
    assert np.all(changes[:-1] >= 1e-3)
    [short] = fit_mixtures([bits], EMOptions(4, max_iter=1, tol=0.0, min_count=0))
    assert not short.converged
    assert short.n_iter == 1
    np.testing.assert_array_equal(short.lower_bounds, bounds[:5])


def test_the_warm_up_does_not_stop_early() -> None:
    bits = naive.clustered_bits(200, 40, 4, seed=1, spread=0.4)
    [mixture] = fit_mixtures([bits], EMOptions(4, tol=1.0, warmup_iter=5, min_count=0))  # any change is small enough
    assert mixture.converged
    assert mixture.n_iter == 1
    assert len(mixture.lower_bounds) == 5 + 1 + 1


def test_no_warm_up_at_all() -> None:
    bits = naive.clustered_bits(100, 40, 3, seed=2)
    [mixture] = fit_mixtures([bits], EMOptions(3, warmup_iter=0, max_iter=4, tol=0.0, min_count=0))
    assert mixture.n_iter == 4
    assert len(mixture.lower_bounds) == 5


@pytest.mark.parametrize("d", [1, 8, 13, 64, 100])
def test_one_component_is_the_mean(d: int) -> None:
    bits = naive.clustered_bits(77, d, 3, seed=d)
    [mixture] = fit_mixtures([bits], EMOptions(1))
    assert mixture.prototypes.dtype == np.float32
    np.testing.assert_array_equal(mixture.prototypes, bits.mean(axis=0, keepdims=True).astype(np.float32))
    np.testing.assert_array_equal(mixture.weights, [1.0])
    assert mixture.count == 77
    assert mixture.converged
    assert mixture.n_iter == 0


@pytest.mark.parametrize("n_components", [1, 2, 5, 11])
@pytest.mark.parametrize("n", [12, 90, 301])
def test_constant_columns_are_exactly_0_and_1(n_components: int, n: int) -> None:
    bits = naive.clustered_bits(n, 70, 4, seed=n, spread=0.1, constant=9)
    for min_count in (0, 5):
        [mixture] = fit_mixtures([bits], EMOptions(n_components, min_count=min_count))
        np.testing.assert_array_equal(mixture.prototypes[:, :9], 0)
        np.testing.assert_array_equal(mixture.prototypes[:, 9:18], 1)
        assert np.all(mixture.prototypes >= 0)
        assert np.all(mixture.prototypes <= 1)
        assert mixture.weights.sum() == pytest.approx(1, abs=1e-12)


def test_every_column_constant() -> None:
    [mixture] = fit_mixtures([np.ones((40, 20), dtype=bool)], EMOptions(4))
    np.testing.assert_array_equal(mixture.prototypes, 1)


def test_mean_is_kept_by_learned_weights() -> None:
    """Sum_k pi_k mu_k is the data's mean after any M-step: nothing is lost between the components."""
    bits = naive.clustered_bits(150, 90, 4, seed=3, spread=0.2)
    for min_count in (0, 5):
        [mixture] = fit_mixtures([bits], EMOptions(6, min_count=min_count))
        np.testing.assert_allclose(mixture.weights @ mixture.prototypes, bits.mean(axis=0), atol=1e-6)


def classes_of_many_sizes() -> list[naive.Bits]:
    return [naive.clustered_bits(n, 50, 4, seed=n, spread=0.2, noise=0.2) for n in (1, 4, 12, 60, 200)]


def test_the_number_of_threads_does_not_matter() -> None:
    classes = classes_of_many_sizes()
    alone = fit_mixtures(classes, EMOptions(8))
    assert any(mixture.reseeded for mixture in alone)
    for n_jobs in (2, 3, 50):
        for a, b in zip(alone, fit_mixtures(classes, EMOptions(8), n_jobs=n_jobs), strict=True):
            assert_identical(a, b)


def test_all_cores() -> None:
    classes = classes_of_many_sizes()
    for a, b in zip(fit_mixtures(classes), fit_mixtures(classes, n_jobs=-1), strict=True):
        assert_identical(a, b)


def test_a_class_comes_out_the_same_whatever_it_is_fitted_with() -> None:
    classes = classes_of_many_sizes()
    together = fit_mixtures(classes, EMOptions(8), generators=rngs(*range(5)))
    backwards = fit_mixtures(classes[::-1], EMOptions(8), generators=rngs(4, 3, 2, 1, 0))[::-1]
    for i, bits in enumerate(classes):
        [alone] = fit_mixtures([bits], EMOptions(8), generators=rngs(i))
        assert_identical(alone, together[i])
        assert_identical(alone, backwards[i])
        assert alone.count == len(bits)


def test_classes_that_do_not_fit_into_one_group() -> None:
    """At this width 64 MB hold the starts of six classes, so that eight need two groups."""
    classes = [naive.clustered_bits(10, 30000, 2, seed) for seed in range(8)]
    together = fit_mixtures(classes)
    assert [mixture.count for mixture in together] == [10] * 8
    for i in (0, 5, 6, 7):
        assert_identical(together[i], fit_mixtures([classes[i]], generators=rngs(i))[0])


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (np.ones((10, 10)), "class 6 has 10 bits per sample, but class 0 has 30000"),
        (np.ones((0, 30000)), "class 6 of 7 has no samples"),
    ],
)
def test_bad_classes_in_another_group(odd: np.ndarray, message: str) -> None:
    classes = [naive.clustered_bits(10, 30000, 2, seed) for seed in range(6)]
    with pytest.raises(InputError, match=message):
        fit_mixtures([*classes, odd])


def test_bits_without_features() -> None:
    for samples in (np.ones((50, 0)), pack(np.ones((50, 0)))):
        with pytest.raises(InputError, match="no features"):
            fit_mixtures([samples], EMOptions(3))


def test_another_seed_is_another_fit() -> None:
    bits = naive.clustered_bits(100, 50, 4, seed=0, spread=0.1)
    [a], [b], [c] = (fit_mixtures([bits], EMOptions(4), generators=rngs(seed)) for seed in (0, 0, 1))
    assert_identical(a, b)
    assert not np.array_equal(a.prototypes, c.prototypes)


@pytest.mark.parametrize(
    "convert",
    [pack, np.ndarray.tolist, torch.from_numpy, lambda b: b.astype(np.float32), lambda b: torch.from_numpy(b).double()],
    ids=["packed", "list", "tensor", "float32", "float tensor"],
)
def test_every_kind_of_bits_gives_the_same_mixture(convert: object) -> None:
    classes = [naive.clustered_bits(n, 21, 3, seed=n) for n in (30, 50)]
    expected = fit_mixtures(classes, EMOptions(3))
    converted = [convert(bits) for bits in classes]  # type: ignore[operator]
    for a, b in zip(expected, fit_mixtures(converted, EMOptions(3)), strict=True):
        assert_identical(a, b)


def test_input_is_left_alone() -> None:
    bits = naive.clustered_bits(60, 33, 3, seed=0)
    packed, tensor = pack(bits), torch.from_numpy(bits.copy())
    before = bits.copy()
    fit_mixtures([bits, packed, tensor], EMOptions(6))
    np.testing.assert_array_equal(bits, before)
    np.testing.assert_array_equal(packed.unpack(), before)
    np.testing.assert_array_equal(tensor.numpy(), before)


def test_no_classes_no_mixtures() -> None:
    assert fit_mixtures([]) == []


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([np.zeros((3, 4)), np.zeros((0, 4))], "class 1 of 2 has no samples"),
        ([np.zeros((3, 4)), np.zeros((3, 5))], "class 1 has 5 bits per sample, but class 0 has 4"),
        ([np.array([[0, 1], [1, 3]])], "found 3 at row 1, column 1"),
        ([np.array([[0, np.nan]])], "found nan at row 0, column 1"),
        ([np.zeros(4)], "matrix"),
        ([np.zeros((2, 2, 2))], "matrix"),
    ],
)
def test_bad_classes(classes: list[np.ndarray], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_mixtures(classes)


def test_a_matrix_is_not_a_list_of_classes() -> None:
    """The rows of packed bits would each be fitted as a class."""
    for bits in (pack(np.ones((3, 4))), None, 7):
        with pytest.raises(InputError, match="one matrix per class"):
            fit_mixtures(bits)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", True])
def test_threads_are_a_number(n_jobs: object) -> None:
    with pytest.raises(InputError, match="n_jobs"):
        fit_mixtures([np.ones((3, 4))], n_jobs=n_jobs)  # type: ignore[arg-type]


def test_one_generator_per_class() -> None:
    with pytest.raises(InputError, match="NumPy generators; got int"):
        fit_mixtures([np.ones((3, 3))], generators=[0])  # type: ignore[list-item]
    with pytest.raises(InputError, match="got 2 for 1 classes"):
        fit_mixtures([np.ones((3, 3))], generators=rngs(0, 1))
