"""Prototypes in q bits per value, kept as bit planes.

``code = floor(mu * (2^q - 1) + 1/2)`` and ``mu_hat = code / (2^q - 1)``: 0 and 1 are exact at every q. A prototype is
stored as q packed rows of D bits, the most significant bit of all codes first. That is exactly ``q * D`` bits, and it
is what the sampler reads: the binary expansion of ``code / (2^q - 1)`` is the code repeated forever. With q = 32 the
values are plain float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from bitreplay.bits import row_bytes
from bitreplay.errors import InputError

Codes = npt.NDArray[Any]  # uint8 (K, q, row bytes), or float32 (K, D) with q = 32

FLOAT = 32
UNPACKED = 2**23  # bits of a file that are unpacked at once: a byte each
WEIGHT_LEVELS = 65535  # mixing weights in 16 bits: finer than any sample could show, and integers for embedded readers


def check_bits(bits: Any) -> int:
    """Check q: 1 to 16, or 32 for float32."""
    if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or not (1 <= bits <= 16 or bits == FLOAT):
        raise InputError(f"bits (q) must be 1 to 16, or 32 for float32; got {bits!r}")
    return int(bits)


def empty_codes(bits: int, n_features: int) -> Codes:
    """Codes of no prototypes."""
    if bits == FLOAT:
        return np.empty((0, n_features), dtype=np.float32)
    return np.empty((0, bits, row_bytes(n_features)), dtype=np.uint8)


def encode(prototypes: npt.ArrayLike, bits: int) -> Codes:
    """Quantise prototypes (K, D) to `bits` bits per value.

    Examples
    --------
    >>> decode(encode([[0.0, 0.2, 0.5, 1.0]], 2), 2, 4)
    array([[0.        , 0.33333334, 0.6666667 , 1.        ]], dtype=float32)
    """
    mu = np.asarray(prototypes)
    if bits == FLOAT:
        return mu.astype(np.float32)
    codes = np.floor(mu.astype(np.float64) * (2**bits - 1) + 0.5).astype(np.uint16)
    planes = np.zeros((len(mu), bits, row_bytes(mu.shape[1])), dtype=np.uint8)
    for plane in range(bits):
        packed = np.packbits(codes >> (bits - 1 - plane) & 1, axis=1, bitorder="little")
        planes[:, plane, : packed.shape[1]] = packed
    return planes


def decode(codes: Codes, bits: int, n_features: int) -> npt.NDArray[np.float32]:
    """The values mu_hat (K, D) that codes represent."""
    if bits == FLOAT:
        return codes.astype(np.float32)
    kind = np.uint8 if bits <= 8 else np.uint16
    values = np.zeros((len(codes), n_features), dtype=kind)
    for plane in range(bits):
        set_bits = np.unpackbits(codes[:, plane], axis=1, count=n_features, bitorder="little")
        values <<= kind(1)
        values |= set_bits
    # Codes and their number are exact in float32, so that its quotient is the nearest float32 to the true one.
    return np.divide(values, np.float32(2**bits - 1), dtype=np.float32)


def encode_weights(weights: npt.ArrayLike) -> npt.NDArray[np.uint16]:
    """Mixing weights as 16-bit integers; each is at least 1, and its weight is its share of the sum."""
    w = np.asarray(weights, dtype=np.float64)
    return np.asarray(np.maximum(np.rint(w / w.max() * WEIGHT_LEVELS), 1), dtype=np.uint16)


def decode_weights(codes: npt.NDArray[np.uint16]) -> npt.NDArray[np.float64]:
    """Mixing weights that sum to 1."""
    return np.asarray(codes / codes.sum(dtype=np.float64))


def shares(codes: npt.NDArray[np.uint16], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """As :func:`decode_weights`, for classes of so many prototypes one after the other."""
    begins = np.cumsum(sizes) - sizes
    return np.asarray(codes / np.repeat(np.add.reduceat(codes, begins, dtype=np.float64), sizes))


def to_stream(codes: Codes, bits: int, n_features: int) -> npt.NDArray[Any]:
    """Codes as one bit string without padding, for a file: by prototype, then plane, then feature."""
    if bits == FLOAT:
        return codes
    values = np.unpackbits(codes, axis=2, count=n_features, bitorder="little")
    return np.packbits(values.reshape(-1), bitorder="little")


def from_stream(stream: npt.NDArray[Any], bits: int, n_prototypes: int, n_features: int) -> Codes:
    """The inverse of :func:`to_stream`; raises ValueError if sizes do not match."""
    if bits == FLOAT:
        if stream.dtype != np.float32 or stream.shape != (n_prototypes, n_features):
            raise ValueError(f"float prototypes of shape {stream.shape}, expected {(n_prototypes, n_features)}")
        if not ((stream >= 0) & (stream <= 1)).all():
            raise ValueError("prototypes that do not lie in [0, 1]")
        return stream
    n_bits = n_prototypes * bits * n_features
    if stream.dtype != np.uint8 or stream.shape != (-(-n_bits // 8),):
        raise ValueError(f"{stream.size} bytes of codes, expected {-(-n_bits // 8)}")
    codes = np.zeros((n_prototypes, bits, row_bytes(n_features)), dtype=np.uint8)
    step = 8 * max(1, UNPACKED // (8 * bits * n_features))  # eight prototypes end with a whole byte
    for begin in range(0, n_prototypes, step):
        n = min(step, n_prototypes - begin)
        part = stream[begin * bits * n_features // 8 :]
        values = np.unpackbits(part[: -(-n * bits * n_features // 8)], count=n * bits * n_features, bitorder="little")
        packed = np.packbits(values.reshape(n, bits, n_features), axis=2, bitorder="little")
        codes[begin : begin + n, :, : packed.shape[2]] = packed
    return codes
