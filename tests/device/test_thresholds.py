"""Integer thresholds set the bits that float thresholds set, and C the same ones."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bitreplay.binarizers import Heaviside, Native, Thermometer
from bitreplay.device import IntegerThresholds, words_of
from bitreplay.device._selftest import _features
from bitreplay.device._thresholds import FeatureType
from bitreplay.errors import InputError
from tests.device.library import binarize

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
KINDS = ["uint8", "int8", "int16"]


def every_value(kind: str, n: int) -> np.ndarray:  # type: ignore[type-arg]
    """Rows in which every feature takes values from one end of the type to the other."""
    limits = np.iinfo(kind)
    step = 1 if limits.bits == 8 else 97
    values = np.arange(limits.min, limits.max + 1, step)
    return np.stack([np.roll(values, i) for i in range(n)], axis=1).astype(kind)


def calibrated(thresholds: np.ndarray) -> Thermometer:  # type: ignore[type-arg]
    thermometer = Thermometer(thresholds.shape[1], calibrated=True)
    thermometer.thresholds = torch.from_numpy(thresholds.astype(np.float32))
    return thermometer


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(KINDS),
    scale=st.sampled_from([1.0, 1 / 16, 0.037, 3.0]),
    zero_point=st.integers(-130, 130),
)
@RELAXED
def test_calibrated_thresholds_mean_the_same(
    library: ctypes.CDLL, seed: int, kind: str, scale: float, zero_point: int
) -> None:
    rng = np.random.default_rng(seed)
    limits = np.iinfo(kind)
    # Around what features stand for; some of them exactly one of these values, some beyond all of them.
    integers = rng.integers(limits.min - 5, limits.max + 6, (3, 4))
    floats = (scale * (integers - zero_point + rng.choice([0.0, 0.0, 0.3], (3, 4)))).astype(np.float32)
    floats.sort(axis=1)
    thresholds = IntegerThresholds.of_binarizer(calibrated(floats), 3, kind, scale=scale, zero_point=zero_point)
    features = every_value(kind, 3)
    expected = np.array(
        [
            [
                Fraction(scale) * (int(x) - zero_point) > Fraction(float(t))
                for x, row in zip(sample, floats, strict=True)
                for t in row
            ]
            for sample in features[:: len(features) // 40]
        ]
    )
    chosen = np.ascontiguousarray(features[:: len(features) // 40])
    np.testing.assert_array_equal(thresholds.pack(chosen).unpack(), expected)
    np.testing.assert_array_equal(binarize(library, thresholds, features), words_of(thresholds.pack(features)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounding", ["floor", "nearest"])
def test_fixed_thresholds_are_reached_when_equal(library: ctypes.CDLL, kind: str, rounding: str) -> None:
    thermometer = Thermometer(4, rounding=rounding)  # type: ignore[arg-type]
    thresholds = IntegerThresholds.of_binarizer(thermometer, 5, kind, scale=1 / 64, zero_point=-3)  # type: ignore[arg-type]
    assert thresholds.shared
    features = every_value(kind, 5)
    expected = thermometer.pack((features.astype(np.float32) + 3) / 64)
    assert thresholds.pack(features) == expected
    np.testing.assert_array_equal(binarize(library, thresholds, features), words_of(expected))


def test_integers_as_they_are_give_the_bits_of_the_float_binarizer() -> None:
    rng = np.random.default_rng(0)
    features = rng.integers(0, 256, (200, 30)).astype(np.uint8)
    thermometer = Thermometer(3, calibrated=True)
    thermometer.calibrate(features)
    thresholds = IntegerThresholds.of_binarizer(thermometer, 30, "uint8")
    assert thresholds.pack(features) == thermometer.pack(features.astype(np.float32))


def test_signs_of_a_native_network(library: ctypes.CDLL) -> None:
    thresholds = IntegerThresholds.of_binarizer(Native(), 3, "int8", scale=0.5, zero_point=4)
    features = np.array([[3, 4, 5]], dtype=np.int8)
    assert thresholds.pack(features).unpack().tolist() == [[0, 1, 1]]
    np.testing.assert_array_equal(binarize(library, thresholds, features), words_of(thresholds.pack(features)))


@pytest.mark.parametrize("is_calibrated", [True, False])
def test_floats_for_those_who_have_them(library: ctypes.CDLL, is_calibrated: bool) -> None:
    rng = np.random.default_rng(0)
    thermometer = Thermometer(3, calibrated=is_calibrated)
    features = rng.random((100, 7)).astype(np.float32)
    thermometer.calibrate(features)
    features[:3] = [[0.0], [1 / 3], [1.0]]  # on thresholds
    if is_calibrated:
        features[3] = thermometer.thresholds[:, 1].numpy()
    thresholds = IntegerThresholds.of_binarizer(thermometer, 7, "float32")
    assert thresholds.pack(features) == thermometer.pack(features)
    features[4, 0] = np.nan
    np.testing.assert_array_equal(binarize(library, thresholds, features), words_of(thresholds.pack(features)))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Thermometer(2), 3, "int32"), {}, "feature_type must be one of uint8, int8, int16, float32"),
        ((Thermometer(2), 3, "uint8"), {"scale": 0.0}, "scale must be a number above 0"),
        ((Thermometer(2), 3, "float32"), {"scale": 2.0}, "scale and zero_point are for features that are integers"),
        ((Thermometer(2), 40000, "uint8"), {}, "a device takes up to 65535 bits"),
        ((calibrated(np.zeros((4, 2))), 3, "uint8"), {}, "has thresholds for 4 features, not for 3"),
        ((Heaviside(3), 3, "uint8"), {}, "Heaviside must run before the device's part"),
    ],
)
def test_what_has_no_thresholds_is_refused(arguments, options, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        IntegerThresholds.of_binarizer(*arguments, **options)


def test_features_of_another_type_or_shape_are_refused() -> None:
    thresholds = IntegerThresholds.of_binarizer(Thermometer(2), 3, "uint8")
    for wrong in (np.zeros((1, 3), np.int8), np.zeros((1, 4), np.uint8), np.zeros(3, np.uint8)):
        with pytest.raises(InputError, match="features must be uint8 of shape"):
            thresholds.pack(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_a_selftest_tries_features_below_on_and_above_thresholds(kind: FeatureType) -> None:
    thresholds = IntegerThresholds.of_binarizer(calibrated(np.full((40, 1), 50.0)), 40, kind)
    features = _features(thresholds, np.random.default_rng(0)).astype(int)
    for near in (49, 50, 51, 52):  # an error of one in either direction is noticed
        assert (features == near).mean() > 0.05
    limits = np.iinfo(kind)
    assert features.min() < limits.min + 0.05 * (limits.max - limits.min)
    assert features.max() > limits.max - 0.05 * (limits.max - limits.min)


def test_a_scale_that_was_forgotten_is_noticed():
    features = np.random.default_rng(0).gamma(1.0, 0.5, (200, 64)).astype(np.float32)  # as those of a network
    thermometer = Thermometer(calibrated=True).calibrate(features)
    with pytest.warns(UserWarning, match="of 64 thresholds stay apart as integers: without a scale"):
        IntegerThresholds.of_binarizer(thermometer, 64, "int8")
    IntegerThresholds.of_binarizer(thermometer, 64, "int8", scale=0.02)  # without a warning
