"""BernoulliMixture: what it takes (arrays, tensors, packed bits), what comes back, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from bitreplay.bits import pack
from bitreplay.errors import InputError
from bitreplay.mixture import BernoulliMixture
from tests.mixture import naive


@pytest.fixture(scope="module")
def bits() -> naive.Bits:
    return naive.clustered_bits(300, 75, 4, seed=0, spread=0.3, constant=5)


@pytest.fixture(scope="module")
def fitted(bits: naive.Bits) -> BernoulliMixture:
    return BernoulliMixture(4, random_state=0).fit(bits)


def fresh_bits() -> naive.Bits:
    """Samples that the mixture has not seen, constant columns broken too."""
    return np.random.default_rng(5).random((80, 75)) < 0.5


@pytest.mark.parametrize("verb", ["predict", "predict_proba", "score_samples"])
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32, torch.float64])
def test_tensors_in_tensors_out(fitted: BernoulliMixture, bits: naive.Bits, verb: str, dtype: torch.dtype) -> None:
    samples = torch.from_numpy(bits).to(dtype)
    mixture = BernoulliMixture(4, random_state=0).fit(samples)
    assert isinstance(mixture.prototypes_, torch.Tensor)
    assert isinstance(mixture.weights_, torch.Tensor)
    np.testing.assert_array_equal(mixture.prototypes_.numpy(), fitted.prototypes_)
    np.testing.assert_array_equal(mixture.weights_.numpy(), fitted.weights_)
    fresh = fresh_bits()
    result = getattr(mixture, verb)(torch.from_numpy(fresh).to(dtype))
    assert isinstance(result, torch.Tensor)
    np.testing.assert_allclose(result.numpy(), getattr(fitted, verb)(fresh), rtol=1e-12)
    assert mixture.score(samples) == pytest.approx(fitted.score(bits), rel=1e-12)
    assert mixture.bic(samples) == pytest.approx(fitted.bic(bits), rel=1e-12)
    # What comes out follows what goes in, not what it was fitted on.
    assert isinstance(getattr(mixture, verb)(fresh), np.ndarray)
    assert isinstance(getattr(fitted, verb)(torch.from_numpy(fresh)), torch.Tensor)


def test_samples_of_a_mixture_of_tensors_are_tensors(fitted: BernoulliMixture, bits: naive.Bits) -> None:
    drawn, component = BernoulliMixture(4, random_state=0).fit(torch.from_numpy(bits)).sample(30)
    assert isinstance(drawn, torch.Tensor)
    expected_bits, expected_component = fitted.sample(30)
    np.testing.assert_array_equal(drawn.numpy(), expected_bits)
    np.testing.assert_array_equal(component.numpy(), expected_component)


def test_packed_bits(fitted: BernoulliMixture, bits: naive.Bits) -> None:
    mixture = BernoulliMixture(4, random_state=0).fit(pack(bits))
    np.testing.assert_array_equal(mixture.prototypes_, fitted.prototypes_)
    for verb in ("predict", "predict_proba", "score_samples"):
        np.testing.assert_array_equal(getattr(mixture, verb)(pack(bits)), getattr(fitted, verb)(bits))
    with pytest.raises(InputError, match="X has 74 features, but BernoulliMixture is expecting 75"):
        mixture.predict(pack(bits[:, 1:]))
    with pytest.raises(InputError, match="0 samples"):
        mixture.fit(pack(bits[:0]))


def test_binarize_is_a_threshold() -> None:
    values = np.random.default_rng(0).standard_normal((100, 12))
    for threshold in (-0.5, 0.0, 0.7):
        mixture = BernoulliMixture(2, binarize=threshold, random_state=0).fit(values)
        reference = BernoulliMixture(2, binarize=None, random_state=0).fit(values > threshold)
        np.testing.assert_array_equal(mixture.prototypes_, reference.prototypes_)
        np.testing.assert_array_equal(mixture.score_samples(values), reference.score_samples(values > threshold))
    assert BernoulliMixture(binarize=0.5).fit([[0.5]]).prototypes_ == 0  # above it, as in BernoulliNB


def test_without_binarize_only_bits_are_taken(bits: naive.Bits) -> None:
    mixture = BernoulliMixture(2, binarize=None)
    values = bits.astype(float)
    mixture.fit(values)
    values[7, 3] = 0.5
    with pytest.raises(InputError, match=r"found 0\.5 at row 7, column 3"):
        mixture.fit(values)
    with pytest.raises(InputError, match=r"found 0\.5 at row 7, column 3"):
        mixture.score_samples(torch.from_numpy(values))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("binarize", [0.0, None])
def test_what_is_not_finite_is_refused(value: float, binarize: float | None) -> None:
    values = np.eye(6)
    mixture = BernoulliMixture(binarize=binarize).fit(values)
    before = mixture.prototypes_.copy()
    values[2, 2] = value
    for call in (mixture.fit, mixture.predict, mixture.score_samples):
        for bad in (values, torch.from_numpy(values)):
            with pytest.raises(ValueError, match=r"NaN|infinity"):
                call(bad)
    np.testing.assert_array_equal(mixture.prototypes_, before)


@pytest.mark.parametrize("options", [{"random_state": -1}, {"random_state": "x"}, {"n_jobs": 0}], ids=repr)
def test_a_refused_option_changes_nothing(options: dict[str, Any]) -> None:
    mixture = BernoulliMixture(2, **options)
    with pytest.raises(InputError, match=next(iter(options))):
        mixture.fit(np.eye(6))
    assert not [name for name in vars(mixture) if name.endswith("_")]


def test_a_fit_that_is_refused_changes_nothing(bits: naive.Bits) -> None:
    mixture = BernoulliMixture(3, binarize=None, random_state=0).fit(bits)
    before = mixture.score_samples(bits)
    with pytest.raises(InputError, match="row 0, column 0"):
        mixture.fit(np.full((9, 20), 7))
    assert mixture.n_features_in_ == 75
    np.testing.assert_array_equal(mixture.score_samples(bits), before)


@pytest.mark.parametrize("bad", [np.zeros((0, 5)), np.zeros((5, 0)), np.zeros(5), np.zeros((2, 2, 2)), [["a"]]])
def test_what_is_no_matrix_of_samples_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError):
        BernoulliMixture(2).fit(bad)


def test_wrong_width_is_refused(fitted: BernoulliMixture, bits: naive.Bits) -> None:
    with pytest.raises(ValueError, match="75"):
        fitted.predict(bits[:, 1:])
    with pytest.raises(ValueError, match="75"):
        fitted.predict(torch.from_numpy(bits[:, 1:]))


def test_before_fit(bits: naive.Bits) -> None:
    for call in ("predict", "predict_proba", "score_samples", "score", "bic", "aic"):
        with pytest.raises(NotFittedError):
            getattr(BernoulliMixture(), call)(bits)
    with pytest.raises(NotFittedError):
        BernoulliMixture().sample()


@pytest.mark.parametrize("n_samples", [0, -3])
def test_samples_to_draw(fitted: BernoulliMixture, n_samples: int) -> None:
    with pytest.raises(InputError, match="n_samples"):
        fitted.sample(n_samples)


def test_one_sample() -> None:
    mixture = BernoulliMixture(8).fit([[0, 1, 1]])
    np.testing.assert_array_equal(mixture.prototypes_, [[0, 1, 1]])
    assert np.exp(mixture.score([[0, 1, 1]])) == pytest.approx((1 - mixture.clamp) ** 3)


def test_input_is_left_alone(bits: naive.Bits) -> None:
    samples = bits.astype(np.float64)
    before = samples.copy()
    mixture = BernoulliMixture(3, random_state=0).fit(samples)
    mixture.predict_proba(samples)
    np.testing.assert_array_equal(samples, before)
