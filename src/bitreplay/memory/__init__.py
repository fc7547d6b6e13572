"""The generative binary memory: quantised prototypes per class; add, remove, merge, sample, save, load.

In the flow images → features → bits → **memory**/head → class it is all that is kept of the classes seen.
"""

from bitreplay._floor.container import read as read_file
from bitreplay._floor.container import write as write_file
from bitreplay.bits import Fingerprint
from bitreplay.memory._drawer import Prior
from bitreplay.memory._labels import Label, as_label
from bitreplay.memory._memory import BinaryMemory

__all__ = ["BinaryMemory", "Fingerprint", "Label", "Prior", "as_label", "read_file", "write_file"]
