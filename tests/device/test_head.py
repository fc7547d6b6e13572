"""Heads with integer weights: against the float head they are rounded from, and C against Python to the last bit."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from bitreplay import ClosedForm, GBMClassifier, Replay
from bitreplay.binarizers import Identity, Native, Thermometer
from bitreplay.bits import pack
from bitreplay.device import DeviceModel, IntegerHead, words_of
from bitreplay.errors import InputError
from tests.device.library import CHeadCalls

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def float_scores(weights: np.ndarray, offsets: np.ndarray, bits: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    """The definition, row by row."""
    products = np.einsum("nd,crd->ncr", bits, weights) + offsets
    return np.asarray(products[..., 0] + np.square(products[..., 1:]).sum(axis=2))


@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 70)),
    weight_bits=st.integers(2, 8),
    size=st.sampled_from([1e-6, 1e-2, 1.0, 300.0]),
    extreme=st.booleans(),
)
@RELAXED
def test_c_has_the_same_scores(
    library: ctypes.CDLL, seed: int, shape: tuple[int, int, int], weight_bits: int, size: float, extreme: bool
) -> None:
    rng = np.random.default_rng(seed)
    weights = size * rng.standard_normal(shape)
    if extreme:  # every weight as large as it can be, all of one sign, and some rows of nothing
        weights = size * rng.choice([-1.0, 0.0, 1.0], shape[:2])[..., None] * np.ones(shape)
    head = IntegerHead.of_rows(weights, size * rng.standard_normal(shape[:2]), weight_bits)
    bits = np.concatenate([rng.integers(0, 2, (4, shape[2])), np.zeros((1, shape[2])), np.ones((1, shape[2]))])
    expected = head.scores(bits)
    found = CHeadCalls(library, head)
    np.testing.assert_array_equal(found.scores(words_of(pack(bits))), expected)
    assert found.predict(words_of(pack(bits))) == head.predict(bits).tolist()


@pytest.mark.parametrize(
    ("squares", "d", "n"), [(0, 100, 90_000), (0, 1280, 10_000), (8, 97, 70_000), (8, 64, 25_000), (3, 1280, 5_000)]
)
def test_scores_of_random_vectors(library: ctypes.CDLL, squares: int, d: int, n: int) -> None:
    """100,000 of them for linear heads, and as many for closed forms."""
    rng = np.random.default_rng(squares)
    head = IntegerHead.of_rows(rng.standard_normal((5, 1 + squares, d)), rng.standard_normal((5, 1 + squares)), 6)
    bits = pack(rng.integers(0, 2, (n, d), dtype=np.uint8))
    np.testing.assert_array_equal(CHeadCalls(library, head).scores(words_of(bits)), head.scores(bits))


@given(seed=st.integers(0, 2**32), squares=st.integers(0, 3), size=st.sampled_from([1e-4, 1.0, 50.0]))
@settings(deadline=None)
def test_eight_bits_give_nearly_the_float_scores(seed: int, squares: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    weights = size * rng.standard_normal((3, 1 + squares, 60))
    offsets = size * rng.standard_normal((3, 1 + squares))
    head, bits = IntegerHead.of_rows(weights, offsets), rng.integers(0, 2, (20, 60))
    exact, found = float_scores(weights, offsets, bits), head.scores(bits).astype(float)
    exact -= (bits @ weights[:, 0].T + offsets[:, 0]).mean(axis=1, keepdims=True)  # what all classes share
    unit = (exact.max() - exact.min()) / (found.max() - found.min())
    error = np.abs((found - found.mean()) * unit - (exact - exact.mean()))
    assert error.max() <= 0.05 * (exact.max() - exact.min())


def test_what_all_classes_share_costs_no_bits() -> None:
    """A large common part of the first rows changes no decision, so it must not make the others coarse."""
    rng = np.random.default_rng(0)
    weights, offsets = rng.standard_normal((4, 3, 60)), rng.standard_normal((4, 3))
    common = np.zeros((1, 3, 60))
    common[:, 0] = 1000 * rng.standard_normal(60)
    alone, beside = (IntegerHead.of_rows(w, offsets, 4) for w in (weights, weights + common))
    np.testing.assert_array_equal(alone.weights, beside.weights)


@given(seed=st.integers(0, 2**32), weight_bits=st.integers(3, 6))
@settings(deadline=None)
def test_offsets_make_up_for_rounding(seed: int, weight_bits: int) -> None:
    """With `expected`, a row's product with bits of that mean is right on average, within half a step of the bias."""
    rng = np.random.default_rng(seed)
    weights, offsets, often = rng.standard_normal((3, 2, 80)), rng.standard_normal((3, 2)), rng.random(80)
    head = IntegerHead.of_rows(weights, offsets, weight_bits, often)
    centred = weights - np.stack([weights[:, 0].mean(axis=0), np.zeros(80)])
    exact = centred @ often + offsets - np.array([offsets[:, 0].mean(), 0])
    units = (centred * head.weights).sum(axis=2) / np.square(head.weights, dtype=np.int64).sum(axis=2)
    sums = head.weights @ often + head.biases
    # The units themselves are not kept: those of least squares are within a few hundredths of them.
    assert (np.abs(sums - exact / units) <= 0.5 + 0.05 * np.abs(exact / units)).all()
    with pytest.raises(InputError, match="expected must be 80 numbers from 0 to 1"):
        IntegerHead.of_rows(weights, offsets, weight_bits, often[1:])


def test_rounding_never_exceeds_the_bits() -> None:
    rng = np.random.default_rng(0)
    for weight_bits in range(2, 9):
        head = IntegerHead.of_rows(rng.standard_cauchy((3, 2, 40)), np.zeros((3, 2)), weight_bits)
        assert np.abs(head.weights).max() == 2 ** (weight_bits - 1) - 1


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    return load_digits(return_X_y=True)  # type: ignore[no-any-return]


def test_rows_of_the_closed_form_are_its_scores(digits: tuple[np.ndarray, np.ndarray]) -> None:  # type: ignore[type-arg]
    clf = GBMClassifier(prototypes=3, p=2, random_state=0).fit(*digits)
    assert isinstance(clf.head_, ClosedForm)
    bits = clf.binarizer_.pack(digits[0][:50])
    scores = float_scores(*clf.head_.rows, bits.unpack(float))
    np.testing.assert_allclose(scores, clf.head_.scores(bits), rtol=1e-4, atol=1e-3)
    with pytest.raises(InputError, match="not been fitted"):
        _ = ClosedForm().rows


@pytest.mark.parametrize(("weight_bits", "least"), [(8, 0.995), (6, 0.99), (4, 0.975)])
def test_the_closed_form_decides_alike_on_digits(digits, weight_bits: int, least: float) -> None:  # type: ignore[no-untyped-def]
    images, labels = digits
    clf = GBMClassifier(prototypes=4, p=4, random_state=0).fit(images[:1200], labels[:1200])
    model = DeviceModel.of(clf, weight_bits=weight_bits, features="uint8")
    assert model.head is not None
    assert model.thresholds is not None
    found = model.head.predict(model.thresholds.pack(images[1200:].astype(np.uint8)))
    assert (np.array(model.labels)[found] == clf.predict(images[1200:])).mean() >= least


@pytest.mark.parametrize("binarizer", [Thermometer(3, calibrated=True), Identity(), Native()])
def test_a_linear_g_on_bits(digits, binarizer) -> None:  # type: ignore[no-untyped-def]
    images, labels = digits
    features = images if isinstance(binarizer, Thermometer) else (images > 7).astype(float)
    if isinstance(binarizer, Native):
        features = 2 * features - 1
    clf = GBMClassifier(prototypes=2, head=Replay(min_steps=100), binarizer=binarizer, random_state=0)
    clf.fit(features[:1000], labels[:1000])
    model = DeviceModel.of(clf, features=None if isinstance(binarizer, Identity) else "int16")
    assert model.head is not None
    assert model.head.squares == 0
    found = np.array(model.labels)[model.head.predict(clf.binarizer_.pack(features[1000:]))]
    assert (found == clf.predict(features[1000:])).mean() > 0.98


def test_the_linear_part_and_the_blend_of_one_have_nothing_to_square(digits) -> None:  # type: ignore[no-untyped-def]
    clf = GBMClassifier(prototypes=2, p=1, random_state=0).fit(*digits)
    small, whole = (DeviceModel.of(clf, features="uint8", head=head).head for head in ("linear_part", "own"))
    assert small is not None
    assert whole is not None
    assert (small.squares, whole.squares) == (0, 2)
    assert small.size_bits * 3 == whole.size_bits
    shared = GBMClassifier(prototypes=2, head=ClosedForm(blend=1.0), random_state=0).fit(*digits)
    head = DeviceModel.of(shared, features="uint8").head
    assert head is not None
    assert head.squares == 0


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((np.zeros((2, 3)), np.zeros(2)), r"rows must be \(classes, 1 \+ squares, D\)"),
        ((np.zeros((2, 1, 3)), np.zeros((2, 2))), "rows must be"),
        ((np.full((1, 1, 2), np.nan), np.zeros((1, 1))), "must be finite"),
        ((np.ones((1, 257, 2)), np.zeros((1, 257))), "at most 255 squares; got 256"),
        ((np.ones((65536, 1, 1)), np.zeros((65536, 1))), "at most 65535 classes; got 65536"),
        ((np.ones((1, 1, 65536)), np.zeros((1, 1))), "at most 65535 D; got 65536"),
        ((np.full((1, 1, 2), 1e-12), np.ones((1, 1))), "an offset is more than"),
        ((np.full((1, 2, 2), 1e30), np.zeros((1, 2))), "too large for 32-bit scales"),
    ],
)
def test_rows_that_cannot_be_rounded_are_refused(rows, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        IntegerHead.of_rows(*rows)
    with pytest.raises(InputError, match="weight_bits must be an integer from 2 to 8"):
        IntegerHead.of_rows(*rows, weight_bits=9)
