from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from bitreplay.errors import InputError
from bitreplay.memory import _quantisation as quantisation
from tests.memory.examples import ALL_BITS

FEW_BITS = range(1, 17)


def naive_code(mu: float, bits: int) -> int:
    """The formula in exact rational arithmetic."""
    return floor(Fraction(mu) * (2**bits - 1) + Fraction(1, 2))


def naive_codes_of_planes(planes: np.ndarray, bits: int, n_features: int) -> list[list[int]]:
    """Codes read bit by bit: plane 0 is the most significant, bit j of a row is bit j % 8 of byte j // 8."""
    return [
        [
            sum((int(planes[k, plane, j // 8]) >> (j % 8) & 1) << (bits - 1 - plane) for plane in range(bits))
            for j in range(n_features)
        ]
        for k in range(len(planes))
    ]


def values_around_the_steps(bits: int) -> np.ndarray:
    """Random values, all-important ones, and neighbours of the points where rounding changes."""
    rng = np.random.default_rng(bits)
    levels = 2**bits - 1
    steps = ((rng.integers(0, levels, 60) + 0.5) / levels).astype(np.float32)
    values = np.concatenate(
        [[0.0, 1.0, 0.5, 1e-30, 1 - 2**-24], rng.random(60), steps, np.nextafter(steps, 0), np.nextafter(steps, 1)]
    )
    return values.astype(np.float32)


@pytest.mark.parametrize("bits", FEW_BITS)
def test_codes_are_the_formula(bits: int) -> None:
    values = values_around_the_steps(bits)
    planes = quantisation.encode(values[None], bits)
    assert naive_codes_of_planes(planes, bits, len(values)) == [[naive_code(float(mu), bits) for mu in values]]


@pytest.mark.parametrize("bits", FEW_BITS)
def test_decoded_values_are_code_over_levels(bits: int) -> None:
    values = values_around_the_steps(bits)
    decoded = quantisation.decode(quantisation.encode(values[None], bits), bits, len(values))
    expected = [float(Fraction(naive_code(float(mu), bits), 2**bits - 1)) for mu in values]
    assert decoded.dtype == np.float32
    np.testing.assert_array_equal(decoded[0], np.array(expected, dtype=np.float32))
    assert np.abs(decoded[0] - values).max() <= 0.5 / (2**bits - 1) + 2**-24  # half a step


def test_32_bits_are_the_floats_themselves() -> None:
    values = values_around_the_steps(16)[None]
    codes = quantisation.encode(values, 32)
    assert codes.dtype == np.float32
    assert codes.tobytes() == values.tobytes()
    assert quantisation.decode(codes, 32, values.shape[1]).tobytes() == values.tobytes()


@pytest.mark.parametrize("bits", ALL_BITS)
def test_zero_and_one_are_exact(bits: int) -> None:
    values = np.array([[0.0, 1.0, 1.0, 0.0, 1.0]])
    np.testing.assert_array_equal(quantisation.decode(quantisation.encode(values, bits), bits, 5), values)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_every_code_survives_decoding(bits: int) -> None:
    every = np.arange(2 ** min(bits, 16)) / (2 ** min(bits, 16) - 1)
    codes = quantisation.encode(every[None].astype(np.float32), bits)
    decoded = quantisation.decode(codes, bits, len(every))
    assert len(np.unique(decoded)) == len(every)
    assert quantisation.encode(decoded, bits).tobytes() == codes.tobytes()


@pytest.mark.parametrize("n_features", [1, 7, 8, 13, 64, 65])
def test_padding_is_zero(n_features: int) -> None:
    planes = quantisation.encode(np.ones((2, n_features)), 3)
    unpacked = np.unpackbits(planes, axis=2, bitorder="little")
    assert unpacked[:, :, :n_features].all()
    assert not unpacked[:, :, n_features:].any()
    assert planes.shape[2] % 8 == 0


@pytest.mark.parametrize("n_features", [1, 5, 8, 13, 64, 100])
@pytest.mark.parametrize("bits", [1, 2, 3, 8, 16])
def test_the_stream_has_no_gaps(bits: int, n_features: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.random((3, n_features)).astype(np.float32)
    codes = quantisation.encode(values, bits)
    stream = quantisation.to_stream(codes, bits, n_features)
    expected = [
        naive_code(float(mu), bits) >> (bits - 1 - plane) & 1 for row in values for plane in range(bits) for mu in row
    ]
    assert len(stream) == -(-3 * bits * n_features // 8)
    found = [int(stream[i // 8]) >> (i % 8) & 1 for i in range(8 * len(stream))]
    assert found == expected + [0] * (len(found) - len(expected))
    assert quantisation.from_stream(stream, bits, 3, n_features).tobytes() == codes.tobytes()


def test_a_long_stream_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = quantisation.encode(np.random.default_rng(0).random((19, 5)), 3)
    monkeypatch.setattr(quantisation, "UNPACKED", 1)  # eight prototypes at once: the fewest
    assert quantisation.from_stream(quantisation.to_stream(codes, 3, 5), 3, 19, 5).tobytes() == codes.tobytes()


def test_a_stream_of_another_size_is_refused() -> None:
    stream = quantisation.to_stream(quantisation.encode(np.ones((3, 10)), 4), 4, 10)
    for bits, n_prototypes, n_features in ((3, 3, 10), (4, 2, 10), (4, 3, 13), (32, 3, 10)):
        with pytest.raises(ValueError, match="expected"):
            quantisation.from_stream(stream, bits, n_prototypes, n_features)
    with pytest.raises(ValueError, match="expected"):
        quantisation.from_stream(np.ones((3, 10), dtype=np.float32), 32, 3, 11)


@pytest.mark.parametrize("bits", ALL_BITS)
def test_no_prototypes_have_codes_of_the_right_shape(bits: int) -> None:
    empty, some = quantisation.empty_codes(bits, 70), quantisation.encode(np.ones((2, 70)), bits)
    assert len(empty) == 0
    assert (empty.dtype, empty.shape[1:]) == (some.dtype, some.shape[1:])


def test_mixing_weights_are_shares_of_16_bits() -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(20))
    codes = quantisation.encode_weights(weights)
    decoded = quantisation.decode_weights(codes)
    assert codes.dtype == np.uint16
    assert decoded.sum() == pytest.approx(1, abs=1e-15)
    # Every code is off by at most half a level of the largest, and their sum by 20 times that.
    assert np.abs(decoded - weights).max() <= (0.5 + 10) * weights.max() / 65535
    assert quantisation.encode_weights(decoded).tobytes() == codes.tobytes()


def test_the_smallest_mixing_weight_stays_above_zero() -> None:
    assert quantisation.encode_weights([1.0, 1e-9]).tolist() == [65535, 1]
    assert quantisation.encode_weights([0.25] * 4).tolist() == [65535] * 4


@pytest.mark.parametrize("bits", [0, -1, 17, 31, 33, 64, 2.0, "3", None, True, np.float64(3)])
def test_other_numbers_of_bits_are_refused(bits: object) -> None:
    with pytest.raises(InputError, match="1 to 16, or 32"):
        quantisation.check_bits(bits)


@pytest.mark.parametrize("bits", [*ALL_BITS, np.int64(4)])
def test_these_numbers_of_bits_are_accepted(bits: int) -> None:
    checked = quantisation.check_bits(bits)
    assert checked == bits
    assert type(checked) is int
