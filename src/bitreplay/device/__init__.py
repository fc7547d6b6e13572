"""Integers only: the heads, EM and the memory as a microcontroller has them, and the C library that equals them.

In the flow images → features → **bits → memory/head → class** this is the same once more, without a float: the exact
specification of the C sources in the folder `c`, which :func:`export_c` writes out with a model's tables beside them.
"""

from bitreplay.device._blocks import newest, read_block
from bitreplay.device._export import export_c
from bitreplay.device._head import IntegerHead, mean_bits
from bitreplay.device._layout import Layout, short_fingerprint
from bitreplay.device._memory import DeviceMemory
from bitreplay.device._model import DeviceModel
from bitreplay.device._network import DeviceLayer, DeviceNetwork
from bitreplay.device._records import Record, words_of
from bitreplay.device._render import array as c_array
from bitreplay.device._sources import library_folder
from bitreplay.device._status import BlockError, DeviceError, Status
from bitreplay.device._thresholds import IntegerThresholds

__all__ = [
    "BlockError",
    "DeviceError",
    "DeviceLayer",
    "DeviceMemory",
    "DeviceModel",
    "DeviceNetwork",
    "IntegerHead",
    "IntegerThresholds",
    "Layout",
    "Record",
    "Status",
    "c_array",
    "export_c",
    "library_folder",
    "mean_bits",
    "newest",
    "read_block",
    "short_fingerprint",
    "words_of",
]
