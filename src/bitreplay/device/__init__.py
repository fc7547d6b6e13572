"""Integers only: the heads, EM and the memory as on a microcontroller, and the equivalent C library.

This is the step from bits to a class once more, without a float: the exact
specification of the C sources in the folder `c`, which :func:`export_c` writes together with a model's tables.
"""

from bitreplay.device._blocks import newest as newest
from bitreplay.device._blocks import read_block as read_block
from bitreplay.device._export import export_c
from bitreplay.device._export import library_folder as library_folder
from bitreplay.device._head import IntegerHead as IntegerHead
from bitreplay.device._head import mean_bits as mean_bits
from bitreplay.device._layout import Layout as Layout
from bitreplay.device._memory import DeviceMemory
from bitreplay.device._model import DeviceModel
from bitreplay.device._network import DeviceNetwork
from bitreplay.device._records import Record as Record
from bitreplay.device._records import words_of as words_of
from bitreplay.device._render import array as c_array
from bitreplay.device._status import BlockError, DeviceError
from bitreplay.device._status import Status as Status
from bitreplay.device._thresholds import IntegerThresholds as IntegerThresholds

__all__ = ["BlockError", "DeviceError", "DeviceMemory", "DeviceModel", "DeviceNetwork", "c_array", "export_c"]
