"""Packed binary matrices: one bit per value instead of one byte or four.

This is the form in which embeddings are stored and counted. Bit ``j`` of a row is bit ``j % 8`` of byte ``j // 8``
(little bit order). Rows are padded with zero bits to whole 64-bit words, so that every row can also be read as
`uint64`; the padding is never visible outside. Names outside `__all__` are for the package itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import issparse

from bitreplay.errors import InputError

BLOCK = 2**20  # values compared with a threshold at once
WORD_BITS = 64  # ours: one machine word, so that popcount kernels need no remainder loop

# The eight bits of every byte value as floats: one look-up turns a byte into eight features.
BYTE_TO_FLOATS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float32)

Array = npt.NDArray[Any]


class PackedBits:
    """A binary matrix of shape (rows, features), eight values in a byte.

    Build one with :func:`pack`; the constructor takes bytes that are already packed.

    Parameters
    ----------
    data : ndarray of uint8, shape (rows, 8 * ceil(features / 64))
        Packed rows; bits beyond `n_features` must be zero.
    n_features : int
        Number of bits in a row.

    Examples
    --------
    >>> bits = pack([[1, 0, 1], [0, 0, 1]])
    >>> bits.shape
    (2, 3)
    >>> bits[1].unpack()
    array([[0, 0, 1]], dtype=uint8)
    """

    __slots__ = ("data", "n_features")

    def __init__(self, data: npt.NDArray[np.uint8], n_features: int) -> None:
        expected = row_bytes(n_features)
        if data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != expected:
            raise InputError(
                f"packed rows of {n_features} bits must be a uint8 matrix with {expected} columns; "
                f"got {data.dtype} of shape {data.shape}"
            )
        self.data = data
        self.n_features = n_features

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self.data), self.n_features

    @property
    def nbytes(self) -> int:
        """Bytes that the packed rows take."""
        return self.data.nbytes

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The packed rows as 64-bit words, without a copy if their bytes are contiguous and writable.

        The kernels that read them are compiled for writable arrays.
        """
        data = np.ascontiguousarray(self.data)
        usable = data.ctypes.data % 8 == 0 and data.flags.writeable
        return (data if usable else np.array(data)).view(np.uint64)

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, rows: int | slice | Sequence[int] | Array) -> PackedBits:
        """Select rows by position, slice, index array or boolean mask; always a matrix."""
        if isinstance(rows, tuple):
            raise InputError("packed bits can be selected by row only; unpack them to select columns")
        if isinstance(rows, int | np.integer):
            rows = [int(rows)]
        return PackedBits(self.data[rows], self.n_features)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedBits):
            return NotImplemented
        return self.n_features == other.n_features and np.array_equal(self.data, other.data)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PackedBits({self.shape[0]} x {self.n_features}, {self.nbytes} bytes)"

    def unpack(self, dtype: npt.DTypeLike = np.uint8) -> Array:
        """The matrix with one value per element, 0 and 1 in `dtype`."""
        if np.dtype(dtype) == np.float32:
            floats = np.take(BYTE_TO_FLOATS, self.data, axis=0).reshape(len(self), 8 * self.data.shape[1])
            return floats if floats.shape[1] == self.n_features else np.ascontiguousarray(floats[:, : self.n_features])
        bits = np.unpackbits(self.data, axis=1, count=self.n_features, bitorder="little")
        return bits.astype(dtype, copy=False)


BitsLike = PackedBits | torch.Tensor | npt.ArrayLike


def row_bytes(n_features: int) -> int:
    """Bytes in a packed row of `n_features` bits: whole 64-bit words.

    Examples
    --------
    >>> row_bytes(64), row_bytes(65), pack([[1] * 65]).nbytes
    (8, 16, 16)
    """
    return -(-n_features // WORD_BITS) * (WORD_BITS // 8)


def pack(values: BitsLike) -> PackedBits:
    """Pack a matrix of zeros and ones.

    Parameters
    ----------
    values : array-like or torch.Tensor of shape (rows, features), or PackedBits
        Booleans, integers or floats that are all exactly 0 or 1. Packed bits are returned unchanged.

    Raises
    ------
    InputError
        If there is a value other than 0 and 1; the message names the first position.

    Examples
    --------
    >>> pack([[0.0, 1.0, 1.0]])
    PackedBits(1 x 3, 8 bytes)
    >>> pack([[0, 1], [1, 2]])
    Traceback (most recent call last):
    ...
    bitreplay.errors.InputError: bits must be 0 or 1; found 2 at row 1, column 1
    """
    if isinstance(values, PackedBits):
        return values
    array = as_bit_array(values)
    rows, n_features = array.shape
    data = np.zeros((rows, row_bytes(n_features)), dtype=np.uint8)
    packed = np.packbits(array, axis=1, bitorder="little")
    data[:, : packed.shape[1]] = packed
    return PackedBits(data, n_features)


def pack_above(values: Array, threshold: float) -> PackedBits:
    """Pack a matrix of numbers; a bit is set where the number is greater than `threshold`.

    Examples
    --------
    >>> pack_above(np.array([[0.2, 0.7, 0.5]]), 0.5).unpack()
    array([[0, 1, 0]], dtype=uint8)
    """
    rows, n_features = values.shape
    data = np.zeros((rows, row_bytes(n_features)), dtype=np.uint8)
    width = -(-n_features // 8)
    as_is = threshold == 0 and values.dtype.kind in "bu"  # what is not 0 is packed as 1
    step = max(1, BLOCK // max(1, n_features))
    for begin in range(0, rows, step):  # block by block: a comparison takes a byte per value
        part = slice(begin, begin + step)
        above = values[part] if as_is else values[part] > threshold
        data[part, :width] = np.packbits(above, axis=1, bitorder="little")
    return PackedBits(data, n_features)


def as_bit_array(values: BitsLike) -> npt.NDArray[np.uint8 | np.bool_]:
    """Check that `values` is a matrix of zeros and ones and return it with one byte per value."""
    if isinstance(values, PackedBits):
        return values.unpack()
    if issparse(values):
        raise InputError("bits must be a dense matrix, as .toarray() makes one; got a sparse matrix of SciPy")
    try:
        array = to_numpy(values) if isinstance(values, torch.Tensor) else np.asarray(values)
    except InputError:
        raise
    except ValueError:
        raise InputError("bits must be a matrix (rows x features); got rows of different lengths") from None
    if array.ndim != 2:
        raise InputError(f"bits must be a matrix (rows x features); got shape {array.shape}")
    if array.dtype == np.bool_:
        return array
    if array.dtype.kind not in "iuf":
        raise InputError(f"bits must be booleans or numbers; got {array.dtype}")
    if array.dtype == np.uint8:
        if array.size and array.max() > 1:
            _refuse(array, array > 1)
        return array
    wrong = (array != 0) & (array != 1)  # NaN is neither
    if wrong.any():
        _refuse(array, wrong)
    return array.astype(np.uint8)


def to_numpy(tensor: torch.Tensor) -> Array:
    """A tensor's values as an array; bfloat16, which NumPy lacks, becomes float32."""
    if tensor.layout != torch.strided or tensor.is_quantized:
        kind = "quantised" if tensor.is_quantized else str(tensor.layout).removeprefix("torch.")
        raise InputError(f"a dense tensor is expected, as tensor.to_dense() makes one; got a tensor of kind {kind}")
    if tensor.device.type == "meta":
        raise InputError("a tensor with values is expected; got one on torch's meta device, which has none")
    if tensor.is_complex():
        raise InputError(f"a tensor of real numbers is expected; got {str(tensor.dtype).removeprefix('torch.')}")
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).resolve_conj().resolve_neg().numpy()


def _refuse(array: Array, wrong: npt.NDArray[np.bool_]) -> None:
    row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    raise InputError(f"bits must be 0 or 1; found {array[row, column].item()} at row {row}, column {column}")


def concatenate(parts: Sequence[PackedBits]) -> PackedBits:
    """Stack the rows of several packed matrices of equal width.

    Examples
    --------
    >>> concatenate([pack([[1, 0]]), pack([[0, 1], [1, 1]])]).unpack().tolist()
    [[1, 0], [0, 1], [1, 1]]
    """
    if not parts:
        raise InputError("nothing to concatenate: expected at least one packed matrix")
    widths = sorted({part.n_features for part in parts})
    if len(widths) > 1:
        raise InputError(f"packed matrices of different widths cannot be stacked: {widths}")
    return PackedBits(np.concatenate([part.data for part in parts]), widths[0])
