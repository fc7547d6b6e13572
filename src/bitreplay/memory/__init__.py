"""The generative binary memory: quantised prototypes per class; add, remove, merge, sample, save, load.

In the flow images → features → bits → **memory**/head → class it is all that is kept of the classes seen.
"""

from bitreplay.memory._drawer import Prior
from bitreplay.memory._labels import Label, as_label, label_array
from bitreplay.memory._memory import BinaryMemory

__all__ = ["BinaryMemory", "Label", "Prior", "as_label", "label_array"]
