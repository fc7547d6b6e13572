"""Packed binary matrices, what their bits mean, and their products with dense matrices.

In the flow images → features → **bits** → memory/head → class this is the form in which embeddings are kept and
counted.
"""

from bitreplay.bits._fingerprint import Fingerprint, check_fingerprint
from bitreplay.bits._packed import (
    BYTE_TO_FLOATS,
    BitsLike,
    PackedBits,
    as_bit_array,
    concatenate,
    pack,
    pack_above,
    row_bytes,
    to_numpy,
)
from bitreplay.bits._products import product, row_blocks

__all__ = [
    "BYTE_TO_FLOATS",
    "BitsLike",
    "Fingerprint",
    "PackedBits",
    "as_bit_array",
    "check_fingerprint",
    "concatenate",
    "pack",
    "pack_above",
    "product",
    "row_blocks",
    "row_bytes",
    "to_numpy",
]
