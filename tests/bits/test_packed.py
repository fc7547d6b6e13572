"""Packed bits: what goes in comes out, padding stays zero, and anything that is not a bit is refused by position."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitreplay import GBMClassifier
from bitreplay.bits import BYTE_TO_FLOATS, PackedBits, as_bit_array, concatenate, pack, pack_above, row_bytes
from bitreplay.errors import InputError

WIDTHS = [1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 500]

# Fixed examples, and no deadline: a busy machine must not fail a test.
steady = settings(derandomize=True, deadline=None, max_examples=50)
matrices = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=200))


def random_bits(rows: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((rows, width)) < 0.5


@steady
@given(matrices)
def test_round_trip_of_any_shape(bits: np.ndarray) -> None:
    packed = pack(bits)
    assert packed.shape == bits.shape
    assert len(packed) == len(bits)
    np.testing.assert_array_equal(packed.unpack(), bits)


@steady
@given(matrices)
def test_every_bit_stands_where_the_format_says(bits: np.ndarray) -> None:
    """Bit j of a row is bit j % 8 of byte j // 8; with the padding zero, a row is one little-endian integer."""
    for row, values in zip(pack(bits).data, bits, strict=True):
        expected = sum(1 << j for j, bit in enumerate(values.tolist()) if bit)
        assert int.from_bytes(row.tobytes(), "little") == expected


def test_words_are_the_bytes_themselves_unless_kernels_cannot_use_them() -> None:
    data = np.random.default_rng(0).integers(0, 256, (5, 16), dtype=np.uint8)
    fixed, shifted = data.copy(), np.empty(81, dtype=np.uint8)[1:].reshape(5, 16)  # not where a word begins
    fixed.flags.writeable = False
    shifted[:] = data
    for array, own in ((data, True), (fixed, False), (shifted, False)):
        words = PackedBits(array, 128).words
        assert np.shares_memory(words, array) is own
        assert words.flags.writeable
        assert words.ctypes.data % 8 == 0
        np.testing.assert_array_equal(words.view(np.uint8), data)


@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_whole_words_and_padding_is_zero(width: int) -> None:
    packed = pack(np.ones((3, width), dtype=bool))
    assert packed.data.shape == (3, row_bytes(width))
    assert row_bytes(width) % 8 == 0
    assert 0 <= 8 * row_bytes(width) - width < 64
    assert packed.nbytes == 3 * row_bytes(width)
    assert np.bitwise_count(packed.data).sum() == 3 * width  # all ones, and nothing beyond them


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int64, np.float16, np.float32, np.float64])
def test_unpack_in_any_type(width: int, dtype: type) -> None:
    bits = random_bits(5, width)
    unpacked = pack(bits).unpack(dtype)
    assert unpacked.dtype == dtype
    assert unpacked.flags.c_contiguous
    np.testing.assert_array_equal(unpacked, bits)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.uint8, np.int8, np.uint16, np.int64, np.float16, np.float32, np.float64]
)
def test_every_number_type_packs_alike(dtype: type) -> None:
    bits = random_bits(6, 75)
    assert pack(bits.astype(dtype)) == pack(bits)
    assert pack(np.asfortranarray(bits.astype(dtype))) == pack(bits)
    assert pack(bits.astype(dtype)[::2, ::-1]) == pack(np.ascontiguousarray(bits[::2, ::-1]))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.float32])
def test_tensors_pack_like_arrays(dtype: torch.dtype) -> None:
    bits = random_bits(6, 75)
    assert pack(torch.from_numpy(bits).to(dtype)) == pack(bits)


def test_what_a_network_puts_out_under_autocast() -> None:
    bits = random_bits(6, 75)
    assert pack(torch.from_numpy(bits).to(torch.bfloat16)) == pack(bits)


def test_a_tensor_with_gradients_and_a_nested_list_pack_too() -> None:
    bits = random_bits(4, 9)
    assert pack(torch.from_numpy(bits).float().requires_grad_()) == pack(bits)
    assert pack(bits.tolist()) == pack(bits)
    assert pack(bits.astype(int).tolist()) == pack(bits)


def test_packed_bits_pass_through_unchanged() -> None:
    packed = pack(random_bits(4, 9))
    assert pack(packed) is packed
    np.testing.assert_array_equal(as_bit_array(packed), packed.unpack())


def test_negative_zero_is_zero() -> None:
    assert pack([[-0.0, 1.0]]) == pack([[0, 1]])


def test_packing_leaves_the_input_alone() -> None:
    bits = random_bits(4, 70).astype(np.uint8)
    before = bits.copy()
    packed = pack(bits)
    packed.data[:] = 0
    np.testing.assert_array_equal(bits, before)


@steady
@given(matrices, st.data())
def test_row_selection_is_that_of_the_matrix(bits: np.ndarray, data: st.DataObject) -> None:
    rows = data.draw(st.slices(len(bits)))
    np.testing.assert_array_equal(pack(bits)[rows].unpack(), bits[rows])
    index = data.draw(st.lists(st.integers(-len(bits), len(bits) - 1)))
    np.testing.assert_array_equal(pack(bits)[index].unpack(), bits[np.array(index, dtype=int)])
    np.testing.assert_array_equal(pack(bits)[np.array(index, dtype=int)].unpack(), bits[np.array(index, dtype=int)])
    mask = data.draw(hnp.arrays(np.bool_, len(bits)))
    np.testing.assert_array_equal(pack(bits)[mask].unpack(), bits[mask])


@pytest.mark.parametrize("row", [0, 3, -1, np.int64(2)])
def test_one_row_is_still_a_matrix(row: int) -> None:
    bits = random_bits(4, 70)
    assert pack(bits)[row].shape == (1, 70)
    np.testing.assert_array_equal(pack(bits)[row].unpack()[0], bits[row])


def test_a_row_that_is_not_there() -> None:
    with pytest.raises(IndexError):
        pack(random_bits(4, 70))[4]


def test_columns_cannot_be_selected() -> None:
    with pytest.raises(InputError, match="row"):
        pack(random_bits(4, 60))[:, :8]


@steady
@given(matrices, st.integers(0, 200))
def test_concatenation_undoes_a_split(bits: np.ndarray, where: int) -> None:
    packed = pack(bits)
    assert concatenate([packed[:where], packed[where:]]) == packed


def test_concatenation_keeps_the_order_of_the_parts() -> None:
    parts = [random_bits(rows, 70, seed) for seed, rows in enumerate((3, 1, 5))]
    np.testing.assert_array_equal(concatenate([pack(part) for part in parts]).unpack(), np.concatenate(parts))


def test_concatenation_refuses_nothing_and_different_widths() -> None:
    with pytest.raises(InputError, match="at least one"):
        concatenate([])
    with pytest.raises(InputError, match=r"\[3, 4\]"):  # the same number of bytes, so only the width can tell
        concatenate([pack(np.ones((1, 4), dtype=int)), pack(np.ones((1, 3), dtype=int))])


@steady
@given(matrices, st.data())
def test_equality_sees_every_single_bit(bits: np.ndarray, data: st.DataObject) -> None:
    other = bits.copy()
    assert pack(bits) == pack(other)
    row, column = (data.draw(st.integers(0, side - 1)) for side in bits.shape)
    other[row, column] ^= True
    assert pack(bits) != pack(other)


def test_equality_sees_width_rows_and_type() -> None:
    assert pack([[1, 0]]) != pack([[1, 0, 0]])  # the same bytes
    assert pack([[1, 0]]) != pack([[1, 0], [1, 0]])
    assert pack([[1, 0]]) != [[1, 0]]


def test_packed_bits_are_mutable_and_therefore_not_hashable() -> None:
    with pytest.raises(TypeError):
        hash(pack([[1]]))


@pytest.mark.parametrize("shape", [(0, 5), (0, 64), (3, 0)])
def test_nothing_packs_to_nothing(shape: tuple[int, int]) -> None:
    packed = pack(np.zeros(shape))
    assert packed.shape == shape
    assert packed.nbytes == shape[0] * row_bytes(shape[1])
    assert packed.unpack().shape == shape
    assert packed.unpack(np.float64).shape == shape


def test_no_rows_unpack_to_float32() -> None:
    assert pack(np.zeros((0, 5))).unpack(np.float32).shape == (0, 5)


@pytest.mark.parametrize("value", [2, -1, 255, 0.5, 1 + 1e-7, -1e-30, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_refusal_names_the_first_wrong_position(value: float, as_tensor: bool) -> None:
    bits = random_bits(40, 100).astype(np.float64 if isinstance(value, float) else np.int64)
    bits[[17, 17, 18, 39], [70, 71, 3, 99]] = value
    with pytest.raises(InputError) as caught:
        pack(torch.from_numpy(bits) if as_tensor else bits)
    assert str(caught.value) == f"bits must be 0 or 1; found {value} at row 17, column 70"
    with pytest.raises(InputError, match="row 17, column 70"):
        pack(np.asfortranarray(bits))  # first in reading order, whatever the order in memory


@pytest.mark.parametrize("value", [2, 255])
def test_refusal_in_bytes(value: int) -> None:
    bits = random_bits(4, 9).astype(np.uint8)
    bits[2, 8] = value
    with pytest.raises(InputError, match=f"found {value} at row 2, column 8"):
        pack(bits)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_refusal_of_what_is_no_matrix(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="matrix"):
        pack(np.zeros(shape))
    with pytest.raises(InputError, match="matrix"):
        pack(torch.zeros(shape))


def test_refusal_of_rows_of_different_lengths() -> None:
    with pytest.raises(InputError, match="different lengths"):
        pack([[1, 0], [1]])


@pytest.mark.parametrize("values", [[["0", "1"]], [[0j, 1]], [[None, 1]]])
def test_refusal_of_what_is_no_number(values: list[list[object]]) -> None:
    with pytest.raises(InputError, match="numbers"):
        pack(values)


@pytest.mark.parametrize(
    "data",
    [np.zeros((2, 7), np.uint8), np.zeros((2, 16), np.uint8), np.zeros((2, 8), np.int8), np.zeros(8, np.uint8)],
    ids=["short", "long", "type", "vector"],
)
def test_constructor_refuses_other_bytes_than_it_documents(data: np.ndarray) -> None:
    with pytest.raises(InputError, match="8 columns"):
        PackedBits(data, 60)


def test_refusal_of_tensors_that_are_not_dense() -> None:
    with pytest.raises(InputError, match="got a tensor of kind sparse_coo"):
        pack(torch.eye(2).to_sparse())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch is about to give them up
        quantised = torch.quantize_per_tensor(torch.eye(2), 1.0, 0, torch.quint8)
    with pytest.raises(InputError, match="got a tensor of kind quantised"):
        pack(quantised)


def test_errors_are_value_errors() -> None:
    assert issubclass(InputError, ValueError)


def test_byte_table() -> None:
    assert BYTE_TO_FLOATS.shape == (256, 8)
    np.testing.assert_array_equal(BYTE_TO_FLOATS @ 2.0 ** np.arange(8), np.arange(256))
    assert set(np.unique(BYTE_TO_FLOATS)) == {0.0, 1.0}


def test_repr_tells_shape_and_bytes() -> None:
    assert repr(pack(random_bits(3, 65))) == "PackedBits(3 x 65, 48 bytes)"


def test_packing_above_a_threshold_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(50, 75))
    monkeypatch.setattr("bitreplay.bits._packed.BLOCK", 300)
    assert pack_above(values, 0.3) == pack(values > 0.3)
    counts = np.random.default_rng(1).poisson(0.7, size=(50, 75))
    for dtype in (bool, np.uint8, np.uint32, np.int8, np.float32):
        assert pack_above(counts.astype(dtype), 0.0) == pack(counts > 0)
        assert pack_above(counts.astype(dtype), 1.0) == pack(counts.astype(dtype) > 1)


def test_rows_that_cannot_be_written_to_are_used_like_others(tmp_path):
    """As those of a memory-mapped file: kernels are compiled for arrays that can be written to."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    X = pack(rng.random((120, 70)) < np.where(y[:, None], 0.3, 0.7))
    np.save(tmp_path / "rows.npy", X.data)
    mapped = PackedBits(np.load(tmp_path / "rows.npy", mmap_mode="r"), 70)
    for head in ("closed_form", "replay", "bayes"):
        options = {"head": head, "binarizer": "identity", "prototypes": 2, "random_state": 0}
        expected = GBMClassifier(**options).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(GBMClassifier(**options).fit(mapped, y).predict_proba(mapped), expected)
