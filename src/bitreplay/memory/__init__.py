"""The generative binary memory: quantised prototypes per class; add, remove, merge, sample, save, load.

In the flow images → features → bits → **memory**/head → class it is all that is stored about the classes seen.
"""

from bitreplay.memory._memory import BinaryMemory
from bitreplay.memory._motion import Motion as Motion
from bitreplay.memory._motion import Past as Past
from bitreplay.memory._quantisation import check_bits as check_bits
from bitreplay.memory._sampler import Prior as Prior
from bitreplay.memory._table import Label
from bitreplay.memory._table import as_label as as_label
from bitreplay.memory._table import label_array as label_array

__all__ = [
    "BinaryMemory",
    "Label",
]
