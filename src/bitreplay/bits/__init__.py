"""Packed binary matrices, what their bits mean, and their products with dense matrices.

In the flow images → features → **bits** → memory/head → class this is the form in which embeddings are stored
and counted.
"""

from bitreplay.bits._fingerprint import Fingerprint
from bitreplay.bits._fingerprint import check_fingerprint as check_fingerprint
from bitreplay.bits._packed import BYTE_TO_FLOATS as BYTE_TO_FLOATS
from bitreplay.bits._packed import BitsLike as BitsLike
from bitreplay.bits._packed import PackedBits, concatenate, pack
from bitreplay.bits._packed import as_bit_array as as_bit_array
from bitreplay.bits._packed import pack_above as pack_above
from bitreplay.bits._packed import row_bytes as row_bytes
from bitreplay.bits._packed import to_numpy as to_numpy
from bitreplay.bits._products import FLOAT32_FEATURES as FLOAT32_FEATURES
from bitreplay.bits._products import product
from bitreplay.bits._products import row_blocks as row_blocks

__all__ = [
    "Fingerprint",
    "PackedBits",
    "concatenate",
    "pack",
    "product",
]
